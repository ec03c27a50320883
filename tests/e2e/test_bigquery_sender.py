"""Who sends rows to BigQuery, as whom and when (cromwell-bigquery.md §1.1, §1.2, §2.2, §2.6, §2.7): after kills, beside a monitor, with all kinds of credentials,
and for runs of tacho's own."""
import fcntl
import glob
import json
import os
import random
import shutil
import signal
import tempfile
import time

from bigquery import METRICS, ROWS, BigQuery, Cloud, Spool, column, crc32c, metrics_record, record, utc
from support import SANITIZED, TACHO, marked_pids, until
import test_bigquery_identity


class Spooled(BigQuery):
    """Killed at any moment, sent once."""

    def test_torn_tail_and_damage(self):
        spool = self.spool(open_tail=metrics_record(self.now_us + 5_000_000, 5) + metrics_record(self.now_us + 6_000_000, 6)[:-9])
        self.assertIn("cut off", self.deliver(spool).err)
        self.check(rows=ROWS + 1)

    def test_damaged_segment(self):
        spool = self.spool()
        path = os.path.join(spool.folder, "000000.rec")
        with open(path, "r+b") as file:
            data = file.read()
            at = data.index(b'"seq":3')
            file.seek(at)
            file.write(b'"sEq":3')
        self.assertIn("damaged", self.deliver(spool).err)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 1, 2, 4])

    def test_a_damaged_segment_holds_up_no_other(self):
        segments = [[metrics_record(self.now_us + i * 1_000_000, i)] for i in range(4)]
        spool = self.spool(segments)
        with open(os.path.join(spool.folder, "000001.rec"), "r+b") as file:
            file.write(b"x")
        self.assertIn("damaged", self.deliver(spool).err)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [0, 2, 3])

    def test_a_first_record_that_is_damaged_costs_no_other(self):
        spool = self.spool([[metrics_record(self.now_us + i * 1_000_000, i) for i in range(5)]])
        with open(os.path.join(spool.folder, "000000.rec"), "r+b") as file:
            file.write(b"X")
        self.assertEqual(self.deliver(spool).err.count("are lost"), 1)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [1, 2, 3, 4])

    def test_rows_of_no_table_are_kept_and_named(self):
        spool = self.spool([[record("T", self.now_us + i, {"seq": i}) for i in range(3)]])
        self.assertIn("000000.rec", self.deliver(spool, rc=1).err)
        self.assertTrue(os.path.exists(os.path.join(spool.folder, "000000.rec")))

    def test_a_segment_that_cannot_be_read_is_kept_and_named(self):
        segments = [[metrics_record(self.now_us + i * 1_000_000, i)] for i in range(3)]
        spool = self.spool(segments)
        path = os.path.join(spool.folder, "000000.rec")
        os.rename(path, path + ".aside")
        os.mkdir(path)
        self.assertIn("000000.rec", self.deliver(spool, rc=1).err)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [1, 2])
        os.rmdir(path)
        os.rename(path + ".aside", path)
        self.deliver(spool)
        self.assertEqual(sorted(row["seq"] for row in self.cloud.rows("metrics")), [0, 1, 2])

    def acknowledged(self, spool):
        try:
            with open(os.path.join(spool.folder, "state.json"), encoding="utf-8") as file:
                return json.load(file)["rows_sent"]
        except FileNotFoundError:
            return 0

    def test_killed_while_sending(self):
        """The ids stay the same, also when the machine's answers change in between."""
        self.use(metadata={"instance/id": "77", "instance/hostname": "vm-77.c.project.internal", "instance/zone": "projects/1/zones/europe-west4-a"})
        env = {"GCE_METADATA_HOST": self.cloud.host, "TACHO_NO_CLOUD": None}
        spool = self.spool(given={}, destination={"batch_rows": 2})
        self.cloud.fault({"delay_s": 20}, ".*/metrics/insertAll", nth=2)
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment(**env))
        self.assertTrue(until(lambda: self.acknowledged(spool) == 3, 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.cloud.double.google.change({"instance/id": "88"})
        self.deliver(spool, **env)
        self.check()
        self.assertEqual({row["instance_id"] for row in self.cloud.rows("metrics")}, {77})
        self.assertEqual(self.cloud.rows("runtime")[0]["instance_name"], "vm-77")
        sent = [entry["body_bytes"] for entry in self.cloud.calls("metrics/insertAll")]
        self.assertEqual(len(sent), 3)  # 2, one that was killed and is not in the log, 2, 1: what was acknowledged is not sent again

    def test_an_answer_that_got_lost_in_a_kill(self):
        spool = self.spool()
        self.cloud.fault({"reset": "answer"}, ".*/metrics/insertAll")
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment())
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.deliver(spool)
        self.check()
        self.assertGreaterEqual(self.cloud.table("metrics").repeated, ROWS)

    def test_rejected_rows_are_written_down_once(self):
        spool = self.spool([[metrics_record(self.now_us, 0, mem_used_gb="much")], [metrics_record(self.now_us + 1, 1)]])
        self.cloud.fault({"delay_s": 20}, ".*/metrics/insertAll", nth=2)
        process = self.spawn("deliver", spool.folder, env=self.cloud.environment())
        self.assertTrue(until(lambda: len(self.cloud.calls("metrics/insertAll")) >= 1 and self.dead_letters(), 20))
        process.kill()
        process.wait()
        self.cloud.faults()
        self.deliver(spool)
        self.assertEqual(len(self.dead_letters()), 1)
        self.assertEqual([row["seq"] for row in self.cloud.rows("metrics")], [1])


class Beside(BigQuery):
    """tacho-deliver beside a monitor that lives: what it says, how it sleeps, how it ends."""

    def beside(self, spool, **env):
        read, write = os.pipe()
        lock = os.open(os.path.join(spool.folder, "lock"), os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)

        def descriptors():
            os.dup2(read, 3)
            os.dup2(lock, 4)
        process = self.spawn("--spool-run", spool.folder, program=os.path.join(os.path.dirname(TACHO), "tacho-deliver"), env=self.cloud.environment(**env),
                             preexec_fn=descriptors, close_fds=False)
        for fd in (read, lock):
            os.close(fd)
        self.control = os.fdopen(write, "wb", buffering=0)
        self.addCleanup(self.control.close)
        self.control.write(b"T\n")
        return process

    def test_preemption_is_told_at_once(self):
        self.use(metadata={**test_bigquery_identity.Identity.METADATA, "instance/preempted": "FALSE"})
        spool = self.spool(given={}, ended=False)
        process = self.beside(spool, GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS and self.cloud.calls("preempted"), 20))
        self.cloud.double.google.change({"instance/preempted": "TRUE"})
        self.assertEqual(process.stderr.readline(), "@preempted\n")
        self.assertEqual(len(self.cloud.calls("preempted")), 2)  # one open request, answered by the change
        self.control.write(b"E5000\n")
        self.assertEqual(process.wait(20), 0)
        self.assertFalse(os.path.exists(spool.folder))

    def test_no_watch_where_nothing_can_be_taken_away(self):
        self.use(metadata={**test_bigquery_identity.Identity.METADATA, "instance/preempted": "FALSE", "instance/scheduling/preemptible": "FALSE"})
        process = self.beside(self.spool(given={}, ended=False), GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        self.control.write(b"E5000\n")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.cloud.calls("preempted"), [])

    def test_sleeps_between_reports_and_is_small(self):
        process = self.beside(self.spool(ended=False))
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS and self.acknowledged_all(), 20))

        def status(*names):
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                return sum(int(line.split()[1]) for line in file if line.startswith(names))
        time.sleep(0.3)
        before = status("voluntary_ctxt_switches")
        time.sleep(3)
        self.assertEqual(status("voluntary_ctxt_switches"), before, "it woke up")
        if not SANITIZED:
            print(f"tacho-deliver: VmHWM {status('VmHWM')} kB")
            self.assertLess(status("VmHWM"), 16 * 1024)

    def acknowledged_all(self):
        return not glob.glob(self.path("spool", "2*", "*.rec"))

    def test_ends_in_time_with_a_black_hole(self):
        self.cloud.fault({"delay_s": 30}, "/bigquery/.*")
        spool = self.spool(ended=False)
        process = self.beside(spool)
        time.sleep(0.5)
        begun = time.monotonic()
        self.control.write(b"E3000\n")
        process.wait(30)
        self.assertLess(time.monotonic() - begun, 12)
        self.assertTrue(os.path.exists(spool.folder))

    def test_new_segments_are_sent_when_told(self):
        spool = self.spool(ended=False)
        process = self.beside(spool)
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS, 20))
        text = metrics_record(self.now_us + 10_000_000, ROWS)
        spool.write("000001.rec", text)
        with open(os.path.join(spool.folder, "seals"), "ab") as file:
            file.write(b"%06d %d %d %08x\n" % (1, len(text), 1, crc32c(text)))
        self.control.write(b"S\n")
        self.assertTrue(until(lambda: len(self.cloud.rows("metrics")) == ROWS + 1, 20))
        self.control.close()  # the agent was killed
        self.assertEqual(process.wait(30), 0)
        self.check(rows=ROWS + 1)


class Runs(BigQuery):
    """-o bq:// and tacho bq init."""

    def test_run(self):
        done = self.tacho("run", "-i", "0.1", "--upload-interval", "1", "-n", "job", "-o", "bq://project.data", "--", "sleep", "2.3", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        run, table = self.the_run()
        self.cloud.dataset = "data"
        rows = self.cloud.rows("samples")
        self.assertEqual([row["seq"] for row in rows], list(range(len(table.rows))))
        self.assertEqual({(row["run_id"], row["job_name"]) for row in rows}, {(run["id"], "job")})
        for row, line in zip(rows, table.rows):
            for name, text in line.items():
                if name != "timestamp":
                    self.assertEqual(text == "", name not in row, name)
                    self.assertTrue(text == "" or float(text) == row[name], (name, text, row.get(name)))
        kinds = {field["name"]: field["type"] for field in self.cloud.table("samples").fields}
        self.assertEqual((kinds["process_pid"], kinds["process_cpu_usage"], kinds["timestamp"]), ("INTEGER", "FLOAT", "TIMESTAMP"))
        self.assertEqual(glob.glob(self.path("state", "tacho", "spool", "2*")), [])

    def test_bigquery_is_down_until_later(self):
        self.cloud.fault({"status": 503, "body": ""}, "/bigquery/.*")
        done = self.tacho("run", "-i", "0.1", "-o", "bq://project.data.mine", "--", "sh", "-c", "exit 3", env=self.cloud.environment(TACHO_FINISH_TIMEOUT="2"))
        self.assertEqual(done.rc, 3, done)
        folder, = glob.glob(self.path("state", "tacho", "spool", "2*"))
        self.assertIn(folder, done.err)
        self.cloud.faults()
        self.assertEqual(self.tacho("deliver", "--all", env=self.cloud.environment()).rc, 0)
        self.cloud.dataset = "data"
        self.assertEqual(len(self.cloud.rows("mine")), len(self.the_run()[1].rows))

    def test_bad_weather_and_kills(self):
        """500s, quotas and lost answers at random; tacho and tacho-deliver killed at random: afterwards each row is there, once."""
        chance = random.Random(4)
        weather = [{"status": 500, "body": ""}, {"status": 403, "code": "rateLimitExceeded"}, {"reset": "answer"}, {"half_close": True}, {"reset": "start"},
                   {"do": {"rows": [{"index": 0, "reason": "backendError"}]}}]
        self.cloud.dataset = "data"
        for turn in range(4):
            self.cloud.faults(*({"match": {"path": ".*/insertAll", "nth": nth}, "action": chance.choice(weather)} for nth in range(1, 30) if chance.random() < 0.5))
            process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "-o", f"bq://project.data.t{turn}", "--", "sleep", "4",
                                 env=self.cloud.environment(TACHO_FINISH_TIMEOUT="1"))
            time.sleep(chance.uniform(1, 3))
            for name in chance.choice((["tacho"], ["tacho-deliver"], ["tacho", "tacho-deliver"])):
                self.kill_by_name(name)
            process.wait(30)
            self.end_marked()
        self.cloud.faults()
        done = self.tacho("deliver", "--all", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        local = []
        for folder in self.run_folders():
            with open(os.path.join(folder, "metrics.csv"), encoding="utf-8") as file:
                local.append(len(file.read().splitlines()) - 1)
        remote = [sorted(row["seq"] for row in self.cloud.rows(f"t{turn}")) for turn in range(4)]
        for seqs in remote:
            self.assertEqual(seqs, list(range(len(seqs))))
        # A row is in the spool first: a kill may come before the local file has it too.
        for there, here in zip(sorted(map(len, remote)), sorted(local)):
            self.assertIn(there - here, (0, 1))

    def kill_by_name(self, name):
        for pid in marked_pids(self.mark):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if file.read().strip() == name:
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def test_leftovers_go_with_the_next_start(self):
        spool = Spool(self.path("state", "tacho", "spool", "20261115T140000Z-1-00000000"), [[metrics_record(self.now_us, 0)]])
        job = 'for i in $(seq 1 300); do [ -e "$0" ] || exit 0; sleep 0.1; done'  # as long as it takes
        done = self.tacho("run", "-i", "0.1", "-o", "bq://project.data", "--", "sh", "-c", job, spool.folder, env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertFalse(os.path.exists(spool.folder))
        self.assertEqual(len(self.cloud.rows("metrics")), 1)

    def test_all_passes_over_runs_of_another_bigquery(self):
        """They are none of ours: no failure of --all, and nothing of them goes to our BigQuery, beside a run either."""
        for number, endpoint in enumerate(("http://127.0.0.1:9", "")):  # "": Google's own
            spool = Spool(self.path("state", "tacho", "spool", f"20261115T140000Z-1-0000000{number}"), [[metrics_record(self.now_us, 0)]], destination={"endpoint": endpoint})
            done = self.tacho("deliver", "--all", env=self.cloud.environment())
            self.assertEqual((done.rc, done.out), (0, "0 delivered, 0 left\n"), done)
            self.assertIn(endpoint or "bigquery.googleapis.com", done.err)
            self.assertIn("--bq-endpoint", done.err)
            done = self.tacho("run", "-i", "0.1", "-o", "bq://project.data", "--", "true", env=self.cloud.environment())
            self.assertEqual(done.rc, 0, done)
            done = self.tacho("deliver", spool.folder, env=self.cloud.environment())
            self.assertEqual((done.rc, done.out), (1, "0 delivered, 1 left\n"), done)
            self.assertTrue(os.path.exists(os.path.join(spool.folder, "000000.rec")))
            self.assertNotIn(self.cloud.name("metrics"), self.cloud.double.tables)

    def test_a_spool_in_memory_is_bounded(self):
        """18 MB of rows in /dev/shm while BigQuery refuses them: neighbours are merged, and nothing that was counted is lost."""
        root = tempfile.mkdtemp(dir="/dev/shm")
        self.addCleanup(shutil.rmtree, root)
        padding = "x" * 1_500_000
        segments = [[record("T", self.now_us + segment * 2_000_000 + row * 1_000_000,
                            {"timestamp": utc(self.now_us + segment * 2_000_000 + row * 1_000_000), "seq": 2 * segment + row, "job_name": padding, "system_utime": 1.5})
                     for row in range(2)] for segment in range(6)]
        spool = Spool(os.path.join(root, "20261115T140000Z-1-00000000"), segments, form="run", given={}, task={}, metrics={}, constant={"run_id": "r"},
                      destination={"tables": {"T": "samples"}, "endpoint": "http://" + self.cloud.host}, scope=["x", "r"],
                      columns=[column("timestamp", "TIMESTAMP", "REQUIRED"), column("run_id", "STRING", "REQUIRED"), column("seq", "INTEGER"), column("job_name", "STRING"),
                               column("system_utime", "FLOAT")])
        done = self.tacho("deliver", spool.folder, env=self.cloud.environment(), timeout=120)
        self.assertEqual(done.rc, 0, done)
        self.assertIn("the spool in memory is full", done.err)
        rows = self.cloud.rows("samples")
        self.assertTrue(8 <= len(rows) < 12, len(rows))
        self.assertEqual(sum(row["system_utime"] for row in rows), 18)
        self.assertEqual(max(row["seq"] for row in rows), 11)

    def test_wrong_destinations(self):
        for uri in ("bq://project", "bq://", "bq://project.a-b", "bq://p.d.t?what=1", "bq://p q.d"):
            with self.subTest(uri):
                self.refused(self.tacho("run", "-o", uri, "--", "true"), "bq://" if "?" not in uri else "what=1")

    def test_init(self):
        words = ("bq", "init", "--project", "project", "--dataset", Cloud.dataset, "--location", "EU")
        done = self.tacho(*words, env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.out.count(" made"), 3)
        self.assertEqual(self.cloud.table("metadata").partition, "start_time")
        inputs, = [field for field in self.cloud.table("metadata").fields if field["name"] == "inputs"]
        self.assertEqual([field["name"] for field in inputs["fields"]], ["key", "type", "value", "size_bytes"])
        done = self.tacho(*words, env=self.cloud.environment())
        self.assertEqual((done.rc, done.out.count("is there")), (0, 3), done)

    def test_init_dry_run(self):
        done = self.tacho("bq", "init", "--dry-run")
        self.assertEqual(done.rc, 0, done)
        tables = json.loads(done.out)
        self.assertEqual(tables["metrics"]["schema"]["fields"][:len(METRICS)], METRICS)
        self.assertEqual(list(tables), ["runtime", "metrics", "metadata"])

    def test_init_adds_columns(self):
        self.cloud.make_tables({"metrics": METRICS})
        done = self.tacho("bq", "init", "--project=project", f"--dataset={Cloud.dataset}", "--bq-add-columns", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.assertGreater(len(self.cloud.table("metrics").fields), len(METRICS))

    def test_init_refused(self):
        self.assertEqual(self.tacho("bq", "init", "--project", "p", env=self.cloud.environment()).rc, 2)
        self.assertEqual(self.tacho("bq", "init", "--nonsense").rc, 2)
        self.assertEqual(self.tacho("bq").rc, 2)
        self.use(may=["get", "create"])
        done = self.tacho("bq", "init", "--project", "p", "--dataset", "d", env=self.cloud.environment())
        self.assertEqual(done.rc, 1, done)
        self.assertIn("Access Denied", done.err)
