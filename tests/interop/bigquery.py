#!/usr/bin/env python3
"""scripts/interop bigquery: rows through tacho into real BigQuery emulators, read back with Google's own client library, and compared with what
was recorded. The emulators differ in what they check and keep (insertIds, partition filters): nothing here depends on that."""
import os
import sys

from common import BIN, ROOT, WORK, case, check, finish, free_port, run, say, start, stop, until, venv

try:
    from google.cloud import bigquery as google_bigquery
except ImportError:
    python = venv("bigquery", "google-cloud-bigquery")
    os.execv(python, [str(python), *sys.argv])

os.environ["TACHO_BUILD_DIR"] = str(BIN.parent)
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/doubles")]
import csv  # noqa: E402
import glob  # noqa: E402
import importlib.metadata  # noqa: E402
import pathlib  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402

from google.api_core.client_options import ClientOptions  # noqa: E402
from google.auth.credentials import AnonymousCredentials  # noqa: E402

from bigquery import Spool, metrics_record, runtime_record  # noqa: E402: that of the end-to-end tests

PROJECT, ROWS = "project", 40


class Emulator:
    """One emulator, started on a free port; stop() and again() as for a machine that is rebooted."""

    def __init__(self, name, python, package, *words, folder, patches=True):
        self.name, self.words, self.folder, self.patches = name, words, folder, patches
        self.version = run(python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))").strip()
        self.port, self.grpc = free_port(), free_port()
        self.again()

    def again(self):
        words = [str(word).format(port=self.port, grpc=self.grpc, folder=self.folder) for word in self.words]
        self.process = start(*words, log=f"bigquery-{self.name}.log", env={**os.environ, "HOME": self.folder})
        until(self.answers, 90, f"{self.name} on port {self.port}")

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}; see its log")
        try:
            list(self.client().list_datasets(timeout=5, retry=None))
            return True
        except Exception:  # noqa: BLE001: not there yet
            return False

    def client(self):
        return google_bigquery.Client(project=PROJECT, credentials=AnonymousCredentials(),
                                      client_options=ClientOptions(api_endpoint=f"http://127.0.0.1:{self.port}"))

    def rows(self, sql):
        return [dict(row.items()) for row in self.client().query_and_wait(sql)]

    def stop(self, sig=signal.SIGTERM):
        stop(self.process, sig)


def bqemulator():
    python = venv("bqemulator", "bqemulator", "numpy")
    # GEOGRAPHY needs an extension of DuckDB that is downloaded when it starts; there is none in our tables.
    program = ("import bqemulator.storage.engine as engine; engine.DuckDBEngine._load_spatial = lambda self: None; "
               "from bqemulator.cli import main; main()")
    return Emulator("bqemulator", python, "bqemulator", python, "-c", program, "start", "--persistent", "--data-dir", "{folder}", "--rest-port", "{port}",
                    "--grpc-port", "{grpc}", "--log-level", "warning", folder=tempfile.mkdtemp(prefix="interop-bq-"), patches=False)


def local_bigquery():
    places = (*sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.13*/bin/python3.13"))), shutil.which("python3.13"))
    newer = next((path for path in places if path), None)
    if newer is None:
        say("local-bigquery needs Python 3.13, which is not here: left out")
        return None
    python = WORK / "venv-local-bigquery/bin/python"
    if not python.exists():
        run(newer, "-m", "venv", python.parent.parent)
    # DuckDB downloads its extensions when they are first used; here they come as packages, of the newest version that there is.
    names = ("icu", "ducklake", "spatial")
    run(python, "-m", "pip", "install", "-q", "local-bigquery", "duckdb==1.5.5", "duckdb-extensions==1.5.5", *(f"duckdb-extension-{name}==1.5.5" for name in names),
        timeout=1200)
    folder = tempfile.mkdtemp(prefix="interop-bq-")
    run(python, "-c", f"import duckdb_extensions; [duckdb_extensions.import_extension(name) for name in {names}]", env={**os.environ, "HOME": folder})
    return Emulator("local-bigquery", python, "local-bigquery", python.parent / "local-bigquery", "serve", "--host", "127.0.0.1", "--port", "{port}", "--grpc-port",
                    "{grpc}", "--project", PROJECT, "--data-dir", "{folder}/data", folder=folder)


def tacho(emulator, *words, home, rc=0, **more):
    env = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "TACHO_NO_CLOUD": "1", "BIGQUERY_EMULATOR_HOST": f"127.0.0.1:{emulator.port}"}
    return run(BIN / "tacho", *words, env={**env, **more}, rc=rc)


def a_run(emulator):
    """tacho run -o bq://: every cell of the local CSV is in the table, with its type."""
    home = tempfile.mkdtemp(prefix="interop-")
    tacho(emulator, "run", "-i", "0.1", "--upload-interval", "1", "-n", "job", "-o", f"bq://{PROJECT}.runs", "--", "sleep", "2.5", home=home)
    with open(glob.glob(home + "/tacho/runs/*/metrics.csv")[0], encoding="utf-8") as file:
        local = list(csv.DictReader(file))
    remote = emulator.rows(f"SELECT * FROM `{PROJECT}.runs.samples` WHERE timestamp > TIMESTAMP '2020-01-01' ORDER BY seq")
    check(f"{emulator.name}: as many rows as the CSV has", len(remote) == len(local), f"{len(remote)} {len(local)}")
    wrong = [(name, text, row.get(name)) for line, row in zip(local, remote) for name, text in line.items()
             if name != "timestamp" and (row.get(name) is not None if text == "" else row.get(name) is None or abs(float(text) - row[name]) > 1e-9)]
    check(f"{emulator.name}: every cell is the same", not wrong, wrong[:5])
    late = [row["timestamp"].timestamp() - float(line["timestamp"]) for line, row in zip(local, remote)]
    check(f"{emulator.name}: timestamps are the same to the millisecond", all(0 <= gap < 0.0011 for gap in late), late[:5])
    table = emulator.client().get_table(f"{PROJECT}.runs.samples")
    kinds = {field.name: field.field_type for field in table.schema}
    check(f"{emulator.name}: types", kinds["process_pid"] in ("INTEGER", "INT64") and kinds["process_cpu_usage"] in ("FLOAT", "FLOAT64"), kinds)


def tables_ahead(emulator):
    """tacho bq init, twice; the client sees what the contract says."""
    home = tempfile.mkdtemp(prefix="interop-")
    words = ("bq", "init", "--project", PROJECT, "--dataset", "cromwell_monitoring", "--location", "EU")
    check(f"{emulator.name}: bq init makes three tables", tacho(emulator, *words, home=home).count(" made") == 3)
    check(f"{emulator.name}: and finds them again", tacho(emulator, *words, home=home).count("is there") == 3)
    for name, partition, first in (("runtime", "start_time", "project_id"), ("metrics", "timestamp", "timestamp"), ("metadata", "start_time", "project_id")):
        table = emulator.client().get_table(f"{PROJECT}.cromwell_monitoring.{name}")
        field = table.schema[0]
        check(f"{emulator.name}: {name} begins with {first}", (field.name, field.mode) == (first, "REQUIRED"), table.schema[:2])
        found = table.time_partitioning.field if table.time_partitioning else None
        if found is None:
            say(f"{emulator.name} does not keep the partitioning of {name}")
        else:
            check(f"{emulator.name}: {name} is partitioned on {partition}", found == partition, found)


def spool(name, seqs, now_us):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="interop-")) / f"20261115T140000Z-1-{name}"
    return Spool(str(folder), [[runtime_record(now_us)] + [metrics_record(now_us + seq * 1_000_000, seq) for seq in part] for part in seqs])


def monitor_rows(emulator):
    """A killed monitor's spool into tables of bq init: arrays, nulls, 63-bit ids."""
    now_us = int(time.time() * 1e6)
    left = spool("00000000", [range(ROWS)], now_us)
    tacho(emulator, "deliver", left.folder, home=os.path.dirname(left.folder))
    where = "FROM `project.cromwell_monitoring.{}` WHERE {} > TIMESTAMP '2020-01-01'"
    runtime = emulator.rows("SELECT * " + where.format("runtime", "start_time"))
    check(f"{emulator.name}: one runtime row", len(runtime) == 1, runtime)
    check(f"{emulator.name}: its values", [runtime[0][name] for name in ("instance_id", "disk_mounts", "shard", "preemptible", "machine_type")] ==
          [1234567890123456789, ["/cromwell_root"], -1, False, None], runtime[0])
    metrics = emulator.rows("SELECT seq, cpu_used_percent, instance_id, timestamp, event " + where.format("metrics", "timestamp") + " ORDER BY seq")
    check(f"{emulator.name}: all metrics rows, once", [row["seq"] for row in metrics] == list(range(ROWS)), len(metrics))
    check(f"{emulator.name}: arrays keep their order", all(list(row["cpu_used_percent"]) == [1.5, 2.0] for row in metrics), metrics[:1])
    times = [row["timestamp"].timestamp() * 1e6 for row in metrics]
    check(f"{emulator.name}: microseconds", all(abs(at - now_us - i * 1e6) < 2 for i, at in enumerate(times)), times[:2])


def reads_the_table(emulator):
    """A table that somebody else made, with Google's client: only what fits is written; --bq-add-columns where the emulator can patch."""
    client = emulator.client()
    client.create_dataset("theirs", exists_ok=True)
    field = google_bigquery.SchemaField
    client.create_table(google_bigquery.Table(f"{PROJECT}.theirs.samples", schema=[
        field("timestamp", "TIMESTAMP", "REQUIRED"), field("process_cpu_usage", "FLOAT"), field("process_pid", "STRING"), field("owner", "STRING")]))
    home = tempfile.mkdtemp(prefix="interop-")
    said = tacho(emulator, "run", "-i", "0.1", "-o", f"bq://{PROJECT}.theirs", "--", "sleep", "0.5", home=home)
    rows = emulator.rows(f"SELECT * FROM `{PROJECT}.theirs.samples`")
    check(f"{emulator.name}: rows in a foreign table", rows and all(set(row) == {"timestamp", "process_cpu_usage", "process_pid", "owner"} for row in rows), rows[:1])
    check(f"{emulator.name}: a column of another type stays NULL", all(row["process_pid"] is None and row["process_cpu_usage"] is not None for row in rows), rows[:1])
    check(f"{emulator.name}: the missing columns are named", "lacks columns" in said, said)
    tacho(emulator, "run", "-i", "0.1", "-o", f"bq://{PROJECT}.theirs?add_columns=1", "--", "sleep", "0.5", home=home)
    names = {entry.name for entry in client.get_table(f"{PROJECT}.theirs.samples").schema}
    check(f"{emulator.name}: columns were added", {"owner", "seq", "system_utime"} <= names, names)
    if not emulator.patches:
        say(f"{emulator.name} adds columns to a table's description only (insertAll then answers 500): they are not filled here")
        return
    tacho(emulator, "run", "-i", "0.1", "-o", f"bq://{PROJECT}.theirs", "--", "sleep", "0.5", home=home)
    filled = [row["seq"] for row in emulator.rows(f"SELECT * FROM `{PROJECT}.theirs.samples`") if row.get("seq") is not None]
    check(f"{emulator.name}: and are filled", filled, filled)


def killed(emulator):
    """kill -9 of tacho, and the emulator away at that time: the rest arrives with tacho deliver, and nothing twice."""
    home = tempfile.mkdtemp(prefix="interop-")
    env = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "TACHO_NO_CLOUD": "1", "BIGQUERY_EMULATOR_HOST": f"127.0.0.1:{emulator.port}",
           "TACHO_FINISH_TIMEOUT": "2"}
    process = subprocess.Popen([BIN / "tacho", "run", "-q", "-i", "0.1", "--upload-interval", "1", "-o", f"bq://{PROJECT}.killed", "--", "sleep", "30"], env=env,
                               start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2.5)
    emulator.stop()
    time.sleep(1.2)
    process.kill()
    process.wait()
    csv_path, = glob.glob(home + "/tacho/runs/*/metrics.csv")
    time.sleep(3)  # its deliverer gives up
    emulator.again()
    said = tacho(emulator, "deliver", "--all", home=home)
    with open(csv_path, encoding="utf-8") as file:
        local = len(list(csv.DictReader(file)))
    seqs = [row["seq"] for row in emulator.rows(f"SELECT seq FROM `{PROJECT}.killed.samples` WHERE timestamp > TIMESTAMP '2020-01-01' ORDER BY seq")]
    check(f"{emulator.name}: after kill -9 and a restart every row, once", seqs == list(range(local)), f"{seqs} {local} {said}")


def whole_suite(make):
    emulator = make()
    if emulator is None:
        return
    say(f"{emulator.name} {emulator.version}")
    for test in (a_run, tables_ahead, monitor_rows, reads_the_table, killed):
        case(test, emulator)
    emulator.stop()


def main():
    say(f"google-cloud-bigquery {importlib.metadata.version('google-cloud-bigquery')}")
    for make in (bqemulator, local_bigquery):
        case(whole_suite, make)
    finish()


if __name__ == "__main__":
    main()
