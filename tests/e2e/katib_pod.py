"""A trial pod without Kubernetes: one PID namespace with a pause process as pid 1; containers are entered from outside, so
the first process of each has parent 0, as in a pod with shareProcessNamespace. Beside it `tacho-katib db` as the DB manager.
"""
import json
import os
import socket
import subprocess
import sys
import time

import support

KATIB = os.path.join(support.BUILD, "bin", "tacho-katib")
DOUBLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doubles")
sys.path.insert(0, DOUBLES)
CAN_POD = support.IS_ROOT and support.can("unshare", "-pf", "--mount-proc", "true")
ZERO = "0001-01-01T00:00:00Z"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class PodCase(support.Case):
    """A test with a pod, a folder that its containers share, and a database."""
    weight = 5

    def setUp(self):
        if not os.path.exists(KATIB):
            self.skipTest("tacho-katib is not built")
        if not CAN_POD:
            self.skipTest("a PID namespace needs root")
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o777)
        self.log = os.path.join(self.shared, "metrics.log")
        self.port = free_port()
        self.trial = "trial-a"
        self.pod = self.start_process("unshare", "-pf", "--mount-proc", "--kill-child", "sleep", "infinity")
        self.pause = support.until(lambda: support.children_of(self.pod.pid)[0][0])
        self.assertTrue(support.until(lambda: os.readlink(f"/proc/{self.pause}/exe").endswith("sleep")))

    def enter(self, *words, **keywords):
        """The first process of a container: a session leader, as the runtime makes it."""
        return self.start_process("nsenter", "-t", self.pause, "-p", "-m", "setsid", *words, **keywords)

    def pids(self):
        """Pids inside the pod: {pid: (ppid, command line)}."""
        out = subprocess.run(["nsenter", "-t", str(self.pause), "-p", "-m", "ps", "-eo", "pid,ppid,args", "--no-headers"],
                             capture_output=True, text=True, check=True).stdout
        found = {}
        for line in out.splitlines():
            pid, ppid, args = line.split(None, 2)
            found[int(pid)] = (int(ppid), args)
        return found

    # The trainer, wrapped as the stock webhook does it.
    def trainer(self, script, redirect=True, early=False, user=None, before=()):
        text = script + (f" 1>{self.log} 2>&1" if redirect else "")
        if early:
            marker = f"{self.shared}/$$.pid"
            text += (f" || if test -f {marker} && [ $(head -n 1 {marker}) = early-stopped ]; then "
                     "echo Training Container was Early Stopped; else echo Training Container was Failed; exit 1; fi")
        text += f" && echo completed > {self.shared}/$$.pid"
        words = ["sh", "-c", text]
        return self.enter(*before, *(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"] if user else []), *words)

    def db(self, port=None):
        process = self.start_process(KATIB, "db", "--listen", f"127.0.0.1:{port or self.port}", "--store", self.path("trials.db"),
                                     stdout=subprocess.DEVNULL, stderr=open(self.path("db.log"), "a", encoding="utf-8"))
        self.assertTrue(support.until(lambda: listens(port or self.port)), self.read("db.log"))
        return process

    def flags(self, *extra, metrics="accuracy;loss", address=None, path=None, log_format="TEXT"):
        words = ["-t", self.trial, "-m", metrics, "-o-type", "maximize", "-s-db", address or f"127.0.0.1:{self.port}"]
        if path != "":
            words += ["-path", path or self.log]
        if log_format:
            words += ["-format", log_format]
        return words + ["-p", "100ms", "--report", "200ms", *extra]

    def collector(self, *extra, env=None, program=(KATIB, "collect"), **keywords):
        number = getattr(self, "collectors", 0)
        self.collectors = number + 1
        err = open(self.path(f"collector{number}.err"), "w", encoding="utf-8")
        out = open(self.path(f"collector{number}.out"), "w", encoding="utf-8")
        self.addCleanup(err.close)
        self.addCleanup(out.close)
        process = self.enter(*program, *self.flags(*extra, **keywords), env=env, stdout=out, stderr=err)
        process.err_name, process.out_name = f"collector{number}.err", f"collector{number}.out"
        return process

    def errors(self, process):
        return self.read(process.err_name)

    def ends(self, process, code, seconds=60):
        """Waits; nsenter passes the exit code on."""
        try:
            rc = process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still running: {self.errors(process)} {self.pids()}")
        self.assertEqual(rc, code, self.errors(process))

    def rows(self, trial=None):
        """(time, name, value) of each stored row."""
        done = subprocess.run([KATIB, "log", trial or self.trial, "--store", self.path("trials.db"), "--json"], capture_output=True,
                              text=True, env=self.environment(), timeout=60)
        if done.returncode != 0:
            raise ValueError(done.stderr)
        return [(row["time_stamp"], row["name"], row["value"]) for row in json.loads(done.stdout)]

    def host_pid(self, process):
        """Of what nsenter started."""
        return support.until(lambda: support.children_of(process.pid)[0][0])


def sleep_until_row(case, count, seconds=30):
    """Until so many rows are stored."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if len(case.rows()) >= count:
                return True
        except ValueError:
            pass
        time.sleep(0.1)
    return False
