"""A job with and without tacho around it: what it wrote and how it ended must be the same, whatever happens to tacho: stopped,
continued, without a store, without a spool, with outputs that break; and when tacho is killed the job goes on to its end."""
import os
import signal
import subprocess
import time

from support import Case, until

JOBS = [
    (["sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 3"]),
    (["sh", "-c", "cat; echo after >&2; exit 0"]),
    (["sh", "-c", "(sleep 0.3; echo orphan) & sleep 0.1; kill -TERM $$"]),
    (["sh", "-c", "sleep 0.2 & wait; echo waited; exit 255"]),
    (["sh", "-c", "trap 'echo got it; exit 9' TERM; kill -TERM $$; sleep 1"]),
    (["sh", "-c", "yes | head -c 300000; ulimit -n; umask; pwd"]),
    (["sh", "-c", "exec 1>&-; sleep 0.2; exit 4"]),
    (["sh", "-c", "setsid sh -c 'sleep 0.2; echo far' & sleep 0.4; kill -KILL $$"]),
]


class Step(Case):
    def outcome(self, words, disturb=None):
        """Status, stdout and stderr of the job."""
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir, env=self.env)
        try:
            if disturb:
                disturb(process)
            out, err = process.communicate(b"some input\n" * 50, 60)
        except subprocess.TimeoutExpired:
            self.end_marked()
            process.kill()
            out, err = process.communicate()
            self.fail(f"hurt: {words} did not end: {out[-500:]} {err[-500:]}")
        return process.returncode, out, err

    def runTest(self):
        dice = self.dice
        self.env = self.environment()
        job = dice.choice(JOBS)
        plain = self.outcome(job)
        options = ["-q", "-i", dice.choice(["0.01", "0.05", "1"])]
        options += dice.choice([[], ["--no-store"], ["--method", "tree"], ["-o", self.path("out.csv")], ["-o", self.path("out.html")], ["-o", "/dev/full", "-f", "csv"]])
        bad = dice.choice(["", "store", "spool", "none"])
        if bad == "store":
            os.makedirs(os.path.dirname(self.store), exist_ok=True)
            self.write("state/tacho/runs", "no folder")
        if bad == "spool":
            self.env.update({"TACHO_SPOOL_DIR": "/proc/nowhere", "SENTINEL_API_TOKEN": "x", "SENTINEL_API_URL": "http://127.0.0.1:9", "TACHO_FINISH_TIMEOUT": "0.2"})
        words = self.command(["run", *options, "--", *job])
        if dice.random() < 0.25:
            return self.killed(words, job)

        def disturb(process):
            for _ in range(dice.choice([0, 0, 1, 3])):
                time.sleep(dice.uniform(0, 0.15))
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    try:
                        os.kill(process.pid, number)
                    except OSError:
                        return
                    time.sleep(dice.uniform(0, 0.05))
        rc, out, err = self.outcome(words, disturb)
        what = f"{job} {options} {bad}: {(rc, out[-300:], err[-800:])} instead of {(plain[0], plain[1][-300:], plain[2][-300:])}"
        self.assertEqual(rc, plain[0], f"hurt: {what}")
        self.assertEqual(out, plain[1], f"hurt: {what}")
        said = b"".join(line for line in err.splitlines(True) if not line.startswith(b"tacho"))
        self.assertEqual(said, plain[2], f"hurt: {what}")
        self.assertFalse([name for name in os.listdir(self.dir) if name.startswith("core")], f"hurt: a core file; {what}")
        return None

    def killed(self, words, job):
        """tacho dies in the middle; the job ends when it ends."""
        mark = self.path("whole")
        script = f"sleep {self.dice.uniform(0.1, 0.6):.2f}; echo $? > {mark}.new; mv {mark}.new {mark}"
        words = words[:len(words) - len(job)] + ["sh", "-c", script]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.dir, env=self.env)
        time.sleep(self.dice.uniform(0.05, 0.5))
        process.kill()
        process.wait()
        begun = until(lambda: os.path.exists(mark) or not self.lives(script), 30)
        if os.path.exists(mark):
            self.assertEqual(self.read(mark), "0\n", "hurt: the job's own command failed")
        else:  # killed before the job was started
            self.assertTrue(begun, "hurt: the job hangs")

    def lives(self, script):
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if script.encode() in file.read():
                        return True
            except OSError:
                pass
        return False
