"""compare, runs, prune, rm, note, advise, config and what tacho answers to a mistake: each row of their tables."""
import ctypes
import fcntl
import json
import os
import re
import pty
import struct
import subprocess
import termios
import unicodedata

from stored_runs import make_run
from support import Case, until

DAY = 86400


def wide(text):
    """Columns of a terminal."""
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


class Opened:
    """Counts how often files are opened."""
    IN_OPEN = 0x20
    EVENT_BYTES = 16

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0, os.strerror(ctypes.get_errno())

    def add(self, path):
        assert self.libc.inotify_add_watch(self.fd, path.encode(), self.IN_OPEN) >= 0, os.strerror(ctypes.get_errno())

    def count(self):
        try:
            return len(os.read(self.fd, 1 << 16)) // self.EVENT_BYTES
        except BlockingIOError:
            return 0

    def close(self):
        os.close(self.fd)


class Commands(Case):
    def make(self, digit, **more):
        return make_run(self.store, f"20261115-00000000000{digit}", **more)

    def on_terminal(self, *words, columns=80, typed=b"", env=None):
        """tacho WORDS with a terminal for all three streams; (status, what it printed)."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = self.spawn(*words, stdin=follower, stdout=follower, stderr=follower, text=False, env={"TERM": "dumb", **(env or {})})
        os.close(follower)
        os.write(leader, typed)
        out = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(leader)
        return process.wait(30), out.decode().replace("\r\n", "\n")

    def test_fail_if(self):
        """3 when a condition holds for any B, 125 for what cannot be asked, and 125 before 3."""
        self.make(1, seconds=100, peak_bytes=1 << 30)
        self.make(2, seconds=100, peak_bytes=1 << 30, ago_s=5)
        self.make(3, seconds=130, peak_bytes=3 << 29, ago_s=9)
        runs = ["000000000001", "000000000002", "000000000003"]
        for conditions, wanted in ((["time > +10%"], 3), (["time > +40%"], 0), (["memory_peak > 1.2GiB"], 3), (["cpu_mean > 1.6"], 0),
                                   (["time < -5%"], 0), (["time >= +0%"], 3), (["process_memory_mib.max > 700"], 3),
                                   (["time > +40%", "memory_peak > +10%"], 3), (["time > 2GiB"], 125), (["tiem > 1s"], 125),
                                   (["gpu_memory_peak > 1"], 125), (["time > +10%", "nosuch.max > 1"], 125), (["time"], 125), ([""], 125)):
            for more in ([], ["--json"], ["--markdown"]):
                with self.subTest(conditions=conditions, more=more):
                    done = self.tacho("compare", *runs, *more, *[word for text in conditions for word in ("--fail-if", text)])
                    self.assertEqual(done.rc, wanted, done)
                    if wanted == 3:
                        self.assertIn("holds for", done.err)
        compared = json.loads(self.tacho("compare", *runs, "--json").out)
        names = {metric["name"] for metric in compared["metrics"]}
        self.assertLessEqual({"time", "cpu_mean", "cpu_time", "memory_peak"}, names)
        self.assertEqual(self.tacho("compare", *runs, "--json", "--markdown").rc, 125)

    def test_compare_with_the_run_before(self):
        self.make(1, job="train", ago_s=500)
        self.make(2, job="other", ago_s=400)
        self.make(3, job="train", ago_s=300)
        self.make(4, command=("make", "-j8"), ago_s=200)
        self.make(5, command=("make",), ago_s=100)
        for name, wanted in (("last:train", "13"), ("train", "13"), ("last", None), ("other", None)):
            with self.subTest(name):
                done = self.tacho("compare", name, "--json")
                self.assertEqual(done.rc, 0 if wanted else 125, done)
                if wanted:
                    self.assertEqual("".join(run["id"][-1] for run in json.loads(done.out)["runs"]), wanted)
        self.make(6, command=("make", "-j8"), ago_s=50)
        self.assertEqual([run["id"][-1] for run in json.loads(self.tacho("compare", "last", "--json").out)["runs"]], ["4", "6"])
        text = self.tacho("compare", "train", "--markdown").out
        self.assertTrue(text.startswith("<!-- tacho:compare train -->\n|"), text)

    def test_tables_fit_the_terminal(self):
        for digit in range(1, 8):
            self.make(digit, job="job" * 10, command=["x" * 400, "ü" * 50], ago_s=digit)
        for columns in (20, 40, 60, 80, 132):
            for words in (["compare", "last", "last~1"], ["compare", *[f"last~{i}" for i in range(7)]], ["runs"], ["config"]):
                with self.subTest(columns=columns, words=words[0]):
                    status, out = self.on_terminal(*words, columns=columns)
                    self.assertEqual(status, 0, out)
                    self.assertLessEqual(max(len(line) for line in out.splitlines()), columns, out)
                    if words[0] != "config":
                        self.assertIn("…", out)
        self.assertLess(max(len(line) for line in self.tacho("compare", "last", "last~1").out.splitlines()), 120)
        for words in (["show", "last"], ["advise", "last"], ["why", "last"], ["doctor", "--no-store"]):
            status, out = self.on_terminal(*words, columns=60)
            longest = [line for line in out.splitlines() if len(line) > 60 and " " in line.strip()]
            self.assertFalse([line for line in longest if not re.search(r"/|x{40}|^tacho: ", line)], out)

    def test_ids_are_whole_and_wide_characters_count_as_two(self):
        names = ["a-job-name-of-more-than-eleven", "日本語のジョブの名前はもっと長い", "👩🚀 rocket", "ne\u0301e\u0301"]
        for digit, name in enumerate(names, 1):
            self.make(digit, job=name, command=["python3", name * 3], ago_s=digit, phases=[
                {"name": name * 3, "started": 0, "ended": 5, "seconds": 5, "cpu_s": 1, "cpu_mean": 1, "memory_peak_mib": 5}])
        for columns in (20, 40, 60, 80, 100, 250):
            status, out = self.on_terminal("runs", columns=columns)
            self.assertEqual(status, 0, out)
            lines = out.splitlines()
            self.assertEqual([line[:18] for line in lines[1:]], [f"20261115-00000000000{digit}"[:18] for digit in range(1, 5)], out)
            for line in lines:
                self.assertLessEqual(wide(line), columns, out)
            whens = {wide(line[:line.index("ok  ")]) for line in lines[1:] if "ok  " in line}
            self.assertLessEqual(len(whens), 1, out)
            status, out = self.on_terminal("show", "last~3", columns=columns)
            table = out.split("\n\n")[1].splitlines()
            self.assertLessEqual(max(map(wide, table)), columns, out)
            if columns == 250:
                self.assertIn(names[3] * 3, out)
        self.assertIn(names[0] * 3, self.tacho("show", "last~0").out)
        status, out = self.on_terminal("runs", columns=80)
        for words in ("a-j", "日", "👩", "pyth"):
            self.assertIn(words, out)

    def test_runs(self):
        self.make(1, job="train", ago_s=10 * DAY)
        self.make(2, job="train", ago_s=3 * DAY, state="failed", exit_code=1)
        self.make(3, job="eval", ago_s=2 * DAY)
        self.make(4, ago_s=3600, mode="attach", pid=77, process_name="postgres", command=[])
        for words, wanted in (([], "4321"), (["--job", "train"], "21"), (["--since", "5d"], "432"), (["--since", "2h"], "4"), (["--failed"], "2"),
                              (["--limit", "2"], "43"), (["--job", "train", "--limit", "1"], "2"), (["--job", "train", "--since", "5d", "--failed"], "2"),
                              (["--job", "nosuch"], ""), (["--failed", "--since", "1d"], "")):
            with self.subTest(words):
                done = self.tacho("runs", "--json", *words)
                self.assertEqual(done.rc, 0, done)
                self.assertEqual("".join(run["id"][-1] for run in json.loads(done.out)), wanted)
                self.assertEqual(self.tacho("runs", *words).rc, 0)
        text = self.tacho("runs", env={"TZ": "Europe/Berlin"}).out
        self.assertRegex(text, r"postgres \(pid 77\)")
        self.assertRegex(text, r"train +exit 1 +\d{4}-\d\d-\d\d \d\d:\d\d CES?T +1m40s +1\.5 +1 GiB")
        for words in (["--limit", "0"], ["--limit", "x"], ["--since", "soon"], ["--since", "-1d"], ["train"]):
            self.assertEqual(self.tacho("runs", *words).rc, 125, words)

    def test_attached_runs_have_a_name(self):
        job = subprocess.Popen(["sleep", "0.5"], env=self.environment())
        self.assertEqual(self.tacho("attach", "-q", "-i", "50ms", "--pid", str(job.pid)).rc, 0)
        job.wait()
        self.assertEqual(self.the_run()[0]["process_name"], "sleep")
        self.assertIn(f"sleep (pid {job.pid})", self.tacho("runs").out)

    def test_an_unreadable_store_is_an_error(self):
        self.assertEqual(self.tacho("runs").rc, 0)
        self.write("file", "x")
        for words in (["runs"], ["show", "last"], ["prune", "--keep", "1", "--yes"], ["advise", "--job", "x"], ["compare", "last"]):
            done = self.tacho(*words, env={"TACHO_STORE": self.path("file")})
            self.assertEqual(done.rc, 125, done)
            self.assertIn("cannot read the run store", done.err)

    def test_one_run_is_found_without_reading_the_others(self):
        watch = Opened()
        self.addCleanup(watch.close)
        for i in range(30):
            watch.add(make_run(self.store, f"20261114-0000000000{i:02}", job="old", ago_s=DAY + i) + "/run.json")
        newest = os.path.basename(make_run(self.store, "20261115-aabbccddeeff", job="new"))
        for name in ("last", newest, newest[:13], self.store + "/" + newest, "last~0", "last:new"):
            for command in (["show"], ["report", "-o", self.path("r.html")]):
                self.assertEqual(self.tacho(*command, name).rc, 0, name)
                self.assertEqual(watch.count(), 0, name)
        self.assertEqual(self.tacho("runs").rc, 0)
        self.assertEqual(watch.count(), 30)

    def test_what_is_no_plain_file_is_not_waited_for(self):
        """Planted in a store that is shared, for each file of a run by itself."""
        good = os.path.basename(make_run(self.store, "20261115-aabbccddeeff", job="new"))
        for number, name in enumerate(("run.json", "metrics.csv", "processes.csv", "devices.csv", "marks.csv", "notes.txt")):
            folder = make_run(self.store, f"20261115-0000000000{number:02}", job="old", ago_s=60 + number)
            if os.path.exists(f"{folder}/{name}"):
                os.unlink(f"{folder}/{name}")
            os.mkfifo(f"{folder}/{name}")
        for words in (["runs"], ["runs", "--json"], ["show", "last:old"], ["show", "last~3"], ["compare", "last", "last~1"], ["advise", "--job", "old"],
                      ["report", "last", "last~1", "last~2", "-o", self.path("r.html")], ["why", "last:old"], ["prune", "--dry-run", "--keep", "1"]):
            done = self.tacho(*words, timeout=20)
            self.assertIn(done.rc, (0, 1, 125), (words, done))
        self.assertIn(good, self.tacho("runs", "--json", timeout=20).out)
        for number in range(6):
            for words in (["show"], ["show", "--json"], ["report", "-o", self.path("r.html")], ["export", "-f", "csv"], ["export", "-f", "nextflow"], ["rm", "--yes"]):
                self.assertIn(self.tacho(*words, f"20261115-0000000000{number:02}", timeout=20).rc, (0, 1, 125), (words, number))
            self.assertTrue(os.path.isdir(f"{self.store}/20261115-0000000000{number:02}"))

    def left(self):
        return "".join(sorted(name[-1] for name in os.listdir(self.store)))

    def test_prune(self):
        def fill():
            for digit, (job, ago) in enumerate((("a", 40), ("b", 30), ("a", 20), ("b", 10), ("a", 1)), 1):
                if not os.path.exists(f"{self.store}/20261115-00000000000{digit}"):
                    self.make(digit, job=job, ago_s=ago * DAY)
        fill()
        for words in ([], ["--yes"], ["--dry-run"], ["--older", "soon"], ["--keep", "-1"], ["--keep", "x"], ["--keep", "1", "last"]):
            self.assertEqual(self.tacho("prune", *words).rc, 125, words)
        done = self.tacho("prune", "--older", "15d")  # nobody to ask
        self.assertEqual(done.rc, 125, done)
        self.assertIn("--yes", done.err)
        done = self.tacho("prune", "--older", "15d", "--dry-run")
        self.assertEqual(done.rc, 0, done)
        self.assertRegex(done.out, r"would remove 3 runs, .* \(\d+ bytes\)")
        self.assertEqual(self.left(), "12345")
        for words, wanted in ((["--older", "15d"], "45"), (["--keep", "2"], "45"), (["--job", "a"], "24"), (["--job", "a", "--keep", "1"], "245"),
                              (["--older", "15d", "--keep", "4"], "2345"), (["--older", "15d", "--job", "b"], "1345"), (["--older", "25d", "--job", "a", "--keep", "0"], "2345"),
                              (["--keep", "0"], ""), (["--older", "100d"], "12345"), (["--job", "nosuch"], "12345"), (["--older", "5ms"], "")):
            with self.subTest(words):
                fill()
                before = json.loads(self.tacho("prune", *words, "--dry-run", "--json").out)
                done = self.tacho("prune", *words, "--yes", "--json")
                self.assertEqual(done.rc, 0, done)
                self.assertEqual(self.left(), wanted)
                self.assertEqual(json.loads(done.out)["runs"], before["runs"])

    def test_prune_asks_on_a_terminal(self):
        self.make(1)
        self.make(2, ago_s=10)
        for typed, wanted in ((b"n\n", "12"), (b"\n", "12"), (b"y\n", "1")):
            status, out = self.on_terminal("prune", "--keep", "1", typed=typed)
            self.assertEqual((status, self.left()), (0, wanted), out)
            self.assertIn("[y/N]", out)

    def test_prune_keeps_what_goes_on_and_what_is_not_delivered(self):
        job = self.spawn("run", "-q", "-i", "50ms", "-n", "live", "--", "cat", stdin=subprocess.PIPE)
        self.assertTrue(until(lambda: os.path.exists(self.run_folders()[0] + "/metrics.csv")))
        live = os.path.basename(self.run_folders()[0])
        for digit in (1, 2, 3):
            self.make(digit, ago_s=DAY)
        spool = self.path("state", "tacho", "spool")
        for name, meta in (("20261115T140000Z-123-0a1b2c3d", {"run": "20261115-000000000001"}),
                           ("20261115T140000Z-124-0a1b2c3d", {"run": "x", "store_folder": self.store + "/20261115-000000000002"})):
            os.makedirs(os.path.join(spool, name), mode=0o700)
            with open(os.path.join(spool, name, "meta.json"), "w", encoding="utf-8") as file:
                json.dump(meta, file)
        for folder in (self.path("state"), self.path("state", "tacho"), spool):
            os.chmod(folder, 0o700)
        done = self.tacho("prune", "--keep", "0", "--yes")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(sorted(os.listdir(self.store)), sorted([live, "20261115-000000000001", "20261115-000000000002"]))
        self.assertIn("goes on", done.out)
        self.assertIn("not delivered", done.out)
        for name in ("live", "000000000001"):
            done = self.tacho("rm", name)
            self.assertEqual(done.rc, 125, done)
        self.assertEqual(len(self.run_folders()), 3)
        job.stdin.close()
        self.assertEqual(job.wait(30), 0)
        self.assertEqual(self.tacho("rm", "live").rc, 0)
        self.assertEqual(len(self.run_folders()), 2)

    def test_removal_leaves_what_is_not_ours(self):
        folder = self.make(1)
        self.write("precious", "x")
        os.symlink(self.path("precious"), folder + "/devices.csv")
        with open(folder + "/model.bin", "w", encoding="utf-8") as file:
            file.write("mine")
        done = self.tacho("rm", "000000000001")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(sorted(os.listdir(folder)), ["devices.csv", "model.bin"])
        self.assertEqual(self.read("precious"), "x")
        self.assertIn("model.bin", done.err)
        outside = make_run(self.path("elsewhere"), "20261115-00000000000e")
        self.assertEqual(self.tacho("rm", outside).rc, 125)
        self.assertTrue(os.path.exists(outside + "/run.json"))
        for words in ([], ["nosuch"], ["2026"]):
            self.assertEqual(self.tacho("rm", *words).rc, 125)

    def test_note_show_and_path(self):
        folder = self.make(1, job="train", metadata={"job_name": "train", "team": "vision", "tags": ["a=1", "b=2"]})
        self.assertEqual(self.tacho("note", "train", "new", "compiler").rc, 0)
        self.assertEqual(self.tacho("note", "last", "second\x1b[31m").rc, 0)
        text = self.tacho("show", "last").out
        for word in ("team       vision", "tags       a=1, b=2", "folder     /data", "note       new compiler", "note       second [31m", "peak 1 of 32 GiB"):
            self.assertIn(word, text)
        self.assertEqual(json.loads(self.tacho("show", "last", "--json").out)["notes"], ["new compiler", "second [31m"])
        self.assertEqual(self.tacho("show", "train", "--path").out, folder + "\n")
        for words in ([], ["last"], ["nosuch", "x"], ["last", " "]):
            self.assertEqual(self.tacho("note", *words).rc, 125, words)
        self.assertEqual(self.tacho("rm", "last").rc, 0)
        self.assertEqual(self.run_folders(), [])

    def test_report_open(self):
        self.make(1)
        os.mkdir(self.path("bin"))
        self.write("bin/xdg-open", f"#!/bin/sh\necho \"$1\" > {self.path('opened')}\n", 0o755)
        env = {"PATH": self.path("bin") + ":/usr/bin:/bin", "BROWSER": None}
        self.assertEqual(self.tacho("report", "last", "-o", self.path("r.html"), "--open", env=env).rc, 0)
        self.assertEqual(until(lambda: self.read("opened")), self.path("r.html") + "\n")
        done = self.tacho("report", "last", "-o", self.path("r.html"), "--open", env={"PATH": self.path("nothing")})
        self.assertEqual(done.rc, 0)
        self.assertIn("file://" + self.path("r.html"), done.err)
        self.assertEqual(self.tacho("report", "last", "-o", "-", "--open").rc, 125)
