"""`tacho-katib collect` and `tacho-katib db` beside Katib's own collector and DB manager: what both stored for the same logs, row by
row, in MySQL (MariaDB), PostgreSQL and tacho's own store; a collector and managers that are killed; a foreign client."""
import datetime
import json
import os
import random
import subprocess
import time

import katib_logs
from common import BIN, ROOT, WORK, case, check, finish, fresh, run, say, until, venv
from katib_parts import MariaDb, Pod, Postgres, install, real_manager, tacho_on_postgres, tacho_on_sqlite

ZERO = "0001-01-01 00:00:00.000000"
TACHO = BIN / "tacho-katib"


def us(text):
    """'2026-11-15 09:30:00.250000' in µs since the year 1."""
    moment = datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f")
    return (moment - datetime.datetime(1, 1, 1)) // datetime.timedelta(microseconds=1)


def same(ours, theirs):
    """Equal but for 1 µs: MySQL cuts, PostgreSQL rounds. Returns '' or the first difference."""
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a[1:] != b[1:] or abs(us(a[0]) - us(b[0])) > 1:
            return f"row {number}: {a} is not {b}"
    return "" if len(ours) == len(theirs) else f"{len(ours)} rows, not {len(theirs)}"


def finite(rows):
    """Without the rows that tacho leaves out in either profile: an empty value, and the sign before an infinity."""
    return [row for row in rows if row[2] not in ("", "+", "-")]


class Client:
    """The foreign client, kept open."""

    def __init__(self, address):
        generated = WORK / "katib-proto"
        python = venv("katib", "grpcio", "grpcio-tools", "grpcio-reflection")
        if not (generated / "health_pb2_grpc.py").exists():
            fresh("katib-proto")
            run(python, "-m", "grpc_tools.protoc", f"-I{ROOT}/proto", f"--python_out={generated}", f"--grpc_python_out={generated}", "katib.proto",
                "health.proto")
        self.process = subprocess.Popen([python, ROOT / "tests/interop/katib_client.py", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "PYTHONPATH": str(generated)})

    def __call__(self, *command):
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- the store and its service ---

def foreign_client(manager):
    """`tacho-katib db` through grpcio and reflection."""
    call = Client(manager.address)
    rows = [["2026-11-15T10:30:00.1234567+01:00", "loss", "0.5"], ["2026-11-15T09:30:00Z", "loss", "O'Neill; -- €"], ["0001-01-01T00:00:00Z", "acc", ""]]
    stored = [["0001-01-01T00:00:00Z", "acc", ""], ["2026-11-15T09:30:00Z", "loss", "O'Neill; -- €"], ["2026-11-15T09:30:00.123456Z", "loss", "0.5"]]
    name = manager.name
    check(f"{name}: report and get", call("report", "f1", rows) == {"ok": None} and call("get", "f1") == {"ok": stored}, call("get", "f1"))
    check(f"{name}: filters include both ends", call("get", "f1", "loss", "2026-11-15T09:30:00Z", "2026-11-15T09:30:00.123456Z")["ok"] == stored[1:])
    check(f"{name}: an empty list is stored as nothing", call("report", "f2", []) == {"ok": None} and call("report", "f2", [["", "loss", "1"]]) == {"ok": None}
          and call("get", "f2") == {"ok": []})
    refused = call("report", "f2", [rows[0], ["2026-11-15T09:30:00Z"]])
    check(f"{name}: a row without metric is refused by its number", refused.get("code") == "INVALID_ARGUMENT" and "row 1" in refused["text"], refused)
    refused = call("report", "f2", [rows[0], ["yesterday", "loss", "1"]])
    check(f"{name}: a bad time stamp refuses all", refused.get("code") == "UNKNOWN" and "yesterday" in refused["text"] and call("get", "f2") == {"ok": []}, refused)
    check(f"{name}: delete", call("delete", "f1") == {"ok": None} and call("get", "f1") == {"ok": []})
    check(f"{name}: health", [call("check")["ok"], call("check", "grpc.health.v1.Health")["ok"], call("check", "x")["code"]] == ["SERVING", "SERVING", "UNKNOWN"])
    services, files = call("reflect")["ok"]
    check(f"{name}: reflection names the services and has their descriptors", {"api.v1.beta1.DBManager", "grpc.health.v1.Health"} <= set(services) and files >= 1, services)
    check(f"{name}: 200,000 rows in one call", call("report_many", "f3", 200_000) == {"ok": None} and len(call("get", "f3")["ok"]) == 200_000)
    log = json.loads(run(TACHO, "log", "f3", "--server", manager.address, "--metric", "loss", "--json"))
    check(f"{name}: tacho-katib log prints them all", len(log) == 200_000)
    call("delete", "f3")
    call.close()


def same_database(postgres, real, ours):
    """Both managers on one PostgreSQL database: each sees the other's rows, and they answer alike."""
    theirs, mine = Client(real.address), Client(ours.address)
    rows = [["2026-11-15T09:30:00.5Z", "loss", "1"], ["2026-11-15T09:30:00Z", "loss", "2"], ["2026-11-15T09:30:00.123456Z", "acc", "3"]]
    theirs("report", "s1", rows)
    mine("report", "s1", [["2026-11-15T09:31:00.25+00:00", "loss", "4"]])
    for question in (["s1"], ["s1", "loss"], ["s1", "", "2026-11-15T09:30:00.123456Z"], ["s1", "", "", "2026-11-15T09:30:00.5Z"], ["s1", "loss", "x"], ["none"]):
        a, b = theirs("get", *question), mine("get", *question)
        check(f"both managers answer alike: {question}", a == b or (a.get("code") == b.get("code") and "code" in a), (a, b))
    mine("delete", "s1")
    check("what one deletes is gone for the other", theirs("get", "s1") == {"ok": []})
    theirs.close()
    mine.close()


# --- the collectors ---

def collect(pod, manager, trial, program, form, more=()):
    flags = ["-t", trial, "-m", katib_logs.METRICS, "-o-type", "minimize", "-s-db", manager.address, "-path", pod.log, "-format", form, "-p", "100ms", *more]
    command = [TACHO, "collect"] if program == TACHO else [program]
    return pod.enter(*command, *flags, log=f"{trial}.log")


def one_run(name, manager, trial, program, log, form, more=()):
    """A pod whose trainer writes the log and succeeds; returns the rows that the collector stored."""
    with Pod(f"{name}-{trial}") as pod:
        (pod.folder / "given").write_bytes(log.encode())
        pod.log.write_bytes(b"")
        trainer = pod.train(f"sleep 0.5; cat {pod.folder}/given > {pod.log}")
        collector = collect(pod, manager, trial, program, form, more)
        trainer.wait(30)
        code = collector.wait(60)
    if code != 0:
        raise RuntimeError(f"{program} ended with {code}: {(pod.folder / f'{trial}.log').read_text(errors='replace')[-1000:]}")
    return manager.rows(trial)


def differential(programs, managers, name, log, form, more=()):
    """The rule of §10: the same rows in the same order, in every store."""
    theirs = ours = None
    for manager in managers:
        trial = f"{name}-{manager.name}"
        theirs = finite(one_run("real", manager, f"{trial}-r", programs["file-metricscollector"], log, form, more))
        ours = one_run("tacho", manager, f"{trial}-t", TACHO, log, form, [*more, "--profile", "drop-in", "--report", "end"])
        check(f"{name}: {len(theirs)} rows alike in {manager.name}", bool(theirs) and not same(ours, theirs), same(ours, theirs))


def feeder(pod, rows, seconds):
    """Shell of a trainer that prints rows over some time, and its last ones when the file `go` is there."""
    (pod.folder / "given").write_text("".join(f"2026-11-15T09:{i // 60 % 60:02}:{i % 60:02}Z step={i} loss={i}.5\n" for i in range(rows)))
    pod.log.write_bytes(b"")
    step = rows // 40
    return (f"for i in $(seq 40); do [ $i -lt 40 ] || while [ ! -e {pod.folder}/go ]; do sleep 0.1; done; "
            f"sed -n \"$(( (i - 1) * {step} + 1 )),$(( i * {step} ))p\" {pod.folder}/given >> {pod.log}; sleep {seconds / 40}; done")


def each_once(rows, expected):
    values = [row[2] for row in rows]
    missing = set(f"{i}.5" for i in range(expected)) - set(values)
    return "" if len(values) == expected and not missing else f"{len(values)} rows, {len(missing)} missing, {len(values) - len(set(values))} twice"


def killed_collector(manager):
    """SIGKILL at random moments while training runs: no row twice, none missing."""
    rng = random.Random(manager.name)
    trial = f"killed-{manager.name}"
    kills = 0
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 8))
        (pod.folder / "go").touch()
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        while trainer.poll() is None:
            time.sleep(rng.uniform(0.05, 0.9))
            if trainer.poll() is None:
                os.kill(until(lambda: child_of(collector.pid), 5, "the collector"), 9)
                collector.wait()
                kills += 1
                collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        code = collector.wait(60)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: killed {kills} times, each row once", code == 0 and kills > 5 and not fault, f"exit {code}, {fault}")


def child_of(pid):
    """nsenter stays outside; its child is the collector."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return int(children[0]) if children else None


def killed_manager(manager):
    """The DB manager away at the start, killed in the middle, and away at the end."""
    trial = f"away-{manager.name}"
    manager.down()
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 6))
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        time.sleep(1.5)
        manager.up()
        for _ in range(3):
            time.sleep(1)
            manager.down()
            time.sleep(0.3)
            manager.up()
        manager.down()
        (pod.folder / "go").touch()
        trainer.wait(60)
        time.sleep(1)
        alive = collector.poll() is None
        manager.up()
        code = collector.wait(120)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: killed 4 times, each row once", alive and code == 0 and not fault, f"exit {code}, {'' if alive else 'ended early, '}{fault}")


def main():
    programs = install()
    postgres, mariadb = Postgres(), MariaDb()
    real_my = real_manager(programs, mariadb, mariadb.database("katib"), "mysql").up()
    real_pg = real_manager(programs, postgres, postgres.database("katib"), "postgres").up()
    ours = tacho_on_sqlite().up()
    ours_pg = tacho_on_postgres(postgres, postgres.database("tacho")).up()
    beside = tacho_on_postgres(postgres, "katib", "tacho-beside-katib").up()
    say(run(postgres.bin / "postgres", "--version").strip() + "; " + run("/usr/sbin/mariadbd", "--version").strip())

    case(foreign_client, ours)
    case(foreign_client, ours_pg)
    case(same_database, postgres, real_pg, beside)
    everywhere = [real_my, real_pg, ours]
    case(differential, programs, everywhere, "text", katib_logs.text_log(1, 800), "TEXT")
    case(differential, programs, [ours], "text2", katib_logs.text_log(2, 3000), "TEXT")
    case(differential, programs, [ours_pg], "text3", katib_logs.text_log(3, 800), "TEXT")
    filters = r"{metricName: ([\w|-]+), metricValue: ((-?\d+)(\.\d+)?)};([\w|-]+)\s*=\s*([+-]?\d+)"
    case(differential, programs, everywhere, "filter", katib_logs.text_log(4, 500, katib_logs.filter_line), "TEXT", ["-f", filters])
    case(differential, programs, everywhere, "json", katib_logs.json_log(5, 500), "JSON")
    case(differential, programs, [ours], "json2", katib_logs.json_log(6, 3000), "JSON")
    case(differential, programs, [ours], "nothing", "no metric at all\n", "TEXT")
    for manager in (real_my, real_pg, ours):
        case(killed_collector, manager)
        case(killed_manager, manager)
    if (ROOT / "tests/interop/katib_tfevents.py").exists():
        import katib_tfevents
        case(katib_tfevents.check_real_writers)
    finish()


main()
