"""Remote write, OTLP/HTTP and text files against the real things: Prometheus 2.42, VictoriaMetrics 1.79 and node_exporter of Debian,
promtool, and an OpenTelemetry Collector. What they have is read back by their own query APIs and compared with the local CSV cell by
cell, with faults in between. Options: --hour (an outage of an hour and ten minutes of load, and nothing else; a minute and two without it)."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import metrics_load  # noqa: E402
from common import BIN, case, check, finish, fresh, run, say, until  # noqa: E402
from metrics_compare import compare, expected, rows_of  # noqa: E402
from metrics_servers import Collector, Exporter, Prometheus, Relay, Victoria, faults, get  # noqa: E402
from service import Running  # noqa: E402

HOUR = "--hour" in sys.argv
OUTAGE_S = 3600 if HOUR else 60
JOB = ("python3", "-c", "import time\nblocks=[]\nend=time.monotonic()+%s\n"
       "while time.monotonic()<end:\n blocks.append(bytearray(200000))\n sum(range(200000))\n time.sleep(.05)\n"
       " open('scratch','wb').write(b'x'*100000)")


class Place:
    """A home of its own for some runs."""

    def __init__(self, name):
        self.folder = fresh(f"metrics-home-{name}")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state"), "LANG": "C.UTF-8",
                    "XDG_CONFIG_HOME": str(self.folder / "config"), "TACHO_NO_CLOUD": "1"}
        self.spool = self.folder / "state/tacho/spool"

    def tacho(self, *words, **more):
        return run(BIN / "tacho", *words, env={**self.env, **more.pop("env", {})}, cwd=self.folder, **more)

    def spawn(self, *words, **more):
        return subprocess.Popen([str(BIN / "tacho"), *(str(word) for word in words)], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def runs(self):
        return sorted((self.folder / "state/tacho/runs").iterdir())

    def waiting(self):
        return sorted(self.spool.glob("2*"))

    def letters(self):
        return sorted(self.spool.glob("dead-letter/*"))


def job(seconds):
    return (*JOB[:2], JOB[2] % seconds)


def whole_run(server):
    place = Place(f"whole-{server.name}")
    place.tacho("run", "-i", "0.2", "--upload-interval", "1s", "-n", 'a"b\\c\nd é', "--metric-label", "crew=x y", "-o",
                f"prometheus+{server.url}{server.path}", "--", *job(4))
    folder = place.runs()[0]
    check(f"{server.name}: every cell of {len(rows_of(folder))} rows", not (why := compare(server, folder)), why)
    stored, twice = server.stored(f'run_id="{folder.name}",crew="x y",job="tacho"')
    check(f"{server.name}: labels, once", len(stored) >= 14 and twice == 0, (len(stored), twice))
    check(f"{server.name}: nothing waits", not place.waiting())


FAULTS = {"a lost answer": [{"match": {"nth": 2}, "action": {"reset": "answer"}}], "a reset in mid-body": [{"match": {"nth": 1}, "action": {"reset": "body"}}],
          "503": [{"match": {"nth": 1}, "action": {"status": 503}}], "429 with Retry-After": [{"match": {"nth": 1}, "action": {"status": 429, "headers": {"Retry-After": "2"}}}],
          "500 three times": [{"match": {"to": 3}, "action": {"status": 500}}], "slow": [{"action": {"delay_s": 1.5}}],
          "slow loris": [{"match": {"nth": 1}, "action": {"slow_s": 0.05}}], "413 for one": [{"match": {"nth": 1}, "action": {"status": 413}}],
          "400 for one": [{"match": {"nth": 1}, "action": {"status": 400}}]}


def faulty(server, relay, name):
    place = Place(f"fault-{server.name}")
    relay.double.rules.replace(FAULTS[name])
    place.tacho("run", "-i", "0.1", "--upload-interval", "0.5s", "-o", f"prometheus+{relay.url}{server.path}", "--", *job(1.5))
    check(f"{server.name}, {name}", not (why := compare(server, place.runs()[0])) and not place.waiting() and not place.letters(), why)


def killed(server, sig):
    place = Place(f"killed-{server.name}")
    tacho = place.spawn("run", "-i", "0.2", "--upload-interval", "0.6s", "-o", f"prometheus+{server.url}{server.path}", "--", *job(7))
    time.sleep(2.5)
    server.stop(sig)
    time.sleep(1)
    server.start()
    tacho.communicate(timeout=60)
    check(f"{server.name}: ended by {sig.name} and started again", not (why := compare(server, place.runs()[0])) and not place.waiting(), why)


def out_of_order(server):
    """Without run_id two runs of one job are the same series: what comes late is refused, kept, and loads with promtool."""
    place = Place("order")
    address = f"prometheus+{server.url}{server.path}#run_id=0"
    for _ in range(2):
        place.tacho("run", "-i", "0.1", "-n", "late", "--deliver", "later", "-o", address, "--", *job(1))
    late, soon = place.waiting()
    place.tacho("deliver", soon)
    said = place.tacho("deliver", "--json", late)
    line = next(json.loads(line) for line in said.splitlines() if line.startswith('{"run"'))
    late, letters = place.runs()[0].parent / line["run"], place.letters()
    check("out of order: refused and kept", line["state"] == "delivered" and line["refused"] > 0 and len(letters) == 1, line)
    lines = letters[0].read_text().splitlines()
    check("out of order: delivered + dead letter = the CSV", not (why := compare(server, late, 'job_name="late"', lines[:-1])), why)
    blocks = fresh("metrics-blocks")
    said = run("promtool", "tsdb", "create-blocks-from", "openmetrics", letters[0], blocks)
    check("out of order: promtool loads the dead letter", any(blocks.iterdir()), said)
    (blocks / "wal").mkdir()
    told = run("promtool", "tsdb", "dump", blocks)
    check("out of order: all of it", len([row for row in told.splitlines() if row.startswith("{")]) == len(lines) - 1, told[-300:])


def outage(servers):
    place = Place("outage")
    outputs = [word for server in servers for word in ("-o", f"prometheus+{server.url}{server.path}")]
    for server in servers:
        server.stop()
    tachos = [place.spawn("run", "-i", "1", "--upload-interval", "5s", *outputs, "--", "sleep", OUTAGE_S + 75) for _ in range(10)]
    say(f"all receivers away for {OUTAGE_S} s, 10 runs at a tick a second")
    time.sleep(OUTAGE_S)
    for server in servers:
        server.start()
    back = time.monotonic()
    ends = [tacho.wait(200) for tacho in tachos]
    check("outage: the jobs ended as they are", ends == [0] * 10, ends)
    say(f"delivered {time.monotonic() - back - 75:.1f} s after the jobs' end")
    outage_cells(servers, place)
    check("outage: nothing waits", not place.waiting())


def outage_cells(servers, place):
    """Without a window Prometheus takes nothing that is an hour older than what some other run has sent: that is kept as dead letters."""
    letters = {path.stem: path.read_text().splitlines()[:-1] for path in place.letters()}
    for server in servers:
        kept = letters if server.name == "prometheus-no-window" else {}
        why = [text for folder in place.runs() if (text := compare(server, folder, letters=kept.get(folder.name, ())))]
        check(f"outage: {server.name} has every cell of 10 runs" + (f", with {sum(map(len, kept.values()))} in dead letters" if kept else ""), not why, why[:1])
    check("outage: only the one without a window refuses", not letters or any(server.name == "prometheus-no-window" for server in servers), sorted(letters))


def text_files(server):
    place = Place("textfile")
    tacho = place.spawn("run", "-i", "0.2", "-n", 'q"\\\nx', "-o", server.folder / "one.prom", "-o", place.folder / "one.openmetrics", "--", *job(2))
    place.spawn("run", "-q", "-n", "other", "-o", server.folder / "two.prom", "--", "true").communicate(timeout=30)
    until(lambda: (server.folder / "one.prom").exists())
    check("node_exporter: running", 'tacho_job_running{job_name="q\\"\\\\\\nx"} 1' in get(server.url + "/metrics"))
    tacho.communicate(timeout=30)
    text = get(server.url + "/metrics")
    check("node_exporter: no error", "node_textfile_scrape_error 0" in text)
    mine = [line for line in text.splitlines() if line.startswith("tacho_job") and 'job_name="q' in line]
    shown = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in mine}
    own = [line for line in (server.folder / "one.prom").read_text().splitlines() if not line.startswith("#")]
    check("node_exporter: every series as it is in the file", shown == {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in own}, (mine, own))
    check("node_exporter: at most 20 series", 10 < len(own) <= 20, len(own))
    cells = expected(max(place.runs(), key=lambda folder: len(rows_of(folder))))
    last = list(cells[("tacho_job_cpu_seconds_total", "mode=user")].values())[-1]
    check("node_exporter: the last cell of the CSV", abs(shown['tacho_job_cpu_seconds_total{job_name="q\\"\\\\\\nx",mode="user"}'] - last) < 0.001, (shown, last))  # a cell has four digits
    check("promtool: the text is as it should be", "error" not in run("sh", "-c", f"promtool check metrics < {server.folder}/one.prom", rc=None))


def collector(server, fragment):
    place = Place("collector")
    place.tacho("run", "-i", "0.2", "--upload-interval", "0.7s", "-o", f"otlp+{server.url}{fragment}", "--", *job(2.5))
    compare_points(server, place, fragment or "binary, gzip")


def compare_points(server, place, what, again=False):
    folder = place.runs()[0]
    rows = rows_of(folder)
    for metric, column, factor in (("process.memory.usage", "process_memory_mib", 2 ** 20), ("tacho.process.count", "process_children", 0)):
        want = [(round(float(row["timestamp"]) * 1000) * 10 ** 6, round(float(row[column]) * factor) if factor else float(row[column]) + 1) for row in rows if row[column]]
        want[-1] = want[-1] if factor else (want[-1][0], 0)
        have = until(lambda: len(server.points(folder.name, metric)) >= len(want) and server.points(folder.name, metric), 20, metric)
        have = list(dict.fromkeys(have)) if again else have
        check(f"Collector, {what}: {metric}, {len(want)} rows", have == want, sorted(set(have) ^ set(want))[:4])
    check(f"Collector, {what}: nothing waits", not place.waiting() and not place.letters())


def collector_faults(server, relay):
    for name in ("a lost answer", "503", "429 with Retry-After", "slow", "413 for one"):
        place = Place("collector-fault")
        relay.double.rules.replace(FAULTS[name])
        place.tacho("run", "-i", "0.2", "--upload-interval", "0.5s", "-o", f"otlp+{relay.url}", "--", *job(1.5))
        compare_points(server, place, name, again=name == "a lost answer")
    place = Place("collector-killed")
    tacho = place.spawn("run", "-i", "0.2", "--upload-interval", "0.6s", "-o", f"otlp+{server.url}", "--", *job(6))
    time.sleep(2)
    server.stop(signal.SIGKILL)
    server.start()
    tacho.communicate(timeout=60)
    compare_points(server, place, "killed", again=True)
    place = Place("collector-500")
    relay.double.rules.replace([{"match": {"nth": 1}, "action": {"status": 500}}])
    place.tacho("run", "-i", "0.2", "-o", f"otlp+{relay.url}", "--", "true")
    letter = [json.loads(line) for path in place.letters() for line in path.read_text().splitlines()]
    # What the letter holds is a request: sent again by hand, the Collector takes it.
    sent = run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/json", "-d", json.dumps(letter[0]), server.url + "/v1/metrics")
    check("Collector, 500: the dead letter is a request that it takes", len(letter) == 1 and sent == "200", sent)


def everything():
    window, plain, victoria = outage_servers()
    exporter, otel = Exporter(), Collector()
    for server in (window, plain, victoria, exporter, otel):
        server.start()
        say(f"{server.name} {server.version}")
    for server in (window, plain, victoria):
        case(whole_run, server)
    for server in (window, victoria):
        relay = Running(type("Relay", (Relay,), {"target": server}), faults.Double())
        for name in FAULTS:
            case(faulty, server, relay, name)
    case(killed, window, signal.SIGKILL)
    case(killed, victoria, signal.SIGTERM)  # killed, it loses by itself what it had not written yet
    case(out_of_order, plain)
    case(text_files, exporter)
    for fragment in ("", "#encoding=json", "#encoding=json&gzip=0", "#gzip=0"):
        case(collector, otel, fragment)
    case(collector_faults, otel, Running(type("Relay", (Relay,), {"target": otel}), faults.Double()))
    return window, plain, victoria


def outage_servers():
    return Prometheus("prometheus", "2h"), Prometheus("prometheus-no-window", ""), Victoria()


def hour_servers():
    servers = outage_servers()
    for server in servers:
        server.start()
        say(f"{server.name} {server.version}")
    return servers


def main():
    servers = hour_servers() if HOUR else everything()
    case(outage, servers)
    case(metrics_load.load, servers[-1], Place("load"), Place("load-waits"), 10 if HOUR else 2)
    finish()


if __name__ == "__main__":
    main()
