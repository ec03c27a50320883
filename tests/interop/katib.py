"""`tacho-katib collect` and `tacho-katib db` beside Katib's own collector and DB manager: what both stored for the same logs, row by
row, in MySQL (MariaDB), PostgreSQL and tacho's own store; a collector and managers that are killed; a foreign client."""
import datetime
import json
import os
import subprocess

import katib_faults
import katib_logs
import katib_tfevents
from common import ROOT, WORK, case, check, finish, fresh, run, say, venv
from katib_parts import MariaDb, Postgres, install, real_manager, tacho_on_postgres, tacho_on_sqlite
from katib_trials import TACHO, one_run


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


def sdk(manager):
    """Kind Push: a trainer reports by itself, with Katib's own SDK."""
    python = venv("katib-sdk", "kubeflow-katib==0.19.0")
    # Outside a pod there is no file that tells the namespace, which is for messages alone.
    code = ("import sys; from kubeflow.katib.utils import utils; utils.get_current_k8s_namespace = lambda: 'default'; "
            "import kubeflow.katib as katib; katib.report_metrics({'loss': 0.5, 'accuracy': '0.25'}, sys.argv[1])")
    trial = f"sdk-{manager.name}"
    # Without this folder in the path: its kubernetes.py would stand in for the package that the SDK imports.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run(python, "-c", code, manager.address, env={**env, "KATIB_TRIAL_NAME": trial})
    rows = manager.rows(trial)
    check(f"{manager.name}: report_metrics() of the SDK", [row[1:] for row in rows] == [("loss", "0.5"), ("accuracy", "0.25")], rows)


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

def differential(programs, managers, name, log, form, more=()):
    """The rule of §10: the same rows in the same order, in every store."""
    theirs = ours = None
    for manager in managers:
        trial = f"{name}-{manager.name}"
        theirs = finite(one_run("real", manager, f"{trial}-r", programs["file-metricscollector"], log, form, more))
        ours = one_run("tacho", manager, f"{trial}-t", TACHO, log, form, [*more, "--profile", "drop-in", "--report", "end"])
        check(f"{name}: {len(theirs)} rows alike in {manager.name}", bool(theirs) and not same(ours, theirs), same(ours, theirs))


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
    case(sdk, ours)
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
    for manager in everywhere:
        for fault in (katib_faults.killed_collector, katib_faults.killed_manager, katib_faults.lost_replies, katib_faults.late_commits,
                      katib_faults.many_rows):
            case(fault, manager)
    case(katib_tfevents.check_real_writers)
    finish()


main()
