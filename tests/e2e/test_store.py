"""The run store: never torn, never lost, and never a reason to fail the job."""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from stored_runs import make_run
from support import IS_ROOT, SANITIZED, TACHO, Case, Table, burner, can, children_of, until


class Store(Case):
    def test_run_json(self):
        done, run, table = self.tracked("sh", "-c", "exit 3", rc=3)
        for key in ("id", "mode", "state", "command", "pid", "metadata", "host", "outcome", "method", "notes", "totals",
                    "statistics", "interval_s", "tacho_version", "working_directory"):
            self.assertIn(key, run)
        self.assertEqual(run["mode"], "run")
        self.assertEqual(run["state"], "failed")
        self.assertEqual(run["working_directory"], os.path.realpath(self.dir))
        self.assertEqual(run["outcome"]["exit_code"], 3)
        self.assertEqual(run["host"]["host_vcpus"], os.cpu_count())
        self.assertIn(run["method"]["cpu"], ("cgroup", "subreaper"))

    def test_while_running(self):
        process = self.spawn("run", "-q", "-i", "50ms", "--", "sleep", "30")
        self.assertTrue(until(self.run_folders))
        folder = self.run_folders()[0]
        self.assertTrue(until(lambda: os.path.exists(os.path.join(folder, "run.json"))))
        self.assertTrue(until(lambda: children_of(process.pid)))  # before that a signal starts no job and leaves no run
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual(run["state"], "running")
        self.assertIsNone(run["outcome"]["exit_code"])
        process.terminate()
        process.wait(30)
        self.assertEqual(self.the_run()[0]["state"], "failed")

    def test_what_the_end_of_a_quiet_run_costs(self):
        """Who started it waits for its end, and a store may have a hundred thousand runs."""
        if SANITIZED or not can("strace", "-V"):
            self.skipTest("no strace here")
        trace = self.path("trace")
        subprocess.run(["strace", "-qq", "-y", "-o", trace, "-e", "trace=getdents64,renameat2", TACHO, "run", "-q", "--", "true"],
                       env=self.environment(), check=True)
        calls = self.read(trace).splitlines()
        self.assertFalse([call for call in calls if call.startswith("getdents64") and f"<{self.store}>" in call])
        self.assertLessEqual(sum("run.json" in call for call in calls), 2, calls)  # once begun, once ended
        self.assertEqual(self.the_run()[0]["state"], "finished")

    def check_after_kill(self, folder, killed_at, interval_s):
        """run.json parses, every row but a torn last one is whole, and at most about one tick is missing."""
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        self.assertIn(run["state"], ("running", "finished", "failed"))
        if not os.path.exists(os.path.join(folder, "metrics.csv")):
            self.assertEqual(run["samples"], 0)  # killed before the first row
            return run, 0
        with open(os.path.join(folder, "metrics.csv"), encoding="utf-8") as file:
            text = file.read()
        whole = text[:text.rfind("\n") + 1]
        table = Table(whole)
        if not table.rows:
            return run, 0
        self.assertEqual(table.widths, {len(table.header)})
        # An order of magnitude: a loaded machine delays a tick, but ten intervals and a second are never lost.
        self.assertLess(killed_at - float(table.rows[-1]["timestamp"]), 1 + 10 * interval_s)
        self.assertLessEqual(run["samples"], len(table.rows))
        return run, len(table.rows)

    def kill_at_random(self, times, longest_s):
        chance = random.Random(20)
        rows = 0
        for _ in range(times):
            store = self.path(f"store-{_}")
            process = self.spawn("run", "-q", "-i", "10ms", "--store", store, "--", "sleep", "30", stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * longest_s)
            killed_at = time.time()
            process.kill()
            process.wait()
            self.end_marked()
            for folder in self.run_folders(store):
                if os.listdir(folder):
                    self.assertTrue(os.path.exists(os.path.join(folder, "run.json")), os.listdir(folder))
                    rows += self.check_after_kill(folder, killed_at, 0.01)[1]
        return rows

    def test_killed_soon(self):
        self.kill_at_random(25, 0.03)

    def test_killed_later(self):
        self.assertGreater(self.kill_at_random(12, 0.6), 10)

    def test_interrupted_is_shown(self):
        process = self.spawn("run", "-q", "-i", "20ms", "--", "sleep", "30")
        self.assertTrue(until(self.run_folders))
        time.sleep(0.5)
        process.kill()
        process.wait()
        self.end_marked()
        listed = self.tacho("runs", "--json")
        self.assertIn("interrupted", listed.out, listed)
        shown = json.loads(self.tacho("show", "last", "--json").out)
        self.assertEqual(shown["state"], "interrupted")
        self.assertGreater(shown["samples"], 2)
        self.assertIn("process_memory_mib", shown["statistics"])
        self.assertEqual(json.loads(listed.out)[0]["statistics"], shown["statistics"])  # also the rows behind run.json

    def test_full_disk(self):
        """The job itself fills the disk: one warning, the job goes on, and what is there can be read."""
        if not (IS_ROOT and can("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
            self.skipTest("cannot mount")
        os.mkdir(self.path("small"))
        script = ('mount -t tmpfs -o size=256k tmpfs "$1"; "$2" run -i 10ms --store "$1" -- sh -c '
                  '"sleep 0.2; cat /dev/zero > $1/fill 2> /dev/null; sleep 0.8; exit 5"; echo "status $?"; cat "$1"/*/run.json; echo; echo ----; cat "$1"/*/metrics.csv')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", self.path("small"), TACHO],
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              cwd=self.dir)
        self.assertTrue(done.stdout.startswith("status 5\n"), done)
        self.assertEqual(done.stderr.lower().count("no space left"), 1, done.stderr)
        text, csv = done.stdout.split("\n", 1)[1].split("----\n")
        info = json.loads(text)
        self.assertEqual([info["state"], info["outcome"]["state"], info["outcome"]["exit_code"]], ["failed", "failed", 5])
        self.assertEqual(len(Table(csv[:csv.rfind("\n") + 1]).widths), 1)

    def test_a_disk_that_is_full_from_the_start(self):
        """What is on the disk already still tells how the run ended, whenever the room was used up."""
        if not (IS_ROOT and can("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt")):
            self.skipTest("cannot mount a small file system")
        script = ('for size in 16 20 24 28 32 36 40; do mount -t tmpfs -o size=${size}k tmpfs "$1"; '
                  '"$2" run -q -i 50ms --store "$1/store" -- sh -c "sleep 0.2; exit 3"; cat "$1"/store/*/run.json; umount "$1"; done')
        done = self.tacho("-m", "sh", "-c", script, "sh", self.path(), self.command([])[0], program="unshare")
        decoder, text, runs = json.JSONDecoder(), done.out.strip(), []
        while text:
            run, end = decoder.raw_decode(text)
            text = text[end:].strip()
            runs.append(run)
        self.assertEqual([(run["outcome"]["state"], run["outcome"]["exit_code"]) for run in runs], [("failed", 3)] * 7, done.err)

    def test_full_output(self):
        """A full disk is bad weather, not a bad destination: one warning, and the job runs."""
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = self.tacho("run", "-i", "10ms", "-o", "/dev/full", "-f", "csv", "--", "sh", "-c", "sleep 0.3; exit 4")
        self.assertEqual(done.rc, 4, done)
        self.assertEqual(done.err.lower().count("no space left"), 1, done)
        self.assertGreater(len(self.the_run()[1].rows), 3)
        strict = self.tacho("run", "--strict", "-o", "/dev/full", "-f", "csv", "--", "true")
        self.assertEqual(strict.rc, 125, strict)

    def test_a_loss_is_said_however_quiet(self):
        """-q mutes no loss: one line for each place, and a note in run.json."""
        done, run, _ = self.tracked("sh", "-c", "sleep 0.3; exit 0", options=["-q", "-i", "20ms", "-o", "/dev/full", "-f", "csv"])
        self.assertEqual(done.err.count("/dev/full"), 1, done)
        self.assertEqual(len(done.err.splitlines()), 1, done)
        notes = [note for note in run["notes"] if "/dev/full" in note]
        self.assertEqual(len(notes), 1, run["notes"])
        self.assertIn("rows are missing", notes[0])

    def test_a_run_folder_that_somebody_swaps(self):
        """Where others may write to the store: a link in its place is not followed, and the run goes on in its own folder."""
        os.mkdir(self.path("victim"))
        for name in ("run.json", "metrics.csv"):
            self.write("victim/" + name, "precious\n")
        job = f"mv $TACHO_RUN {self.path('away')}; ln -s {self.path('victim')} $TACHO_RUN; sleep 0.4; exit 3"
        done = self.tacho("run", "-q", "-i", "50ms", "--", "sh", "-c", job)
        self.assertEqual(done.rc, 3, done)
        self.assertEqual(sorted(os.listdir(self.path("victim"))), ["metrics.csv", "run.json"])
        for name in ("run.json", "metrics.csv"):
            self.assertEqual(self.read("victim/" + name), "precious\n")
        run = json.loads(self.read("away/run.json"))
        self.assertEqual((run["state"], run["outcome"]["exit_code"]), ("failed", 3))
        self.assertGreater(len(self.read("away/metrics.csv").splitlines()), 4)

    def test_a_loss_at_the_end_is_in_the_notes(self):
        """A page is written when run.json is whole already."""
        os.mkdir(self.path("pages"))
        done, run, _ = self.tracked("sh", "-c", f"rm -r {self.path('pages')}; exit 3", options=["-q", "-o", self.path("pages", "x.html")], rc=3)
        self.assertEqual(done.err.count("x.html"), 1, done)
        self.assertEqual(sum("x.html" in note for note in run["notes"]), 1, run["notes"])
        self.assertEqual((run["state"], run["outcome"]["exit_code"]), ("failed", 3))

    @unittest.skipIf(SANITIZED, "a sanitizer's own writes may not fail")
    def test_each_write_that_fails_once_is_told_once(self):
        """The n-th write of all has no room, for each n: the job ends as it would, every place tells for itself, and says so in run.json."""
        if not can("strace", "-V"):
            self.skipTest("no strace here")
        trace, seen, ended = self.path("trace"), set(), False
        for number in range(1, 40):
            shutil.rmtree(self.store, ignore_errors=True)
            wrap = ["-qq", "-y", "-o", trace, "-e", "trace=write", "-e", f"inject=write:error=ENOSPC:when={number}", TACHO]
            done = self.tacho(*wrap, "run", "-q", "-i", "50ms", "-o", self.path("a.csv"), "-o", self.path("b.jsonl"), "-o", self.path("c.html"), "--", "sh", "-c",
                              "sleep 0.12; exit 7", program="strace")
            self.assertEqual(done.rc, 7, done)
            failed = re.search(r"write\(\d+<(?:.*/)([^/]+)>, (.*) = -1 ENOSPC.*INJECTED", self.read("trace"))
            if not failed:
                break
            name, text = failed.groups()
            is_whole = ".tmp" in name  # all of it, in the place of what is there
            name = name.split(".tmp")[0].lstrip(".")
            seen.add(name)
            run, _ = self.the_run()
            # What is tried again with the first line; and the page that says that the run goes on.
            is_header = (not is_whole and text.startswith(('"timestamp,system', '"timestamp,core', '"pid,'))) or (name == "c.html" and not ended)
            ended = ended or name == "c.html"
            where = "run store" if name == "metrics.csv" else name
            told = len(done.err.splitlines())
            self.assertEqual(sum(where in note for note in run["notes"]), told, (name, text, run["notes"], done))
            # The list of processes is written once more at the end, whole: then nothing is lost.
            self.assertIn(told, (0, 1) if name == "processes.csv" and not is_whole else (0,) if is_header else (1,), (name, text, done))
        self.assertLessEqual({"marks.csv", "processes.csv", "devices.csv", "metrics.csv", "a.csv", "b.jsonl", "c.html"}, seen)

    @unittest.skipIf(SANITIZED, "nothing to be seen of a sanitizer's own calls")
    def test_run_json_is_renewed_in_place(self):
        """Whatever columns are on by default, a row overwrites what changes and does not replace the file."""
        if not can("strace", "-V"):
            self.skipTest("no strace here")
        done = self.tacho("-qq", "-o", self.path("trace"), "-e", "trace=pwrite64,renameat2", TACHO, "run", "-q", "-i", "50ms", "--", "sleep", "0.9", program="strace")
        self.assertEqual(done.rc, 0, done)
        calls = [line.split("(")[0] for line in self.read("trace").splitlines()]
        run, table = self.the_run()
        self.assertGreater(calls.count("pwrite64") - calls.count("renameat2"), len(table.rows) // 2, calls)

    def test_a_store_that_is_not_there_is_said_however_quiet(self):
        done = self.tacho("run", "-q", "--", "true", env={"XDG_STATE_HOME": "/proc/no/such/place"})
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(done.err.count("run store"), 1, done)

    def test_read_only_default_store(self):
        """The store that nobody asked for cannot be made: one warning, and the job runs."""
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), 0o555)
        done = self.tacho("run", "--", "sh", "-c", "exit 4", user="nobody", env={"XDG_STATE_HOME": self.path("locked")})
        self.assertEqual(done.rc, 4, done)
        self.assertIn("store", done.err)

    def test_read_only_named_store(self):
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), 0o555)
        """A store that somebody named is an output: a bad one refuses the start."""
        self.refused(self.tacho("run", "--store", self.path("locked", "x"), "--", "true", user="nobody"), "locked")

    def test_store_removed_while_running(self):
        process = self.spawn("run", "-i", "20ms", "--", "sh", "-c", "sleep 0.7; exit 6")
        self.assertTrue(until(self.run_folders))
        time.sleep(0.2)
        subprocess.run(["rm", "-rf", self.store], check=True)
        self.assertEqual(process.wait(30), 6)

    def test_many_at_once(self):
        """Runs that start in the same second get folders of their own."""
        processes = [self.spawn("run", "-q", "--", "true") for _ in range(12)]
        self.assertEqual([process.wait(60) for process in processes], [0] * 12)
        self.assertEqual(len(self.run_folders()), 12)

    def test_signal_during_the_end(self):
        """TERM in the moment the job ends: the status is the job's or the signal's, and the run is closed."""
        for _ in range(8):
            store = self.path(f"end-{_}")
            process = self.spawn("run", "-q", "--store", store, "--", "sleep", "0.05")
            time.sleep(0.045 + _ * 0.002)
            try:
                process.send_signal(signal.SIGTERM)
            except ProcessLookupError:
                pass
            self.assertIn(process.wait(30), (0, 143, -15))
            for folder in self.run_folders(store):
                with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
                    json.load(file)

    def test_private(self):
        """What a job was called with may be nobody else's business."""
        self.tracked("true")
        folder = self.run_folders()[0]
        self.assertEqual(os.stat(folder).st_mode & 0o022, 0)

    def test_burner_totals(self):
        _, run, _ = self.tracked(burner("cpu"), "1", "200")
        self.assertGreaterEqual(run["totals"]["processes_seen"], 1)
        self.assertGreater(run["totals"]["memory_peak_bytes"], 1 << 18)


class Planted(Case):
    """In a store that several people write to anything may lie in a run's folder: no command waits for it or reads it without an end, and the other
    runs are there as ever."""
    COMMANDS = [["runs"], ["runs", "--json"], ["runs", "--job", "bad"], ["runs", "--failed"], ["show", "last~0"], ["show", "{bad}"], ["show", "{bad}", "--json"],
                ["show", "last:bad"], ["why", "{bad}"], ["why", "{bad}", "--json"], ["report", "{bad}", "-o", "page.html"], ["compare", "{bad}"],
                ["compare", "{bad}", "{good}"], ["advise", "{bad}"], ["advise", "--job", "bad"], ["top", "{bad}", "--once"], ["top", "{bad}", "--once", "--json"],
                ["export", "{bad}", "-f", "csv"], ["export", "{bad}", "-f", "jobstats"], ["prune", "--keep", "0", "--dry-run"], ["stop", "{bad}"], ["note", "{bad}", "x"],
                ["mark", "x"], ["query", "--no-cache", "SELECT count(*) FROM samples"], ["query", "--no-cache", "SELECT count(*) FROM processes"],
                ["docs", "run-names"], ["deliver", "{bad}"], ["rm", "{bad}"]]
    FILES = ("run.json", "metrics.csv", "processes.csv", "devices.csv", "marks.csv", "notes.txt")
    HEADS = {"run.json": "{", "metrics.csv": "timestamp,process_cpu_usage\n1,1\n2,1\n", "marks.csv": "timestamp,event,name\n1,phase,a\n",
             "processes.csv": "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,exit\n"}

    def plant(self, path, kind):
        if os.path.exists(path):
            os.unlink(path)
        if kind == "fifo":
            os.mkfifo(path, 0o600)
        elif kind == "socket":
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            here = os.open(os.path.dirname(path), os.O_PATH)
            listener.bind(f"/proc/self/fd/{here}/{os.path.basename(path)}")
            os.close(here)
        elif kind == "folder":
            os.mkdir(path)
        elif kind == "device":
            os.symlink("/dev/zero", path)
        elif kind == "link to a fifo":
            os.symlink(self.path("pipe"), path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.HEADS.get(os.path.basename(path), ""))
                file.truncate(1 << 40)

    def test_nothing_is_waited_for(self):
        os.mkfifo(self.path("pipe"))
        for file in self.FILES:
            for kind in ("fifo", "socket", "folder", "device", "link to a fifo", "hole"):
                store = self.path("store")
                good = os.path.basename(make_run(store, "20261115-00000000000a", job="good", ago_s=50))
                bad = make_run(store, "20261115-00000000000b", job="bad")
                self.plant(os.path.join(bad, file), kind)
                for words in self.COMMANDS:
                    with self.subTest(file=file, kind=kind, words=words):
                        words = [word.format(bad=os.path.basename(bad), good=good) for word in words]
                        done = self.tacho(*words, timeout=20, env={"TACHO_STORE": store, "TACHO_RUN": bad})
                        self.assertGreaterEqual(done.rc, 0, done)
                        if words == ["runs"]:
                            self.assertEqual(done.rc, 0, done)
                            self.assertIn(" good ", done.out)
                            self.assertIn(" bad " if file != "run.json" else os.path.join(bad, file), done.out + done.err)
                shutil.rmtree(store)

    def test_a_job_that_makes_one(self):
        """Also at the end of a run: the job's own folder is known to it."""
        for kind in ("fifo", "hole"):
            how = "mkfifo $TACHO_RUN/marks.csv" if kind == "fifo" else "truncate -s 1T $TACHO_RUN/marks.csv"
            done = self.tacho("run", "--", "sh", "-c", f"rm $TACHO_RUN/marks.csv; {how}; exit 3", timeout=20)
            self.assertEqual(done.rc, 3, done)
