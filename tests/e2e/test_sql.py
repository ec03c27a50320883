"""tacho query: SQL over the run store. Every run here is a real one, or its copy with the text of run.json changed."""
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from support import BUILD, SANITIZED, TACHO, Case, until

QUERY = os.path.join(BUILD, "bin", "tacho-query")
RUNS = ("run job_name project_name stage_name task_name team env language orchestrator executor external_run_id container_image command mode state exit_code signal "
        "oom_killed started finished seconds host vcpus cpu_s cpu_mean memory_peak_bytes io_read_bytes io_write_bytes gpu_mean gpu_memory_peak_bytes requested_cpus "
        "requested_memory_bytes requested_gpus samples verdict group folder json").split()
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


@unittest.skipUnless(os.path.exists(QUERY), "tacho-query is not built")
class Sql(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        self.store = self.path("store")

    def query(self, *words, store=None, **keywords):
        keywords.setdefault("env", {})
        keywords["env"] = {"XDG_CACHE_HOME": self.cache, **keywords["env"]}
        return self.tacho("query", "--store", store or self.store, *words, **keywords)

    def rows(self, sql, *words, **keywords):
        done = self.query("--json", sql, *words, **keywords)
        self.assertEqual(done.rc, 0, done)
        return json.loads(done.out)

    def value(self, sql, *words, **keywords):
        return list(self.rows(sql, *words, **keywords)[0].values())[0]

    def record(self, *options, command=("true",)):
        done = self.tacho("run", "-q", "--store", self.store, *options, "--", *command)
        return done.rc, max(pathlib.Path(self.store).iterdir(), key=lambda folder: folder.stat().st_mtime_ns).name

    def imagine(self, name, *changes, rows=None, seconds_ago=100):
        """A run folder whose run.json is this text."""
        folder = pathlib.Path(self.store, name)
        folder.mkdir(parents=True)
        text = json.dumps({"id": name, "mode": "run", "state": "finished", "outcome": {"state": "finished", "exit_code": 0}, **dict(changes)})
        (folder / "run.json").write_text(text)
        then = time.time() - seconds_ago
        os.utime(folder / "run.json", (then, then))
        if rows is not None:
            (folder / "metrics.csv").write_text(rows)
        return folder

    def database(self):
        found = list(pathlib.Path(self.cache, "tacho").glob("query-*.db"))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_a_run_as_a_row(self):
        _, name = self.record("--job-name", 'al"ign', "--team", "it's", "--tag", "k=v=w", "--tag", "n=1", "--request", "cpus=1500m,memory=1GiB",
                              command=("sh", "-c", "exit 3"))
        row = self.rows("SELECT * FROM runs")[0]
        self.assertEqual(list(row), RUNS)
        told = json.loads(self.tacho("show", name, "--json", "--store", self.store).out)
        self.assertEqual((row["run"], row["job_name"], row["team"], row["command"]), (name, 'al"ign', "it's", "sh -c exit 3"))
        self.assertEqual((row["state"], row["exit_code"], row["mode"], row["signal"]), ("failed", 3, "run", None))
        self.assertEqual((row["requested_cpus"], row["requested_memory_bytes"], row["requested_gpus"]), (1.5, 1 << 30, None))
        self.assertEqual(row["samples"], told["samples"])
        self.assertEqual(row["seconds"], told["outcome"]["duration_s"])
        self.assertEqual(json.loads(row["json"]), told)
        self.assertAlmostEqual(row["finished"] - row["started"], row["seconds"], delta=0.1)
        self.assertEqual(os.path.realpath(row["folder"]), os.path.realpath(os.path.join(self.store, name)))
        self.assertEqual(row["verdict"], json.loads(self.tacho("why", name, "--json", "--store", self.store).out)["verdict"])
        self.assertEqual(self.value("SELECT json ->> '$.outcome.exit_code' FROM runs"), 3)
        self.assertEqual(self.rows("SELECT * FROM tags ORDER BY key"), [{"run": name, "key": "k", "value": "v=w"}, {"run": name, "key": "n", "value": "1"}])
        self.assertEqual(self.rows(f"SELECT mean, max FROM columns WHERE run = '{name}' AND name = 'system_processes'")[0]["max"], told["statistics"]["system_processes"]["max"])
        self.assertEqual(self.value("SELECT unit FROM columns WHERE name = 'process_memory_mib'"), "MiB")

    def test_phases_and_processes(self):
        self.record(command=("sh", "-c", f"{TACHO} mark load; sleep 0.1; {TACHO} mark --end; sleep 0.05"))
        phases = self.rows("SELECT * FROM phases")
        self.assertEqual(list(phases[0]), "run name started ended seconds cpu_s cpu_mean memory_peak_mib disk_read_bytes disk_write_bytes gpu_mean".split())
        self.assertEqual(phases[0]["name"], "load")
        processes = self.rows("SELECT * FROM processes")
        self.assertEqual(list(processes[0]), ["run"] + ("pid ppid name command started ended count cpu_s peak_memory_mib disk_read_bytes disk_write_bytes gpu_vram_mib exit").split())
        self.assertIn("sh", [row["name"] for row in processes])

    def test_samples_are_the_rows_of_metrics_csv(self):
        names = [self.record("-i", "20ms", command=("sleep", "0.1"))[1] for _ in range(2)]
        with open(os.path.join(self.store, names[0], "metrics.csv"), encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        got = self.rows(f"SELECT * FROM samples WHERE run = '{names[0]}'")
        self.assertEqual(len(got), len(expected))
        documented = [line.split("`")[1] for line in self.tacho("docs", "metrics").out.splitlines() if line.startswith("| ") and line.split("|")[1].strip().isdigit()]
        self.assertEqual(list(got[0]), ["run"] + documented)
        for row, cells in zip(got, expected):
            for name in documented:
                cell = cells.get(name, "")
                self.assertEqual(row[name], None if cell == "" else float(cell), name)
        count = self.value("SELECT count(*) FROM samples")
        self.assertEqual(self.value(f"SELECT count(*) FROM samples WHERE run IN ('{names[0]}', '{names[1]}')"), count)

    @unittest.skipIf(SANITIZED, "LeakSanitizer does not work under strace")
    def test_samples_open_only_what_is_asked_for(self):
        for name in ("a", "b", "c"):
            self.imagine(name, rows="timestamp,system_load1\n1,0.5\n2,\n")
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        trace = self.path("trace")
        for sql, opened in (("run = 'b'", {"b"}), ("run IN ('a', 'c', 'nosuch')", {"a", "c"}), ("1", {"a", "b", "c"})):
            subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", trace, QUERY, "--store", self.store, f"SELECT sum(timestamp) FROM samples WHERE {sql}"],
                           stdout=subprocess.DEVNULL, check=True, env={**os.environ, "XDG_CACHE_HOME": self.cache}, timeout=60)
            text = pathlib.Path(trace).read_text(encoding="utf-8", errors="replace")
            self.assertEqual({name for name in "abc" if f"/{name}/metrics.csv" in text}, opened, sql)

    def test_formats(self):
        self.imagine('q"uo,te', ("metadata", {"job_name": "line\nend", "team": "é"}))
        done = self.query("--csv", "SELECT run, job_name, team, env, 1.5 AS x, 2.0 AS y, x'00ff' AS b FROM runs")
        self.assertEqual(list(csv.reader(io.StringIO(done.out))), [["run", "job_name", "team", "env", "x", "y", "b"], ['q"uo,te', "line\nend", "é", "", "1.5", "2.0", "00ff"]])
        self.assertEqual(self.rows("SELECT NULL AS n, 9e999 AS i, 'a\"b' AS t, 9007199254740993 AS w"), [{"n": None, "i": None, "t": 'a"b', "w": 9007199254740993}])
        done = self.query("--jsonl", "SELECT 1 AS a UNION SELECT 2")
        self.assertEqual([json.loads(line) for line in done.out.splitlines()], [{"a": 1}, {"a": 2}])
        self.assertEqual(self.query("--json", "SELECT 1 WHERE 0").out.split(), ["[]"])
        self.assertEqual(self.query("--jsonl", "SELECT 1 WHERE 0").out, "")
        table = self.query("SELECT run, job_name, 12 AS n FROM runs").out.splitlines()
        self.assertEqual(len(table), 2)
        self.assertEqual(table[0].split(), ["run", "job_name", "n"])
        self.assertIn("line end", table[1])

    def test_statements(self):
        self.imagine("a")
        self.assertEqual(self.value("SELECT 1; SELECT 2 AS x;\n-- the end\n"), 2)
        self.assertEqual(self.value("-", input="SELECT count(*)\nFROM runs"), 1)
        self.assertEqual(self.value('SELECT count(*) FROM runs WHERE "group" IS NULL'), 1)
        schema = self.query("--schema").out
        for table in ("runs", "tags", "columns", "phases", "processes", "samples"):
            self.assertIn(f"CREATE TABLE {table}(", schema)

    def test_usage(self):
        for words in ((), ("",), ("SELECT 1", "SELECT 2"), ("--nosuch", "SELECT 1"), ("--csv", "--json", "SELECT 1")):
            done = self.query(*words)
            self.assertEqual((done.rc, done.out), (125, ""), words)
        done = self.query("SELECT 1;\nSELECT nowhere FROM runs")
        self.assertEqual(done.rc, 1)
        self.assertIn("no such column: nowhere (at position 18, line 2, column 8: nowhere FROM runs)", done.err)
        self.assertEqual(len(done.err.splitlines()), 1)
        self.assertEqual(self.query("SELEC 1").rc, 1)

    def test_without_the_program(self):
        shutil.copy(TACHO, self.path("tacho"))
        done = self.tacho("query", "SELECT 1", program=self.path("tacho"))
        self.assertEqual(done.rc, 125, done)
        self.assertIn("tacho-query", done.err)
        self.assertEqual(len(done.err.splitlines()), 1)

    def test_nothing_is_written(self):
        folder = self.imagine("a", rows="timestamp\n1\n")
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)
        out = self.path("out.db")
        for sql in ("DROP TABLE runs", "DELETE FROM runs", "UPDATE runs SET team = 'x'", "INSERT INTO tags VALUES ('a', 'b', 'c')", "CREATE TABLE t(x)", "CREATE TEMP TABLE t(x)",
                    f"ATTACH '{out}' AS x", f"VACUUM INTO '{out}'", "VACUUM", "PRAGMA user_version", "PRAGMA journal_mode = WAL", "SELECT * FROM pragma_table_info('runs')",
                    "SELECT load_extension('/tmp/x.so')", "SELECT readfile('/etc/passwd')", f"SELECT writefile('{out}', 'x')", "BEGIN", "DELETE FROM samples",
                    "SELECT 1; DROP TABLE runs", "REPLACE INTO runs(run) VALUES (1)", "WITH x AS (SELECT 1) DELETE FROM runs", "EXPLAIN DROP TABLE runs"):
            done = self.query(sql)
            self.assertEqual((done.rc, done.out), (1, ""), (sql, done))
            self.assertIn("SQL error", done.err, sql)
        self.assertFalse(os.path.exists(out))
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)
        self.assertEqual((folder / "metrics.csv").read_text(), "timestamp\n1\n")
        self.assertEqual(self.value("SELECT tacho_run_json('../store/a')"), None)

    def test_what_is_no_plain_file_is_not_waited_for(self):
        self.imagine("a", rows="timestamp\n1\n")
        folder = self.imagine("b", ("state", "running"), ("outcome", {"state": "running"}))
        for name in ("metrics.csv", "processes.csv"):
            os.mkfifo(folder / name)
        self.assertEqual(self.rows("SELECT run, count(*) AS n FROM samples GROUP BY run", timeout=20), [{"run": "a", "n": 1}])
        self.assertEqual(len(self.rows("SELECT run, verdict FROM runs", timeout=20)), 2)
        self.assertEqual(self.value("SELECT count(*) FROM processes", timeout=20), 0)
        os.mkfifo(f"{self.cache}/tacho/{os.path.basename(self.database())}-journal")
        self.imagine("c")
        done = self.query("--csv", "SELECT count(*) FROM runs", timeout=20)
        self.assertEqual((done.rc, done.out), (0, "count(*)\n3\n"), done)
        self.assertIn("not a file of ours", done.err)

    def test_a_null_alone_is_a_line(self):
        self.assertEqual(self.query("--csv", "SELECT NULL AS x UNION ALL SELECT 1").out, 'x\n""\n1\n')

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (("--schema",), ("SELECT 1",)):
                process = self.spawn("query", *words, stdout=full, env={"XDG_CACHE_HOME": self.cache})
                self.assertIn("No space left", process.communicate(timeout=20)[1])
                self.assertEqual(process.returncode, 1)

    def test_ctrl_c(self):
        self.imagine("a")
        process = self.spawn("query", "--store", self.store, ENDLESS, env={"XDG_CACHE_HOME": self.cache})
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)

    def test_memory_is_bounded(self):
        done = self.query("SELECT length(group_concat(hex(zeroblob(1000000)))) FROM (" + ENDLESS.replace("count(*)", "x") + " LIMIT 1000)")
        self.assertEqual(done.rc, 1, done)
        self.assertEqual(len(done.err.splitlines()), 1)

    def test_the_cache_follows_the_store(self):
        folder = self.imagine("a", ("metadata", {"job_name": "one"}))
        self.imagine("b")
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 2)
        database = self.database()
        self.assertEqual(database.stat().st_mode & 0o777, 0o600)
        self.assertEqual(database.parent.stat().st_mode & 0o777, 0o700)
        inode = database.stat().st_ino
        self.assertEqual(self.value("SELECT job_name FROM runs WHERE run = 'a'"), "one")
        (folder / "run.json").write_text((folder / "run.json").read_text().replace("one", "two"))
        shutil.rmtree(os.path.join(self.store, "b"))
        self.imagine("c", ("metadata", {"tags": ["x=y"]}))
        self.assertEqual(self.rows("SELECT run, job_name FROM runs"), [{"run": "a", "job_name": "two"}, {"run": "c", "job_name": None}])
        self.assertEqual(self.value("SELECT run FROM tags"), "c")
        self.assertEqual(self.database().stat().st_ino, inode)
        self.assertEqual(self.value("SELECT count(*) FROM runs", store=self.path("elsewhere")), 0)
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 2)

    def test_no_cache(self):
        self.imagine("a")
        self.assertEqual(self.value("SELECT count(*) FROM runs", "--no-cache"), 1)
        self.assertFalse(os.path.exists(self.cache))
        blocked = self.write("blocked", "")
        done = self.query("--csv", "SELECT count(*) FROM runs", env={"XDG_CACHE_HOME": blocked})
        self.assertEqual((done.rc, done.out), (0, "count(*)\n1\n"), done)
        self.assertEqual(len(done.err.splitlines()), 1)

    def test_a_damaged_or_foreign_cache_is_made_anew(self):
        self.imagine("a")
        self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)
        database = self.database()
        good = database.read_bytes()

        def foreign():
            database.unlink()
            with sqlite3.connect(database) as other:
                other.execute("CREATE TABLE runs(run)")
            other.close()

        for damage in (lambda: database.write_bytes(b"no database"), lambda: database.write_bytes(b""), lambda: database.write_bytes(good[:5000]),
                       lambda: database.write_bytes(good[:4096] + b"\xff" * (len(good) - 4096)), foreign):
            damage()
            self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)
            self.assertEqual(self.value("SELECT count(*) FROM runs"), 1)

    def test_what_is_not_ours_is_left_alone(self):
        self.imagine("a")
        self.assertEqual(self.value("SELECT 1 FROM runs"), 1)
        database, victim = self.database(), pathlib.Path(self.write("victim", "precious"))
        database.unlink()
        database.symlink_to(victim)
        done = self.query("--csv", "SELECT count(*) FROM runs")
        self.assertEqual((done.rc, done.out), (0, "count(*)\n1\n"), done)
        self.assertEqual(len(done.err.splitlines()), 1)
        self.assertEqual(victim.read_text(), "precious")
        self.assertTrue(database.is_symlink())

    def test_two_at_once_on_a_cold_cache(self):
        for i in range(300):
            self.imagine(f"run{i}")
        env = {**os.environ, "XDG_CACHE_HOME": self.cache}
        for _ in range(3):
            processes = [subprocess.Popen([QUERY, "--store", self.store, "--csv", "SELECT count(*) FROM runs"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                         for _ in range(4)]
            for process in processes:
                out, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out, err), (0, "count(*)\n300\n", ""))
            self.assertEqual(os.listdir(os.path.join(self.cache, "tacho")), [self.database().name])
            self.database().unlink()

    def test_bad_runs(self):
        self.imagine("good")
        folder = self.imagine("torn")
        (folder / "run.json").write_text('{"id": "to')
        os.makedirs(os.path.join(self.store, "empty"))
        self.imagine("it's; DROP TABLE runs", rows="timestamp,system_load1\n5,1\n")
        self.imagine("newer", ("metadata", {"job_name": 7, "tags": "none"}), ("totals", {"memory_peak_bytes": "much"}), ("tacho_version", "99.0"), ("surprise", [[{}]]),
                     ("statistics", {"new_column": {"mean": 1, "p99": 2}, "broken": 5}))
        for _ in range(2):
            done = self.query("--jsonl", "SELECT run, job_name, memory_peak_bytes FROM runs ORDER BY run")
            self.assertEqual(done.rc, 0)
            self.assertEqual([json.loads(line)["run"] for line in done.out.splitlines()], ["good", "it's; DROP TABLE runs", "newer"])
            self.assertEqual(len(done.err.splitlines()), 1)
            self.assertIn("torn", done.err)
        self.assertEqual(self.value("SELECT mean FROM columns WHERE name = 'new_column'"), 1.0)
        self.assertEqual(self.value("SELECT s.timestamp FROM runs r JOIN samples s ON s.run = r.run"), 5)

    def test_a_run_that_goes_on_and_a_killed_one(self):
        process = self.spawn("run", "-q", "-i", "20ms", "--store", self.store, "--", "sleep", "30")
        self.assertTrue(until(lambda: self.rows("SELECT state FROM runs") == [{"state": "running"}]))
        self.assertTrue(until(lambda: self.value("SELECT count(*) FROM samples") > 2))
        self.assertEqual(self.rows("SELECT finished, exit_code FROM runs"), [{"finished": None, "exit_code": None}])
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: self.rows("SELECT state FROM runs") == [{"state": "interrupted"}]))
        self.end_marked()

    def test_a_run_that_is_removed_meanwhile(self):
        for i in range(20):
            self.imagine(f"run{i:02}", rows="timestamp\n" + "1\n" * 2000)
        process = self.spawn("query", "--store", self.store, "--jsonl", "SELECT run, timestamp FROM samples", env={"XDG_CACHE_HOME": self.cache}, stdout=subprocess.PIPE)
        process.stdout.readline()  # the pipe is full long before the last run
        shutil.rmtree(os.path.join(self.store, "run19"))
        process.stdout.read()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.value("SELECT count(DISTINCT run) FROM samples"), 19)

    def test_groups(self):
        job = {"scheduler": "slurm", "cluster": "test", "id": "4711_3", "restart": 0}
        self.imagine("a", ("job", job))
        self.imagine("b", ("job", {**job, "restart": 1}))
        self.assertEqual(self.rows('SELECT run, "group" FROM runs'), [{"run": "a", "group": "slurm:4711_3"}, {"run": "b", "group": "slurm:4711_3.r1"}])


if __name__ == "__main__":
    unittest.main()
