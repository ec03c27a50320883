"""The double of BigQuery in the test's own process, keys for it, and spools of task monitors as an agent leaves them behind."""
import glob
import json
import os
import subprocess
import time

from service import Running
from support import Case
import bigquery_double  # found through service.py

ROWS = 5

EMAIL = "tacho@project.iam.gserviceaccount.com"
TASK = {"workflow_id": "11111111-2222-3333-4444-555555555555", "task_call_name": "align", "shard": -1, "attempt": 1}


def crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def utc(moment_us):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment_us // 1_000_000)) + f".{moment_us % 1_000_000:06}Z"


def record(letter, moment_us, row):
    text = f"{letter} {moment_us} {json.dumps(row, separators=(',', ':'), ensure_ascii=False)}".encode()
    return b"%d %08x %s\n" % (len(text), crc32c(text), text)


def runtime_record(moment_us):
    return record("R", moment_us, {"cpu_count": 2, "mem_total_gb": 8.2, "disk_mounts": ["/cromwell_root"], "disk_total_gb": [10.5],
                                   "start_time": utc(moment_us), "run_id": "run", "tacho_version": "0", "gpu_count": 0})


def metrics_record(moment_us, seq, **more):
    return record("M", moment_us, {"timestamp": utc(moment_us), "cpu_used_percent": [1.5, 2], "mem_used_gb": 1.25, "disk_used_gb": [3.5],
                                   "disk_read_iops": [0], "disk_write_iops": [7.5], "seq": seq, **more})


class Cloud:
    """BigQuery with what belongs to it."""
    project, dataset = "project", "cromwell_monitoring"

    def __init__(self, config=None):
        self.double = bigquery_double.BigQuery(config or {})
        self.server = Running(bigquery_double.Handler, self.double)
        self.host = self.server.url.removeprefix("http://")

    def close(self):
        self.server.close()

    def environment(self, **more):
        return {"BIGQUERY_EMULATOR_HOST": self.host, **more}

    def faults(self, *rules):
        self.double.rules.replace(rules)

    def fault(self, action, path=".*/insertAll", **match):
        self.faults({"match": {"path": path, **match}, "action": action})

    def name(self, table):
        return f"{self.project}.{self.dataset}.{table}"

    def rows(self, table):
        return self.double.rows(self.name(table))

    def table(self, table):
        return self.double.tables[self.name(table)]

    def calls(self, ending, method=None):
        with self.double.lock:
            return [entry for entry in self.double.log if entry["path"].partition("?")[0].endswith(ending) and method in (None, entry["method"])]

    def make_tables(self, fields):
        """The tables ahead of time: {table: fields}, partitioned as the contract has it."""
        for table, columns in fields.items():
            self.double.add_table(self.name(table), columns, {"metrics": "timestamp"}.get(table, "start_time"))


class Spool:
    """A run of a task monitor that was killed: meta.json and sealed segments, in a folder that tacho deliver takes."""

    def __init__(self, folder, segments, open_tail=b"", **meta):
        os.makedirs(folder, 0o700)
        self.folder = folder
        destination = {"project": Cloud.project, "dataset": Cloud.dataset, "tables": {"R": "runtime", "M": "metrics"}, **meta.pop("destination", {})}
        given = {"zone": "europe-west4-a", "instance_id": 1234567890123456789, "instance_name": "vm", "preemptible": False, "cpu_platform": "Zen",
                 "project_id": Cloud.project}
        self.meta = {"kind": "bigquery", "form": "monitor", "run": "r", "destination": destination, "google": meta.pop("google", {}),
                     "given": meta.pop("given", given), "fallback": meta.pop("fallback", {}), "task": TASK, "metrics": {**TASK, "run_id": "run"}, "ended": True, **meta}
        self.write("meta.json", json.dumps(self.meta).encode())
        seals = b""
        for number, records in enumerate(segments):
            text = b"".join(records)
            self.write(f"{number:06}.rec", text)
            seals += b"%06d %d %d %08x\n" % (number, len(text), len(records), crc32c(text))
        if open_tail:
            self.write(f"{len(segments):06}.open", open_tail)
        self.write("seals", seals)
        self.write("lock", b"")

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)


def service_account(path, token_uri, **more):
    """A key file as Google gives it; returns what the token endpoint must know of it."""
    key = subprocess.run(["openssl", "genrsa", "2048"], check=True, capture_output=True, text=True).stdout
    modulus = subprocess.run(["openssl", "rsa", "-noout", "-modulus"], input=key, check=True, capture_output=True, text=True).stdout
    entry = {"type": "service_account", "project_id": Cloud.project, "private_key_id": "kid1", "private_key": key, "client_email": EMAIL,
             "token_uri": token_uri, **more}  # None leaves a member out
    with open(path, "w", encoding="utf-8") as file:
        json.dump({name: value for name, value in entry.items() if value is not None}, file)
    os.chmod(path, 0o600)
    return {EMAIL: {"n": modulus.strip().partition("=")[2], "e": 65537, "kid": "kid1"}}


def column(name, kind, mode="NULLABLE", **more):
    return {"name": name, "type": kind, "mode": mode, **more}


# As the original tool makes it.
METRICS = [column("timestamp", "TIMESTAMP", "REQUIRED"), column("instance_id", "INTEGER", "REQUIRED"), column("cpu_used_percent", "FLOAT", "REPEATED"),
           column("mem_used_gb", "FLOAT", "REQUIRED"), column("disk_used_gb", "FLOAT", "REPEATED"), column("disk_read_iops", "FLOAT", "REPEATED"),
           column("disk_write_iops", "FLOAT", "REPEATED")]


class BigQuery(Case):
    weight = 2

    def setUp(self):
        super().setUp()
        self.cloud = Cloud()
        self.addCleanup(self.cloud.close)
        self.now_us = int(time.time() * 1e6) - 60_000_000

    def use(self, **config):
        self.cloud.close()
        self.cloud = Cloud(config)
        self.addCleanup(self.cloud.close)

    def spool(self, segments=None, name="20261115T140000Z-1-00000000", **meta):
        """A killed monitor's folder: a runtime row and ROWS metrics rows unless said otherwise."""
        if segments is None:
            segments = [[runtime_record(self.now_us)] + [metrics_record(self.now_us + i * 1_000_000, i) for i in range(ROWS)]]
        return Spool(self.path("spool", name), segments, **meta)

    def deliver(self, spool, rc=0, **env):
        done = self.tacho("deliver", spool.folder, env=self.cloud.environment(**env))
        self.assertEqual(done.rc, rc, done)
        self.assertEqual(os.path.exists(spool.folder), rc != 0, done)
        return done

    def expect_a_second_try(self, action):
        """What goes wrong once is done again, and each row arrives once."""
        with self.subTest(action):
            self.use()
            self.cloud.fault(action, ".*/metrics/insertAll", nth=1)
            self.deliver(self.spool())
            self.check()
            self.assertEqual(len(self.cloud.calls("metrics/insertAll")), 2)

    def check(self, rows=ROWS, runtime=1):
        """Everything arrived, once, in order; nothing was sent that a good client does not send."""
        metrics = self.cloud.rows("metrics")
        self.assertEqual([row.get("seq", i) for i, row in enumerate(metrics)], list(range(rows)))
        self.assertEqual(len(self.cloud.rows("runtime")), runtime)
        self.assertEqual(self.cloud.double.complaints, [])
        for table in self.cloud.double.tables.values():
            self.assertEqual(table.conflicts, [])

    def go(self, **more):
        done = self.deliver(self.spool(), **more)
        self.check()
        return done

    def kept(self, action, *words, path=".*/insertAll"):
        """Blocked: the rows stay, the message says why; when it is right again they arrive."""
        self.cloud.fault(action, path)
        spool = self.spool()
        done = self.deliver(spool, rc=1)
        for word in words:
            self.assertIn(word, done.err)
        self.cloud.faults()
        self.deliver(spool)
        self.check()

    def dead_letters(self):
        found = []
        for path in glob.glob(self.path("spool", "dead-letter", "*.jsonl")):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path, encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        return found
