"""tacho query beside a slow plain reader: run.json of every shape, by a seed; on a cold cache, on a warm one after changes, and without one."""
import json
import math
import os
import random
import re
import unittest
from datetime import datetime, timezone

from support import BUILD, Case

QUERY = os.path.join(BUILD, "bin", "tacho-query")
METADATA = "job_name project_name stage_name task_name team env language orchestrator executor external_run_id container_image".split()
WORDS = ["", "a", "align", "it's", 'q"u', "line\nend", "tab\t", "é", "日本", "\u2028", "a" * 300, "back\\slash", "\x7f", "null", "1e3", "-", "😀"]
NUMBERS = [0, 1, -1, 2, 7, 1.5, 0.1, 1e-9, 123456789.125, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, -1e300, 1e300, 4294967296]
ODD = [None, True, False, [], {}, [1], {"a": 1}, "5", "", "x"]
TIMES = ["2026-11-15T10:00:00.000Z", "2026-11-15T10:01:12.345Z", "1970-01-01T00:00:00.000Z", "2026-11-15 10:00:00", "2026-13-15T10:00:00.000Z", "nonsense"]


class Maker:
    """Values that are mostly right, sometimes odd, sometimes missing."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def some(self, usual):
        """Left out (Ellipsis), of a wrong type, or as usual."""
        at = self.chance.random()
        return ... if at < 0.15 else self.chance.choice(ODD) if at < 0.22 else usual()

    def number(self):
        return self.chance.choice(NUMBERS) if self.chance.random() < 0.3 else round(self.chance.uniform(0, 1000), self.chance.randint(0, 6))

    def whole(self):
        return self.chance.choice(NUMBERS) if self.chance.random() < 0.3 else self.chance.randint(0, 10**9)

    def word(self):
        return self.chance.choice(WORDS)

    def object(self, **members):
        made = {name: self.some(usual) for name, usual in members.items()}
        names = [name for name in made if made[name] is not ...]
        self.chance.shuffle(names)
        return {name: made[name] for name in names}

    def statistics(self):
        columns = ["timestamp"] + [f"{side}_{name}" for side in ("process", "system") for name in
                                   ("cpu_usage", "utime", "stime", "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram_mib")]
        columns += ["process_memory_mib", "system_memory_used_mib", "system_load1", "odd \u00e9"]
        one = lambda: self.object(mean=self.number, max=self.number, min=self.number, **{self.chance.choice(["sum", "duration", "other"]): self.number})
        return self.object(**{name: one for name in columns})

    def phase(self):
        return self.object(name=self.word, started=self.number, ended=self.number, cpu_s=self.number, disk_read_bytes=self.number, gpu_mean=self.number)

    def run(self, name):
        listed = lambda usual: lambda: [usual() if self.chance.random() < 0.9 else self.chance.choice(ODD) for _ in range(self.chance.randint(0, 4))]
        made = self.object(
            mode=lambda: self.chance.choice(["run", "attach", "watch"]), command=listed(self.word),
            metadata=lambda: self.object(**{field: self.word for field in METADATA}, tags=listed(lambda: self.chance.choice(["a=b", "k=", "=v", "no", "x=y=z", ""]))),
            job=lambda: self.object(scheduler=lambda: "slurm", id=self.word, restart=self.whole, node=self.word),
            requested=lambda: self.object(cpus=self.number, memory_bytes=self.whole, gpus=self.whole),
            host=lambda: self.object(host_hostname=self.word, host_vcpus=self.whole, host_gpu_count=lambda: self.chance.choice([0, 1, 8]), host_memory_mib=self.whole),
            outcome=lambda: self.object(state=lambda: self.chance.choice(["finished", "failed", "interrupted", "other"]), exit_code=self.whole, signal=self.whole,
                                        oom_killed=lambda: self.chance.choice([True, False]), started_at=lambda: self.chance.choice(TIMES),
                                        finished_at=lambda: self.chance.choice(TIMES), duration_s=self.number),
            totals=lambda: self.object(cpu_user_s=self.number, cpu_system_s=self.number, memory_peak_bytes=self.whole, io_read_bytes=self.whole, io_write_bytes=self.whole),
            samples=self.whole, phases=listed(self.phase), statistics=self.statistics, notes=listed(self.word), columns=listed(self.word))
        return {"id": name, **made}

    def text(self, run):
        style = self.chance.randint(0, 3)
        text = json.dumps(run, ensure_ascii=style == 1, indent=2 if style == 2 else None, allow_nan=False)
        if style == 3:  # a member that comes twice: the last one counts
            text = '{"id": "other", "mode": 5, "outcome": {"exit_code": 77}, ' + text[1:]
        return text + "\n"


def member(value, *names):
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(value):
    return value if isinstance(value, str) and value else None


def number_of(value):
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(float(value)) else None


def whole_of(value, bits=64):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) or not -2**63 <= value < 2**63:
        if not abs(value) <= 9e18:
            return None
    value = int(value)
    return value if -2**(bits - 1) <= value < 2**(bits - 1) else None


def half_away(value):
    return math.copysign(math.floor(abs(value) + 0.5), value)


def kept(value, digits):
    return None if value is None else half_away(value * digits) / digits if math.isfinite(value * digits) else None


def first(*values):
    return next((value for value in values if value is not None), None)


def time_of(value):
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value):
        return None
    try:
        then = datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
    return then if then > 0 else None


class Plain:
    """What the tables must have of one run.json."""

    def __init__(self, name, text):
        self.name, self.run = name, json.loads(text)
        self.columns = {}
        for column, values in (member(self.run, "statistics") or {}).items() if isinstance(member(self.run, "statistics"), dict) else ():
            of = {}
            for word, value in values.items() if isinstance(values, dict) else ():
                word = "sum" if word == "duration" else word
                if number_of(value) is not None:
                    of[word] = number_of(value)
            self.columns[column] = of

    def of(self, column, word):
        return self.columns.get(column, {}).get(word)

    def facts(self):
        run, totals = self.run, lambda name: member(self.run, "totals", name)
        mode = member(run, "mode")
        mode = mode if isinstance(mode, str) else ""
        machine = mode == "watch" or (not mode and self.of("process_cpu_usage", "mean") is None)
        side = "system_" if machine else "process_"
        seconds = number_of(member(run, "outcome", "duration_s"))
        seconds = kept(half_away(seconds * 1e9) / 1e9 if seconds is not None and 0 < seconds < 9e9 and half_away(seconds * 1e9) > 0 else self.of("timestamp", "sum"), 1e3)
        user = kept(first(number_of(totals("cpu_user_s")), self.of(side + "utime", "sum")), 1e4)
        system = kept(first(number_of(totals("cpu_system_s")), self.of(side + "stime", "sum")), 1e4)
        mean, most = kept(self.of(side + "cpu_usage", "mean"), 1e4), kept(self.of(side + "cpu_usage", "max"), 1e4)
        if not machine and None not in (number_of(totals("cpu_user_s")), number_of(totals("cpu_system_s")), seconds) and seconds > 0:
            mean = kept((user + system) / seconds, 1e4)
        if mean is not None and most is not None and mean > most:
            mean = most
        peak = self.of("system_memory_used_mib" if machine else "process_memory_mib", "max")
        peak = None if peak is None else peak * 2**20
        if not machine:
            peak = max((value for value in (peak, number_of(whole_of(totals("memory_peak_bytes")))) if value is not None), default=None)
        disk = {way: self.of(f"{side}disk_{way}_bytes", "sum") for way in ("read", "write")}
        if not machine:
            disk = {way: first(number_of(whole_of(totals(f"io_{way}_bytes"))), disk[way]) for way in disk}
        count = whole_of(member(run, "host", "host_gpu_count"))
        gpu = vram = None
        if count != 0 and not (machine and count is None and self.of(side + "gpu_usage", "max") == 0):
            gpu, vram = kept(self.of(side + "gpu_usage", "mean"), 1e4), self.of(side + "gpu_vram_mib", "max")
            vram = None if vram is None else vram * 2**20
        total = user + system if None not in (user, system) else None
        return {"seconds": seconds, "cpu_s": total, "cpu_mean": mean, "memory_peak_bytes": self.bytes(peak), "io_read_bytes": self.bytes(disk["read"]),
                "io_write_bytes": self.bytes(disk["write"]), "gpu_mean": gpu, "gpu_memory_peak_bytes": self.bytes(vram)}

    @staticmethod
    def bytes(value):
        return int(half_away(value)) if value is not None and abs(value) < 9e18 else None

    def row(self):
        run, outcome, job = self.run, lambda name: member(self.run, "outcome", name), lambda name: member(self.run, "job", name)
        words = member(run, "command")
        words = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
        command = ""
        for word in words:
            command += (" " if command else "") + word
        state = outcome("state") if outcome("state") in ("finished", "failed", "interrupted") else "interrupted"
        restart = whole_of(job("restart")) or 0
        group = f"{job('scheduler')}:{job('id')}" + (f".r{restart}" if restart > 0 else "") if text_of(job("scheduler")) and text_of(job("id")) else None
        row = {"run": self.name, **{field: text_of(member(run, "metadata", field)) for field in METADATA}, "command": text_of(command), "mode": text_of(member(run, "mode")),
               "state": state, "exit_code": whole_of(outcome("exit_code"), 32), "signal": whole_of(outcome("signal"), 32),
               "oom_killed": int(outcome("oom_killed")) if isinstance(outcome("oom_killed"), bool) else None, "started": time_of(outcome("started_at")),
               "finished": time_of(outcome("finished_at")), "host": text_of(member(run, "host", "host_hostname")), "vcpus": whole_of(member(run, "host", "host_vcpus")),
               "requested_cpus": number_of(member(run, "requested", "cpus")), "requested_memory_bytes": whole_of(member(run, "requested", "memory_bytes")),
               "requested_gpus": whole_of(member(run, "requested", "gpus")), "samples": whole_of(member(run, "samples")) or 0, "group": group}
        return {**row, **self.facts()}

    def tags(self):
        tags = member(self.run, "metadata", "tags")
        for tag in tags if isinstance(tags, list) else ():
            if isinstance(tag, str):
                key, equals, value = tag.partition("=")
                yield self.name, key, value if equals else None

    def column_rows(self):
        for column, of in self.columns.items():
            yield self.name, column, of.get("mean"), of.get("max"), of.get("min"), of.get("sum")

    def phases(self):
        phases = member(self.run, "phases")
        for phase in phases if isinstance(phases, list) else ():
            if None not in (number_of(member(phase, "started")), number_of(member(phase, "ended"))) and isinstance(member(phase, "name"), str):
                yield self.name, text_of(phase["name"]), float(phase["started"]), float(phase["ended"]), number_of(member(phase, "cpu_s"))


def like(value):
    """Comparable, with numbers to 12 digits."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float("%.12g" % value)
    return value


@unittest.skipUnless(os.path.exists(QUERY), "tacho-query is not built")
class SqlOracle(Case):
    def rows(self, sql, *words):
        done = self.tacho("query", "--store", self.path("store"), "--jsonl", *words, sql, env={"XDG_CACHE_HOME": self.path("cache")})
        self.assertEqual(done.rc, 0, done)
        return [json.loads(line) for line in done.out.split("\n") if line]

    def compare(self, texts, *words):
        plain = [Plain(name, text) for name, text in sorted(texts.items())]
        names = ", ".join('"' + name + '"' for name in plain[0].row())
        found = {row["run"]: row for row in self.rows(f"SELECT {names} FROM runs", *words)}
        self.assertEqual(sorted(found), sorted(texts))
        for one in plain:
            for name, value in one.row().items():
                self.assertEqual(like(found[one.name][name]), like(value), (name, texts[one.name]))
        order = lambda rows: sorted(([like(value) for value in row] for row in rows), key=repr)
        for sql, expected in (("SELECT run, key, value FROM tags", Plain.tags), ("SELECT run, name, mean, max, min, sum FROM columns", Plain.column_rows),
                              ("SELECT run, name, started, ended, cpu_s FROM phases", Plain.phases)):
            self.assertEqual(order(list(row.values()) for row in self.rows(sql, *words)), order(row for one in plain for row in expected(one)), sql)

    def put(self, name, text, ago):
        folder = self.path("store", name)
        os.makedirs(folder, exist_ok=True)
        self.write(os.path.join("store", name, "run.json"), text)
        then = os.stat(os.path.join(folder, "run.json")).st_mtime - ago
        os.utime(os.path.join(folder, "run.json"), (then, then))

    def test_as_a_plain_reader_has_them(self):
        seed = int(os.environ.get("TACHO_SEED", random.randrange(10 ** 6)))
        with self.subTest(seed=seed):
            make = Maker(seed)
            texts = {f"20261115-{i:012x}": "" for i in range(250)}
            for name in texts:
                texts[name] = make.text(make.run(name))
                self.put(name, texts[name], 100)
            self.put("torn", '{"id": "torn"', 100)
            os.makedirs(self.path("store", "empty"))
            self.compare(texts)
            for name in make.chance.sample(sorted(texts), 40):  # as other runs end, and some go
                if make.chance.random() < 0.3:
                    os.remove(self.path("store", name, "run.json"))
                    del texts[name]
                else:
                    texts[name] = make.text(make.run(name))
                    self.put(name, texts[name], 50)
            for i in range(20):
                name = f"20261116-{i:012x}"
                texts[name] = make.text(make.run(name))
                self.put(name, texts[name], 50)
            self.compare(texts)
            self.compare(texts, "--no-cache")
