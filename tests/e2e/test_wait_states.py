"""What a thread waits for, by every way to wait that a program can be made to show (wait_states.py), on the kernel that is there."""
import collections
import os
import shutil
import signal
import subprocess
import sys

import wait_states
from support import IS_ROOT, Case, can, until

SCRIPT = wait_states.__file__


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


class WaitStates(Case):
    def pids(self, stdout):
        """{name: pid} as the script prints them; each is killed at the end."""
        found = {}
        for line in iter(stdout.readline, "\n"):
            name, _, pid = line.strip().rpartition(" ")
            found[name] = int(pid)
        self.addCleanup(self.end, list(found.values()))
        return found

    def end(self, pids):
        """They take away what they made, if they can."""
        for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGKILL):
            for pid in filter(is_alive, pids):
                os.kill(pid, number)
            if number == signal.SIGCONT:
                until(lambda: not any(map(is_alive, pids)), 5)

    def counts(self):
        """Those of the newest row."""
        rows = self.the_run()[1].rows if self.run_folders() else []
        return collections.Counter({name[len("process_waits_"):]: int(value) for name, value in rows[-1].items()
                                    if name.startswith("process_waits_") and value not in ("", "0")} if rows else {})

    def wanted(self, pids, which):
        """The script itself reads a pipe; a state that this kernel cannot make ended at once."""
        wanted = collections.Counter({"pipe": 1})
        for name, pid in pids.items():
            if is_alive(pid):
                wanted[wait_states.STATES[name][which]] += 1
                wanted["sleep"] += name in wait_states.WITH_SLEEPER
        return +wanted

    def check(self, pids, which):
        # Those that cannot be made need a moment to end, and the others one to wait.
        until(lambda: self.counts() == self.wanted(pids, which), 20)
        wanted, found = self.wanted(pids, which), self.counts()
        self.assertEqual(found, wanted, {"too many": found - wanted, "too few": wanted - found})
        self.assertGreater(sum(wanted.values()), len(pids) * 0.8, "hardly anything could be made")

    def test_by_syscall(self):
        """Two jobs, so that each has fewer than 64 threads: all of them are looked at."""
        names = list(wait_states.STATES)
        for part in (names[::2], names[1::2]):
            job = self.spawn("run", "-q", "-i", "100ms", "--", sys.executable, SCRIPT, self.path(), *part, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            pids = self.pids(job.stdout)
            self.check(pids, 1)
            self.end(list(pids.values()))
            job.stdin.close()
            self.assertEqual(job.wait(30), 0)
            shutil.rmtree(self.run_folders()[0])

    def test_by_wchan_alone(self):
        """Where syscall may not be read, here because something else is mounted over it: by the name of the kernel's function."""
        if not (IS_ROOT and can("unshare", "-m", "mount", "--bind", "/dev/null", "/proc/self/syscall") and can("pgrep", "-V")):
            self.skipTest("cannot hide the file")
        names = [name for name, (_, _, state) in wait_states.STATES.items() if state]
        script = subprocess.Popen([sys.executable, SCRIPT, self.path(), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (script.kill(), script.wait(), script.stdin.close(), script.stdout.close()))
        pids = self.pids(script.stdout)
        until(lambda: not any(self.runs(pid) for pid in pids.values()), 10)
        every = f"{script.pid} {' '.join(map(str, pids.values()))} $(pgrep -P {','.join(map(str, pids.values()))})"
        hide = f"for pid in {every}; do test ! -d /proc/$pid || mount --bind /dev/null /proc/$pid/syscall; done"
        tracker = self.spawn("attach", "-q", "-i", "100ms", "--pid", script.pid, wrap=["unshare", "-m", "sh", "-c", f"{hide}; exec \"$@\"", "sh"])
        self.check(pids, 2)
        self.end(list(pids.values()))
        script.stdin.close()
        self.assertEqual(tracker.wait(30), 0)
        self.assertEqual(self.the_run()[0]["method"]["waits"], "wchan")

    def runs(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rsplit(") ", 1)[1][0] == "R"
        except OSError:
            return False
