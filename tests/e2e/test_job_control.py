"""A shell cannot tell that tacho is there: what bash, dash and zsh print about a job on a real terminal, and what a parent's
waitid sees of it, is compared with and without tacho before the command. Each scenario is a line of a table."""
import concurrent.futures
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from support import IS_ROOT, TACHO, Case, can, marked_pids, process_state, program_among

PREFIX = "tacho run -q --no-store -i 100ms -- "
SHELLS = {"bash": ["bash", "--norc", "--noediting", "-i"], "dash": ["dash", "-i"],
          "zsh": ["zsh", "-f", "-i", "-o", "no_zle", "-o", "no_prompt_cr", "-o", "no_prompt_sp", "-o", "no_notify"]}
PROMPT = "@@ "
AT_ONCE = 6  # terminals of one shell
LIMIT_S = 40  # of a step that never comes

# Steps: text is typed; a Key is pressed once the program runs; a pattern (re.compile) must appear; a function is waited for.
# {T} is tacho or nothing.


def key(letter):
    return bytes([ord(letter) & 31])


def stopped(terminal):
    """Everybody in the terminal's session but the shell is stopped."""
    states = [process_state(pid) for pid in terminal.others()]
    return states and all(state == "T" for state in states)


def running(terminal):
    states = [process_state(pid) for pid in terminal.others()]
    return states and all(state in "SRD" for state in states)


def nobody(terminal):
    """All have ended, so that the shell has heard of it; some reap only when they are asked for something."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rsplit(b")", 1)[1].split()
            if int(fields[3]) == terminal.process.pid != int(name) and fields[0] not in b"ZX":
                return False
        except (OSError, ValueError):
            pass
    return True


def sleeps(terminal):
    """The command runs, and its tacho, if any, has nothing else to do."""
    return terminal.find("sleep") and running(terminal)


def stops(name):
    def is_stopped(terminal):
        pid = terminal.find(name)
        return pid and process_state(pid) == "T"
    return is_stopped


def send(number, name):
    def act(terminal):
        pid = terminal.find(name)
        if pid:
            os.kill(pid, number)
        return pid
    return act


def hang_up(terminal):
    """What the shell is told when its terminal goes; the kernel tells the group in the foreground when the shell has ended."""
    terminal.process.send_signal(signal.SIGHUP)
    return True


def no_shell(terminal):
    return terminal.process.poll() is not None


UP = re.compile("up\r\n")
READY = re.compile(re.escape(PROMPT) + "$")
STATUS = ["echo st=$?\n", re.compile(r"st=\d+\r\n"), READY]


def seen(text):
    return re.compile(re.escape(text) + "\r\n")


SCENARIOS = {
    "ctrl_z_then_fg": ["{T}sh -c 'echo up; read word; exit 4'\n", UP, running, key("Z"), READY, stopped, "jobs\n", READY, "fg\n", running, "word\n",
                       READY] + STATUS,
    "ctrl_z_then_bg_and_kill": ["{T}sleep 100\n", sleeps, key("Z"), READY, "bg\n", READY, running, "kill %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "stty_in_the_background": ["{T}sh -c 'stty -echo; echo up' &\n", READY, stopped, "jobs\n", READY, "fg\n", UP, READY] + STATUS,
    "cat_in_the_background": ["{T}cat &\n", READY, stopped, "jobs\n", READY, "fg\n", running, "hello\n", seen("hello"), key("D"),
                              READY] + STATUS,
    "bg_stops_again": ["{T}cat &\n", READY, stopped, "bg\n", READY, stopped, "jobs\n", READY, "kill -9 %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "sigstop_and_sigcont": ["{T}sleep 100 &\n", READY, sleeps, "kill -STOP %1\n", stopped, READY, "jobs\n", READY,
                            "kill -CONT %1\n", running, READY, "jobs\n", READY, "kill %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "a_job_that_stops_itself": ["{T}sh -c 'kill -STOP $$; echo up' &\n", READY, stopped, "jobs\n", READY, "fg\n", UP, READY] + STATUS,
    "a_stopped_pipeline": ["{T}cat | cat\n", running, "a\n", seen("a"), key("Z"), READY, stopped, "jobs\n", READY, "fg\n",
                           running, "b\n", seen("b"), key("D"), READY] + STATUS,
    "a_pipeline_of_two": ["{T}cat | {T}cat\n", running, "a\n", seen("a"), key("Z"), READY, stopped, "jobs\n", READY, "fg\n",
                          running, "b\n", seen("b"), key("D"), READY] + STATUS,
    "a_pipeline_in_the_background": ["{T}sh -c 'sleep 0.5; exec cat' | {T}cat &\n", READY, stopped, "jobs\n", READY, "fg\n", running, "b\n", seen("b"),
                                     key("D"), READY] + STATUS,
    "ctrl_c_ends_a_loop": ["for i in 1 2 3; do echo n$i; {T}sleep 100; done\n", seen("n1"), sleeps, key("C"), READY] + STATUS,
    "ctrl_c_that_is_handled": ["for i in 1 2; do {T}sh -c 'trap \"exit 3\" INT; echo up; sleep 100'; echo s$?; done\n",
                               UP, sleeps, key("C"), seen("s3"), UP, sleeps, key("C"), seen("s3"), READY] + STATUS,
    "ctrl_c_in_a_script": ["sh -c 'for i in 1 2; do echo n$i; {T}sleep 100; done; echo never'\n", seen("n1"), sleeps, key("C"),
                           READY] + STATUS,
    "ctrl_backslash": ["{T}sleep 100\n", sleeps, key("\\"), READY] + STATUS,
    "killed": ["{T}sh -c 'kill -9 $$'\n", READY] + STATUS,
    "segmentation_fault": ["{T}sh -c 'kill -SEGV $$'\n", READY] + STATUS,
    "terminated_in_the_foreground": ["{T}sleep 100 &\n", READY, sleeps, "fg\n", running, send(signal.SIGTERM, "sleep"), READY] + STATUS,
    "terminated_in_the_background": ["{T}sleep 100 &\n", READY, sleeps, "kill %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "ctrl_z_that_is_ignored": ["{T}sh -c 'trap \"\" TSTP; echo up; read word; exit 6'\n", UP, key("Z"), "word\n", READY] + STATUS,
    "a_shell_as_the_job": ["{T}bash --norc --noediting -i\n", READY, "echo in$((1+1))\n", seen("in2"), READY, "suspend\n", READY,
                           "jobs\n", READY, "fg\n", "exit 5\n", READY] + STATUS,
    "killed_while_stopped": ["{T}sleep 100\n", sleeps, key("Z"), READY, stopped, send(signal.SIGKILL, "sleep"), nobody, "jobs\n",
                             READY],
    "continued_by_somebody": ["{T}sleep 100\n", sleeps, key("Z"), READY, stopped, send(signal.SIGCONT, "sleep"), running, "jobs\n",
                              READY, "kill %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "stopped_by_somebody": ["{T}sleep 100 &\n", READY, sleeps, send(signal.SIGSTOP, "sleep"), stopped, "jobs\n", READY,
                            "kill -9 %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "stopped_and_killed": ["{T}sleep 100\n", sleeps, key("Z"), READY, stopped, "kill -9 %1\n", nobody, READY, "jobs\n", READY, "\n", READY],
    "one_of_a_pipeline_stops": ["{T}sleep 100 | {T}cat\n", sleeps, send(signal.SIGSTOP, "sleep"), stops("sleep"), key("C"), send(signal.SIGCONT, "sleep"),
                                nobody, READY] + STATUS,
    "a_shell_with_job_control_of_its_own": ["sh -c 'set -m; {T}sleep 100; echo s$?; fg'\n", sleeps, key("Z"), seen("s148"), sleeps, key("C"),
                                            READY] + STATUS,
    "a_script_as_the_job": ["{T}sh -c 'sleep 100; echo after'\n", sleeps, key("Z"), READY, stopped, "fg\n", running, key("C"), READY] + STATUS,
    "in_the_background_of_a_script": ["sh -c '{T}sleep 100 & echo up; wait'\n", UP, sleeps, key("C"), READY, sleeps] + STATUS,
    "disowned": ["{T}sleep 100 &\n", READY, sleeps, "disown %1\n", READY, "jobs\n", READY, "exit\n", no_shell, sleeps],
    "the_terminal_hangs_up": ["{T}sleep 100\n", sleeps, hang_up, no_shell, nobody],
    "the_terminal_hangs_up_on_a_stopped_job": ["{T}sleep 100\n", sleeps, key("Z"), READY, stopped, "echo on$((1+1))\n", seen("on2"), READY, hang_up,
                                               no_shell, nobody],
    "nohup_in_the_background": ["nohup {T}sleep 100 >/dev/null 2>&1 &\n", READY, sleeps, hang_up, no_shell, sleeps],
    "nohup_as_the_job": ["{T}nohup sh -c 'echo up; sleep 100' </dev/null 2>/dev/null | cat\n", UP, sleeps, key("C"), READY] + STATUS,
    "nothing_is_open": ["{T}sh -c 'exit 3' <&- >&- 2>&-\n", READY] + STATUS,
    "a_time_limit_around": ["timeout 1 {T}sleep 100\n", READY] + STATUS,
    "a_time_limit_in_the_foreground": ["timeout --foreground 99 {T}cat\n", running, "a\n", seen("a"), key("Z"), READY, stopped, "fg\n", running, "b\n",
                                       seen("b"), key("D"), READY] + STATUS,
    "a_terminal_of_its_own": ["script -qec \"{T}sh -c 'echo up; read word; exit 4'\" /dev/null\n", UP, "word\n", READY] + STATUS,
    "a_session_of_its_own": ["setsid -w {T}sh -c 'echo up; kill -TERM $$'\n", UP, READY] + STATUS,
    "a_session_of_the_jobs_own": ["{T}setsid -w sh -c 'echo up; exit 5'\n", UP, READY] + STATUS,
    "no_environment": ["env -i PATH=\"$PATH\" TACHO_E2E_MARK=$TACHO_E2E_MARK {T}sh -c 'echo up; sleep 100'\n", UP, sleeps, key("C"), READY] + STATUS,
    "in_place_of_a_subshell": ["(exec {T}sleep 100)\n", sleeps, key("Z"), READY, stopped, "fg\n", running, key("\\"), READY] + STATUS,
    "one_inside_the_other": ["{T}tacho -q -- sleep 100\n", sleeps, key("Z"), READY, stopped, "jobs\n", READY, "fg\n", running, key("C"), READY] + STATUS,
    "what_it_prints_is_taken": ["x=$({T}sh -c 'echo out; exit 3'); echo $x st=$?\n", re.compile(r"out st=\d+\r\n"), READY],
    "writes_from_the_background": ["stty tostop; {T}sh -c 'echo up' &\n", READY, stopped, "jobs\n", READY, "fg\n", UP, READY] + STATUS,
    "ctrl_c_twice": ["{T}sh -c 'trap \"echo again\" INT; echo up; sleep 100; sleep 100; exit 6'\n", UP, sleeps, key("C"), seen("again"), sleeps, key("C"),
                     seen("again"), READY] + STATUS,
    "a_time_limit_of_its_own": ["{T}timeout 100 sh -c 'echo up; read word; echo got $word'\n", UP, "hello\n", seen("got hello"),
                                READY] + STATUS,
}


class Terminal:
    """One shell on a pseudo terminal that echoes nothing."""

    def __init__(self, case, shell, prefix):
        self.case, self.prefix, self.screen, self.seen = case, prefix, "", 0
        self.mark = f"{case.mark}-{id(self)}"
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        env = case.environment({"PS1": PROMPT, "TERM": "dumb", "TACHO_E2E_MARK": self.mark, "ENV": None,
                                "PATH": case.path("bin") + ":/usr/local/bin:/usr/bin:/bin"})
        self.process = subprocess.Popen(["setsid", "-c", "sh", "-c", 'ulimit -c 0; exec "$@"', "sh"] + SHELLS[shell],
                                        stdin=slave, stdout=slave, stderr=slave, env=env, cwd=case.dir)
        os.close(slave)

    def others(self):
        found = []
        for pid in marked_pids(self.mark):
            try:
                if os.getsid(pid) == self.process.pid and pid != self.process.pid:
                    found.append(pid)
            except OSError:
                pass
        return found

    def find(self, name):
        return program_among(self.others(), name)

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return
        try:
            self.screen += os.read(self.master, 65536).decode(errors="replace")
        except OSError:
            time.sleep(seconds)

    def wait(self, step):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            self.read(0.02)
            if callable(step):
                if step(self):
                    return
            elif match := step.search(self.screen, self.seen):
                self.seen = match.end()
                return
        raise AssertionError(f"{self.prefix or 'plain'}: {getattr(step, 'pattern', step)} never came:\n{self.screen[-1500:]}")

    def run(self, steps):
        self.wait(READY)
        for step in steps:
            if isinstance(step, bytes):
                os.write(self.master, step)
            elif isinstance(step, str):
                os.write(self.master, step.replace("{T}", self.prefix).encode())
            else:
                self.wait(step)
        # What differs by itself: process numbers, blanks that align a longer command, and when a shell comes to tell of an end
        # that it did not wait for: before or after a prompt, at once or once more.
        text = re.sub(r"(?<!st=)\b\d{3,}\b", "N", self.screen.replace(PREFIX, "").replace(PROMPT, "\r\n"))
        lines = {" ".join(line.split()) for line in text.split("\r\n")}
        if any(step.startswith("kill ") for step in steps if isinstance(step, str)):
            # bash tells of the end of such a job at times, also without tacho; waitid below sees how it was.
            lines = {line for line in lines if not re.match(r"(\[1\].*)?([Kk]illed|[Tt]erminated)", line)}
        if hang_up in steps:
            # zsh warns that it hung its job up, and tells of the job's end only where that came before the warning, also without tacho.
            lines = {line for line in lines if not line.startswith("zsh: hangup ")}
        return sorted(line for line in lines if not any(line in other for other in lines - {line}))

    def close(self):
        for pid in marked_pids(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        os.close(self.master)


class JobControl(Case):
    weight = 5

    def in_terminal(self, shell, steps, prefix):
        terminal = Terminal(self, shell, prefix)
        try:
            return terminal.run(steps)
        finally:
            terminal.close()

    def compare(self, shell):
        if not can(shell, "-c", "true"):
            self.skipTest(f"there is no {shell}")
        os.mkdir(self.path("bin"))
        os.symlink(TACHO, self.path("bin", "tacho"))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            futures = {name: [pool.submit(self.in_terminal, shell, steps, prefix) for prefix in ("", PREFIX)]
                       for name, steps in SCENARIOS.items()}
            for name, (plain, tracked) in futures.items():
                with self.subTest(shell=shell, scenario=name):
                    self.assertEqual(tracked.result(), plain.result())

    def test_bash(self):
        self.compare("bash")

    def test_dash(self):
        self.compare("dash")

    def test_zsh(self):
        self.compare("zsh")


# A parent that leads a session and starts the command in a group of its own, as a shell does. Prints what waitid tells. At each
# stop the group is continued, and the command gets a line to read once that is seen, so that nothing is missed.
PARENT = """
import os, signal, sys
names = {os.CLD_EXITED: "exited", os.CLD_KILLED: "killed", os.CLD_DUMPED: "dumped", os.CLD_STOPPED: "stopped",
         os.CLD_CONTINUED: "continued"}
if sys.argv[1] == "ignored":
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP): signal.signal(number, signal.SIG_IGN)
stdin, tell = os.pipe()
if sys.argv[1] == "orphaned": os.write(tell, b"\\n" * 9)
child = os.fork()
if child == 0:
    os.dup2(stdin, 0)
    os.close(stdin), os.close(tell)
    if sys.argv[1] != "orphaned": os.setpgid(0, 0)
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    seen = os.waitid(os.P_PID, child, os.WEXITED | os.WSTOPPED | os.WCONTINUED)
    if sys.argv[1] != "orphaned" or seen.si_code != os.CLD_CONTINUED: print(names[seen.si_code], seen.si_status, flush=True)
    if seen.si_code == os.CLD_CONTINUED: os.write(tell, b"\\n")
    if seen.si_code == os.CLD_STOPPED: os.kill(child if sys.argv[1] == "orphaned" else -child, signal.SIGCONT)
    if seen.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED): break
"""

JOBS = {"true": ["true"], "code": ["sh", "-c", "exit 255"]}
for number in list(range(1, 32)) + [34, 50, 64]:
    if number not in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH):
        waits = number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
        JOBS[f"signal_{number}"] = ["sh", "-c", f"kill -{number} $$; {'read word; ' if waits else ''}exit 9"]
JOBS["stops_twice"] = ["sh", "-c", "kill -STOP $$; read word; kill -TSTP $$; read word; exit 3"]
JOBS["stops_and_dies"] = ["sh", "-c", "kill -TTOU $$; read word; kill -TERM $$"]
JOBS["own_group"] = [sys.executable, "-c", "import os; os.setpgid(0, 0); os.kill(os.getpid(), 20); os.read(0, 1); os._exit(7)"]
JOBS["kills_its_group"] = ["sh", "-c", "trap 'exit 8' TERM; kill -TERM 0; sleep 5"]
MODES = {"signal_2": ["plain", "orphaned", "ignored"], "stops_twice": ["plain", "orphaned"]}


class Waitid(Case):
    def events(self, mode, words):
        done = subprocess.run(["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", sys.executable, "-c", PARENT, mode] + words,
                              env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60, cwd=self.dir, start_new_session=True)
        return done.stdout.split("\n"), done.stderr

    def test_a_parent_sees_the_same(self):
        tacho = [TACHO, "run", "-q", "--no-store", "-i", "100ms", "--"]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            futures = {(mode, name): [pool.submit(self.events, mode, prefix + words) for prefix in ([], tacho)]
                       for name, words in JOBS.items()
                       for mode in MODES.get(name, ["plain"])}
            for (mode, name), (plain, tracked) in futures.items():
                with self.subTest(job=name, mode=mode):
                    self.assertEqual(tracked.result(), plain.result())
                    self.assertEqual(tracked.result()[1], "")

    def test_no_core_of_ours(self):
        """The limit allows one, and the folder is writable: only the job's may be there."""
        done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", TACHO, "run", "-q", "--no-store", "--", "sh", "-c",
                               "ulimit -c 0; kill -SEGV $$"], env=self.environment(), cwd=self.dir, timeout=60)
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertEqual([name for name in os.listdir(self.dir) if "core" in name], [])

    def test_as_pid_1_and_as_resource_tracker(self):
        os.symlink(TACHO, self.path("resource-tracker"))
        done = self.tacho("-q", "--", "sh", "-c", "kill -TERM $$", program=self.path("resource-tracker"))
        self.assertEqual(done.rc, 143, done)
        if not (IS_ROOT and can("unshare", "-pf", "--mount-proc", "true")):
            self.skipTest("cannot make a PID namespace")
        done = self.tacho("run", "-q", "--", "sh", "-c", "kill -TERM $$", wrap=["unshare", "-pf", "--mount-proc", "--kill-child"])
        self.assertEqual(done.rc, 143, done)
