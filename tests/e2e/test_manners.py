"""The job gets exactly what tacho got, and what it does with its streams is its own business."""
import json
import os
import socket
import subprocess
import sys

import fake_gpus
from support import TACHO, Case, burner, marked_pids, process_state, until

# Sets an unusual state, then becomes the program: what a job inherits must survive all of it.
UNUSUAL = """
import os, resource, signal, sys
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGWINCH, signal.SIGCHLD})
os.umask(0o027)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.nice(3)
fd = os.open("/dev/null", os.O_RDWR); os.dup2(fd, 7, inheritable=True); os.close(fd)
os.chdir(sys.argv[1])
os.execv(sys.argv[2], sys.argv[2:])
"""

# A container whose PID 1 never reaps what it did not start: orphans come here and stay as zombies. Prints those that did.
NO_INIT = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
rc = subprocess.run(sys.argv[1:]).returncode
for _ in range(int(os.environ.get("LOOKS", "1"))):
    left = []
    for name in os.listdir("/proc"):
        try:
            fields = name.isdigit() and open(f"/proc/{name}/stat").read()
            if fields and int(fields.rsplit(")", 1)[1].split()[1]) == os.getpid(): left.append(fields[:60])
        except OSError: pass
    time.sleep(0.2)
print("left", left, rc)
"""


class Manners(Case):
    def inherited(self, *words, unusual=True, env=None):
        """What burn_inherit prints, started by WORDS."""
        command = list(words) + [burner("inherit"), "one", "two words", ""]
        if unusual:
            command = [sys.executable, "-c", UNUSUAL, self.dir] + command
        with open(self.path("out"), "w", encoding="utf-8") as out, open(self.path("err"), "w", encoding="utf-8") as err:
            subprocess.run(command, env=self.environment(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                           timeout=60, check=True, cwd=self.dir)
        state = json.loads(self.read("out"))
        del state["ppid"]
        # Of a run with a store the job is told its folder, and nothing else is new.
        told = [entry for entry in state["env"] if entry.startswith("TACHO_RUN=")]
        self.assertEqual(len(told), 1 if words else 0)
        state["env"] = [entry for entry in state["env"] if entry not in told]
        return state

    def test_inherits_exactly(self):
        for unusual in (True, False):
            plain = self.inherited(unusual=unusual)
            for words in (["run", "-q"], ["run", "-q", "-i", "10ms", "--method", "tree"],
                          ["run", "-q", "-o", self.path("o.csv"), "-o", self.path("o.jsonl")]):
                with self.subTest(unusual=unusual, words=words):
                    self.assertEqual(self.inherited(TACHO, *words, "--", unusual=unusual), plain)

    def test_secrets_are_removed(self):
        secrets = {"SENTINEL_API_TOKEN": "s3cret", "SENTINEL_API_KEY": "s3cret-too", "SENTINEL_API_URL": "http://127.0.0.1:1",
                   "TACHO_FINISH_TIMEOUT": "1"}
        plain = self.inherited(env=secrets)
        tracked = self.inherited(TACHO, "run", "-q", "--", env=secrets)
        self.assertIn("SENTINEL_API_TOKEN=s3cret", plain["env"])
        kept = [entry for entry in plain["env"] if not entry.startswith(("SENTINEL_API_TOKEN=", "SENTINEL_API_KEY="))]
        self.assertEqual(tracked["env"], kept)
        for folder, _, files in os.walk(self.path("state")):
            for name in files:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.assertNotIn("s3cret", file.read())

    def test_stdin_and_stdout(self):
        data = os.urandom(3_000_000)
        done = self.tacho("run", "-q", "--", "cat", input=data, text=False)
        self.assertEqual(done.rc, 0)
        self.assertTrue(done.out == data)

    def test_stderr_is_the_jobs(self):
        done = self.tacho("run", "-q", "--", "sh", "-c", "echo to-err >&2; echo to-out")
        self.assertEqual((done.out, done.err), ("to-out\n", "to-err\n"))

    def test_summary_comes_after_the_job(self):
        done = self.tacho("run", "--", "sh", "-c", "echo mine >&2")
        self.assertEqual(done.err.splitlines()[0], "mine")
        self.assertIn("tacho: ok", done.err.splitlines()[1])

    def test_stdin_end(self):
        self.assertEqual(self.tacho("run", "-q", "--", "cat").out, "")

    def test_no_standard_descriptors(self):
        done = subprocess.run(["sh", "-c", f'exec "{TACHO}" run -i 10ms -- sh -c "sleep 0.1; exit 5" <&- >&- 2>&-'],
                              env=self.environment(), timeout=60, cwd=self.dir)
        self.assertEqual(done.returncode, 5)
        run, table = self.the_run()
        self.assertEqual(run["outcome"]["exit_code"], 5)
        self.assertTrue(table.text.startswith("timestamp,"))

    def test_closed_descriptors_are_nobodys(self):
        """What tacho opens must not take the places of closed descriptors: its messages would land in those files, and what it
        writes there in the job's. Every combination; the job sees them closed, as it would without tacho."""
        show = 'import os, sys; open(sys.argv[1], "w").write(" ".join(sorted(os.listdir("/proc/self/fd"))))'
        for closed in range(1, 8):
            shut = "".join(f" {n}{'<' if n == 0 else '>'}&-" for n in range(3) if closed >> n & 1)
            with self.subTest(closed=shut):
                folder = self.path(f"c{closed}")
                os.mkdir(folder)
                for name, prefix in (("plain", ""), ("tracked", f'"{TACHO}" run -v -i 10ms -o {folder}/rows.csv --')):
                    script = f"exec {prefix} {sys.executable} -c '{show}' {folder}/{name}{shut}"
                    subprocess.run(["sh", "-c", script], env=self.environment(), timeout=60, cwd=folder, check=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertEqual(self.read(f"c{closed}/tracked"), self.read(f"c{closed}/plain"))
                lines = self.read(f"c{closed}/rows.csv").splitlines()
                self.assertTrue(lines[0].startswith("timestamp,"))
                self.assertEqual({line.count(",") for line in lines}, {lines[0].count(",")}, lines)
        for folder in self.run_folders():
            with open(folder + "/metrics.csv", encoding="utf-8") as file:
                self.assertNotIn("tacho:", file.read())

    def test_closed_stdout_of_a_listing_is_an_error(self):
        done = subprocess.run(["sh", "-c", f'"{TACHO}" list metrics >&-'], env=self.environment(), timeout=60, cwd=self.dir,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done)

    def test_rows_for_a_closed_stdout_refuse_the_start(self):
        """-o - where stdout is closed, or open for reading only: said before the job starts, with what to do instead."""
        for shut in (">&-", "1</dev/null"):
            for words in ("", "-f json", "-q", f"-o {self.path('rows.csv')}"):
                with self.subTest(shut=shut, words=words):
                    done = subprocess.run(["sh", "-c", f'exec "{TACHO}" run {words} -o - -- touch started {shut}'], env=self.environment(),
                                          timeout=60, cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    self.assertEqual(done.returncode, 125, done)
                    self.assertIn("-o metrics.csv", done.stderr)
                    self.assertFalse(os.path.exists(self.path("started")))
        self.assertEqual(self.run_folders(), [])

    def no_init(self, *words, env=None, looks=1):
        done = subprocess.run([sys.executable, "-c", NO_INIT] + list(words), env=self.environment({**(env or {}), "LOOKS": str(looks)}),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, cwd=self.dir)
        return done.stdout.splitlines()[-1], done.stderr

    def test_no_defunct_gpu_reader(self):
        env = fake_gpus.machine(self, "device util=50 total=1000000 used=1000")
        for job, rc in (("sleep 0.4", 0), ("sleep 0.2; kill -9 $$", -9)):
            left, err = self.no_init(TACHO, "run", "-q", "-i", "50ms", "--", "sh", "-c", job, env=env)
            self.assertEqual(left, f"left [] {rc}", err)

    def test_no_defunct_deliverer(self):
        """A service that takes the request and never answers: it is in the middle of it when tacho stops waiting."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            env = {"SENTINEL_API_TOKEN": "token", "SENTINEL_API_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
                   "TACHO_FINISH_TIMEOUT": "0", "TACHO_SPOOL_DIR": self.path("spool")}
            left, err = self.no_init(TACHO, "run", "-q", "-i", "50ms", "--", "sleep", "0.5", env=env, looks=8)
        self.assertEqual(left, "left [] 0", err)

    def test_reader_goes_away(self):
        done = subprocess.run(["bash", "-c", f'"{TACHO}" run -q -- yes | head -1; echo ${{PIPESTATUS[0]}}'],
                              env=self.environment(), stdout=subprocess.PIPE, text=True, timeout=60, cwd=self.dir)
        self.assertEqual(done.stdout, "y\n141\n")

    def test_own_pipe_breaks(self):
        """The reader of tacho's rows goes: one warning, and the job ends with its own status."""
        done = subprocess.run(["bash", "-c", f'"{TACHO}" run -i 10ms -o - -f csv -- sh -c "sleep 0.5; exit 3" | head -1;'
                               'echo ${PIPESTATUS[0]}'], env=self.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, cwd=self.dir)
        self.assertTrue(done.stdout.startswith("timestamp,"), done)
        self.assertTrue(done.stdout.endswith("\n3\n"), done)
        self.assertLessEqual(done.stderr.lower().count("broken pipe"), 1, done)
        self.assertEqual(self.the_run()[0]["outcome"]["exit_code"], 3)

    def test_survives_the_death_of_tacho(self):
        process = self.spawn("run", "-i", "10ms", "--", "sh", "-c", f"sleep 1; echo alive > {self.path('file')}",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(until(lambda: len(marked_pids(self.mark)) >= 3), "the job did not start")
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: os.path.exists(self.path("file"))), "the job died with tacho")

    def test_ends_with_the_root(self):
        """A daemon that outlives the root does not hold tacho, and is left alone."""
        done = self.tacho("run", "-q", "--", burner("daemon"), "50", "2000")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(len(marked_pids(self.mark)), 1, "the daemon was harmed")
        self.end_marked()

    def test_starts_at_once_and_ends_at_once(self):
        """An interval of an hour: neither the start nor the end waits for a tick."""
        done, _, table = self.tracked("true", options=["-i", "1h"], timeout=30)
        self.assertEqual(len(table.rows), 1)

    def test_job_under_its_own_name(self):
        _, run, _ = self.tracked("sh", "-c", 'echo "$0" "$#"', "zero", "a b", "")
        self.assertEqual(run["command"], ["sh", "-c", 'echo "$0" "$#"', "zero", "a b", ""])

    def test_zombies_are_reaped(self):
        script = f"for i in 1 2 3 4 5; do ({burner('cpu')} 1 5 >&2 &) ; done; sleep 1; ps -o stat= --ppid $PPID"
        if not os.path.exists("/usr/bin/ps") and not os.path.exists("/bin/ps"):
            script = script.replace("ps -o stat= --ppid $PPID", "grep -l 'PPid:.'$PPID'$' /proc/[0-9]*/status | while read f; do "
                                    "grep State: $f; done")
        done = self.tacho("run", "-i", "1h", "--", "sh", "-c", script)
        self.assertEqual(done.rc, 0, done)
        self.assertNotIn("Z", done.out)

    def test_agent_ignores_a_frozen_job(self):
        """A job that was stopped for good still ends when it is killed."""
        process = self.spawn("run", "-q", "-i", "20ms", "--", "sleep", "60")
        job = until(lambda: [pid for pid in marked_pids(self.mark) if pid != process.pid])
        os.kill(job[0], 19)
        self.assertTrue(until(lambda: process_state(job[0]) == "T"))
        os.kill(job[0], 9)
        self.assertEqual(process.wait(30), -9)
