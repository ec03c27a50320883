"""What the end-to-end tests share: a clean place, the real binary, burners, and reading what tacho wrote.

Every process that a test starts carries a mark of that test in its environment; what still lives at the end of a test is a
failure and is ended by its pid. No test asserts how long something took, beyond an order of magnitude.
"""
import csv
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest
import uuid

BUILD = os.environ.get("TACHO_BUILD_DIR", os.path.abspath("build/test"))
TACHO = os.path.join(BUILD, "bin", "tacho")
SANITIZED = False
try:
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        SANITIZED = any(line.startswith("TACHO_SANITIZE:") and line.strip()[-1] != "=" for line in cache)
except OSError:
    pass
IS_ROOT = os.geteuid() == 0
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
LIMIT_S = 60  # a test that hangs, not a test that is slow

COLUMNS = (
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,"
    "system_memory_used_mib,system_memory_buffers_mib,system_memory_cached_mib,system_memory_active_mib,"
    "system_memory_inactive_mib,system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,"
    "system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,"
    "system_gpu_usage,system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,"
    "process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes,process_disk_write_bytes,"
    "process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized").split(",")


def burner(name):
    return os.path.join(BUILD, "bin", "burn_" + name)


def can(*command):
    """Whether this machine lets us run a helper command (namespaces, mounts)."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def marked_pids(mark):
    """Live processes that carry the mark; zombies have no environment and are not listed."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark.encode() in file.read():
                        found.append(int(name))
            except OSError:
                pass
    return found


def deliverers(mark):
    """Those of them that are tacho-deliver beside a run."""
    found = []
    for pid in marked_pids(mark):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += [pid] if b"--spool-run" in file.read() else []
        except OSError:  # it has just ended
            pass
    return found


def process_state(pid):
    """The state letter of /proc/PID/stat, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0].decode()
    except OSError:
        return None


def children_of(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rsplit(b")", 1)[1].split()
                if int(fields[1]) == pid:
                    found.append((int(name), fields[0].decode()))
            except OSError:
                pass
    return found


def program_among(pids, name):
    """The first of those processes whose program file has that name; None: there is none."""
    for pid in pids:
        try:
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name:
                return pid
        except OSError:
            pass
    return None


def highest_kib(process, pid=None):
    """The high-water mark of a process's memory (pid: of that one), followed until the process ends. wait4 would tell the size of this process at the fork."""
    high_kib = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{pid or process.pid}/status", encoding="utf-8") as file:
                high_kib = max([high_kib, *(int(line.split()[1]) for line in file if line.startswith("VmHWM"))])
        except OSError:
            pass
        time.sleep(0.005)
    return high_kib


def remove_cgroup(folder):
    """True when it is gone; a cgroup whose last process is just ending refuses for a moment."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def until(what, seconds=30):
    """Waits for what() to become true and returns its value; a false value when it never did."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = what()
        except (OSError, ValueError, LookupError):  # a file that is not there yet, or not whole
            value = None
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)


class Done:
    """What a finished command left: rc, out, err."""

    def __init__(self, rc, out, err):
        self.rc, self.out, self.err = rc, out, err

    def __repr__(self):
        return f"rc {self.rc}\nstdout: {self.out[-1500:]}\nstderr: {self.err[-1500:]}"


class Table:
    """A CSV as tacho writes it."""

    def __init__(self, text):
        self.text = text
        lines = list(csv.reader(text.splitlines()))
        self.header = lines[0] if lines else []
        self.rows = [dict(zip(self.header, line)) for line in lines[1:]]
        self.widths = {len(line) for line in lines}

    def column(self, name):
        return [row[name] for row in self.rows]

    def sum(self, name):
        return sum(float(value) for value in self.column(name) if value != "")


class Case(unittest.TestCase):
    """A test with its own folder, store and mark."""
    maxDiff = 4000

    def setUp(self):
        if not os.path.exists(TACHO):
            self.fail(f"{TACHO} is missing: build it first")
        self.dir = tempfile.mkdtemp(prefix="tacho-e2e-")
        os.chmod(self.dir, 0o777)
        self.mark = "mark-" + uuid.uuid4().hex
        self.store = os.path.join(self.dir, "state", "tacho", "runs")
        self.addCleanup(self.leave_clean)

    def leave_clean(self):
        def quiet():
            return not marked_pids(self.mark)
        left = [] if until(quiet, 5) else marked_pids(self.mark)
        names = []
        for pid in left:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    names.append(f"{pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')}")
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)
        if names:
            self.fail(f"left behind: {names}")

    def end_marked(self):
        """For a test that means to leave a job alone: ends it."""
        for pid in marked_pids(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def environment(self, extra=None):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.dir, "LANG": "C.UTF-8",
               "XDG_STATE_HOME": self.path("state"), "XDG_CONFIG_HOME": self.path("config"),
               "TACHO_NO_CLOUD": "1", "TACHO_E2E_MARK": self.mark}
        for key, value in (extra or {}).items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = value
        return env

    def command(self, args, user=None, wrap=(), program=None):
        words = list(wrap) + [program or TACHO] + [str(arg) for arg in args]
        if user == "nobody" and IS_ROOT:
            words = NOBODY + words
        return words

    def start_process(self, *words, env=None, **keywords):
        """A command in the background; pipes by default; ended when the test ends."""
        keywords.setdefault("stdin", subprocess.DEVNULL)
        keywords.setdefault("stdout", subprocess.PIPE)
        keywords.setdefault("stderr", subprocess.PIPE)
        keywords.setdefault("text", True)
        keywords.setdefault("cwd", self.dir)
        process = subprocess.Popen([str(word) for word in words], env=self.environment(env), **keywords)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def spawn(self, *args, user=None, env=None, wrap=(), program=None, **keywords):
        """tacho ARGS in the background."""
        return self.start_process(*self.command(args, user, wrap, program), env=env, **keywords)

    def tacho(self, *args, input=None, timeout=LIMIT_S, **keywords):
        """tacho ARGS to its end."""
        if input is not None:
            keywords["stdin"] = subprocess.PIPE
        process = self.spawn(*args, **keywords)
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            self.end_marked()  # all of them: a job that lives on holds the pipes open
            out, err = process.communicate()
            self.fail(f"{args} did not end in {timeout}s\n{Done('-', out or '', err or '')}")
        return Done(process.returncode, out, err)

    def run_folders(self, store=None):
        store = store or self.store
        try:
            return sorted(os.path.join(store, name) for name in os.listdir(store)
                          if stat.S_ISDIR(os.lstat(os.path.join(store, name)).st_mode))
        except FileNotFoundError:
            return []

    def the_run(self, store=None):
        """run.json and metrics.csv of the only run in the store."""
        folders = self.run_folders(store)
        self.assertEqual(len(folders), 1, folders)
        with open(os.path.join(folders[0], "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        with open(os.path.join(folders[0], "metrics.csv"), encoding="utf-8") as file:
            return run, Table(file.read())

    def tracked(self, *job, options=(), rc=0, **keywords):
        """Runs a job, expects its status, returns (done, run.json, metrics)."""
        done = self.tacho("run", *options, "--", *job, **keywords)
        self.assertEqual(done.rc, rc, done)
        run, table = self.the_run()
        return done, run, table

    def truth(self, text):
        """The JSON line of a burner."""
        lines = [line for line in text.splitlines() if line.startswith('{"burner"')]
        self.assertEqual(len(lines), 1, text)
        return json.loads(lines[0])

    def need_root(self):
        if not IS_ROOT:
            self.skipTest("needs root")

    def need(self, why, *command):
        if not can(*command):
            self.skipTest(why)

    def refused(self, done, *words):
        """tacho did not start: 125, nothing stored, and the message has these words."""
        self.assertEqual(done.rc, 125, done)
        for word in words:
            self.assertIn(word, done.err, done)
        self.assertEqual(self.run_folders(), [])
