"""tacho top and tacho run --live in a real terminal, which tmux draws."""
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from support import TACHO, Case, process_state, until


@unittest.skipUnless(shutil.which("tmux"), "tmux is not there: scripts/install-deps test")
class Screen(Case):
    def setUp(self):
        super().setUp()
        self.sockets = tempfile.mkdtemp(prefix="tmux")  # a short path: it becomes a socket's
        self.addCleanup(shutil.rmtree, self.sockets, True)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-f", "/dev/null", "-S", os.path.join(self.sockets, "s"), *words], check=True, text=True, encoding="utf-8",
                              capture_output=True, env=self.environment({"TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"})).stdout

    def open(self, columns=80, lines=24):
        self.tmux("-u", "new-session", "-d", "-x", str(columns), "-y", str(lines), "sh")
        self.addCleanup(self.tmux, "kill-server")
        self.shell = int(self.ask("pane_pid"))
        self.tmux("send-keys", "PS1='ready> '; clear", "Enter")
        self.see(r"^ready>$")

    def ask(self, what):
        return self.tmux("display-message", "-p", "#{" + what + "}").strip()

    def picture(self):
        return self.tmux("capture-pane", "-p")

    def see(self, pattern, seconds=20):
        found = until(lambda: re.search(pattern, self.picture(), re.M), seconds)
        if not found:
            self.fail(f"no {pattern!r} on the screen:\n{self.picture()}")
        return found

    def start(self, *words):
        """Types the command, and says its pid when the shell has started it."""
        self.tmux("send-keys", shlex.join([TACHO, *words]) + "; echo rc=$?", "Enter")
        with_children = lambda: open(f"/proc/{self.shell}/task/{self.shell}/children", encoding="ascii").read().split()
        return int(until(with_children)[0])

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def check_terminal(self, rc):
        """The shell's screen is back, with cursor, line wrapping, echo and line mode."""
        self.see(rf"^rc={rc}$")
        for what, value in (("alternate_on", "0"), ("cursor_flag", "1"), ("wrap_flag", "1"), ("scroll_region_upper", "0")):
            self.assertEqual(self.ask(what), value, what)
        self.assertEqual(int(self.ask("scroll_region_lower")) + 1, int(self.ask("pane_height")))
        self.keys("clear; stty -a | tr ' ;' '\\n\\n' | grep -c -x -e icanon -e echo -e isig", "Enter")
        self.see(r"^3$")


class NobodyReads(Case):
    """A terminal that is held (Ctrl-S), or whose window hangs."""

    def test_a_signal_ends_it(self):
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 60, 200, 0, 0))
        before = termios.tcgetattr(terminal)
        job = subprocess.Popen([TACHO, "top", "-i", "50ms"], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                               env=self.environment({"TERM": "xterm-256color"}), preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(job.kill)

        def waiting():
            return struct.unpack("i", fcntl.ioctl(master, termios.FIONREAD, bytes(4)))[0]
        full = until(lambda: waiting() > 3000 and waiting())
        self.assertTrue(until(lambda: full == waiting()))
        time.sleep(0.5)  # some more pictures that find no room
        self.assertIsNone(job.poll(), "it ended by itself")
        job.terminate()
        self.assertEqual(job.wait(20), 0)
        self.assertEqual(termios.tcgetattr(terminal), before)


class Top(Screen):
    def test_keys(self):
        self.open()
        self.start("top", "-i", "100ms")
        self.see(r"^processes +\d+")
        self.see(r"\*CPU +MEMORY +I/O /s COMMAND")
        self.see("└ ")
        self.assertEqual(self.ask("alternate_on"), "1")
        for key, pattern in (("m", r"\*MEMORY"), ("i", r"\*I/O /s"), ("g", r"\*GPU MEM"), ("c", r"\*CPU"), ("?", "sort by memory"), ("?", r"\*CPU"),
                             ("p", "^paused · "), ("Down", "^paused · "), ("p", r"\A(?!paused)")):
            self.keys(key)
            self.see(pattern)
        self.keys("t")
        self.assertTrue(until(lambda: "└" not in self.picture()))
        self.keys("q")
        self.check_terminal(0)

    def test_scroll(self):
        """A paused list stands still: a line down shows what was second as first."""
        self.open()
        self.start("top", "-i", "100ms")
        self.see(r"^processes +\d+")
        self.keys("p")
        self.see("^paused")
        def rows():
            return [line for line in self.picture().splitlines() if re.match(r" +\d+ .*(%|-) ", line)]
        before = rows()
        self.keys("Down")
        self.assertTrue(until(lambda: rows()[:3] == before[1:4]), f"{before}\n{rows()}")
        self.keys("Up")
        self.assertTrue(until(lambda: rows() == before))
        self.keys("q")
        self.check_terminal(0)

    def test_sizes(self):
        self.open()
        self.start("top", "-i", "100ms")
        self.see("q quit  t tree")
        for columns, lines in ((20, 5), (200, 60), (1, 1), (80, 24)):
            self.tmux("resize-window", "-x", str(columns), "-y", str(lines))
            if columns == 20:
                self.assertTrue(until(lambda: "COMMAND" in self.picture().splitlines()[3]), self.picture())
                self.assertTrue(until(lambda: re.match(r" +\S+% ", self.picture().splitlines()[4])), self.picture())
            elif columns > 20:
                self.assertTrue(until(lambda: self.picture().splitlines()[lines - 1].startswith("q quit")), self.picture())
        self.keys("q")
        self.check_terminal(0)

    def test_signals(self):
        self.open()
        for number, rc in ((signal.SIGTERM, "0"), (signal.SIGHUP, "0"), (signal.SIGSEGV, "139"), (signal.SIGABRT, "134")):
            with self.subTest(number.name):
                pid = self.start("top", "-i", "100ms")
                self.see(r"^processes +\d+")
                os.kill(pid, number)
                self.check_terminal(rc)
                self.keys("clear", "Enter")
                self.see(r"\Aready>$")

    def test_colours(self):
        self.open()
        coloured = lambda: "\x1b[38;5;" in self.tmux("capture-pane", "-p", "-e")
        for words, expected in ((["--color", "never"], False), ([], True)):
            self.start("top", "-i", "100ms", *words)
            self.see(r"^processes +\d+")
            self.assertEqual(bool(until(coloured, 20 if expected else 0.5)), expected)
            self.keys("q")
            self.check_terminal(0)
            self.keys("clear", "Enter")
            self.see(r"\Aready>$")

    def test_hostile_names(self):
        """What a process calls itself reaches neither the columns nor the terminal."""
        name = b"evil\x1b[31m\x1b]0;t\x07\xe2\x80\xae\xff\n\xe6\xbc\xa2"
        process = subprocess.Popen([name, "60"], executable="/bin/sleep", env=self.environment({}))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        done = subprocess.run([TACHO, "top", "--once", "-i", "50ms", "--pid", str(process.pid)], capture_output=True, env=self.environment({}), check=True)
        self.assertIn("evil [31m ]0;t  \ufffd 漢 60\n".encode(), done.stdout)
        self.assertFalse([byte for byte in done.stdout if byte < 32 and byte != 10])

    def test_once(self):
        done = self.tacho("top", "--once", "-i", "50ms", "--color", "always")
        self.assertEqual(done.rc, 0, done)
        self.assertNotIn("\x1b", done.out)
        self.assertRegex(done.out, r"(?m)^ +1 .* COMMAND$|^ +PID +\*CPU +MEMORY +I/O /s COMMAND$")
        self.assertRegex(done.out, rf"(?m)^ +{os.getpid()} ")
        only = self.tacho("top", "--once", "--json", "-i", "50ms", "--pid", str(os.getpid()))
        one = json.loads(only.out)
        self.assertIn(os.getpid(), [process["pid"] for process in one["processes"]])
        self.assertEqual(len(one["cores"]), os.cpu_count())

    def test_once_of_a_run(self):
        self.assertEqual(self.tacho("run", "-q", "-i", "50ms", "--", "sh", "-c", "sleep 0.3; :").rc, 0)
        done = self.tacho("top", "last", "--once")
        self.assertRegex(done.out, r"(?m)^ended · sh -c")
        self.assertRegex(done.out, r"(?m)^ +\d+ .*└ sleep 0.3$")
        self.assertIn("*TIME", done.out)
        one = json.loads(self.tacho("top", "last", "--once", "--json").out)
        self.assertIn("sleep 0.3", [process["name"] for process in one["processes"]])

    def test_a_run_that_goes_on(self):
        process = self.spawn("run", "-q", "-i", "50ms", "--", "sh", "-c", "sleep 1; exec cat", stdin=subprocess.PIPE)
        self.assertTrue(until(lambda: json.loads(self.tacho("runs", "--json").out)[0]["samples"] > 0))
        self.open()
        self.start("top", "last", "-i", "50ms")
        self.see("└ sleep 1")
        self.assertTrue(until(lambda: "sleep 1" not in self.picture().split("COMMAND")[1]))
        process.stdin.close()
        self.assertEqual(process.wait(30), 0)
        self.see("^ended · ")
        self.check_terminal(0)


class Live(Screen):
    JOB = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.1; done; read x; echo got $x; exit 3"]

    def test_below_the_output(self):
        self.open()
        self.start("run", "--live", "-i", "50ms", "--", *self.JOB)
        self.see(r"(?s)^line 9\n.*^cpu .*\*CPU +MEMORY.*└? ?sh -c for i")
        self.assertEqual(int(self.ask("scroll_region_lower")), 11)
        self.tmux("resize-window", "-x", "60", "-y", "30")
        self.assertTrue(until(lambda: int(self.ask("scroll_region_lower")) == 14))
        self.keys("word", "Enter")
        self.see("^got word$")
        self.check_terminal(3)

    def test_wide_characters_take_two_columns(self):
        """They are cut where the terminal ends, not where it would end if each took one."""
        self.open(60, 24)
        name = "漢字🚀" * 20
        self.start("run", "--live", "-i", "50ms", "--", "bash", "-c", f"exec -a {name} sleep 3")
        self.see(r"(?s)^bash -c .*漢字🚀.*…$.*^ +\d+ .* 漢字🚀.*…$")
        self.keys("C-c")
        self.see("killed by SIGINT")

    def test_stopped_and_killed(self):
        self.open()
        pid = self.start("run", "--live", "-i", "50ms", "--", *self.JOB)
        self.see(r"(?s)^line 9\n.*^cpu ")
        self.keys("C-z")
        self.assertTrue(until(lambda: process_state(pid) == "T"))
        self.assertTrue(until(lambda: int(self.ask("scroll_region_lower")) == 23))
        self.keys("clear; fg", "Enter")
        self.see(r"^cpu .*cores")
        os.kill(pid, signal.SIGSEGV)
        self.assertTrue(until(lambda: int(self.ask("scroll_region_lower")) == 23))

    def test_one_quiet_line(self):
        self.open()
        self.start("run", "--progress", "100ms", "-i", "50ms", "--", *self.JOB)
        self.see(r"(?s)^line 9\n\n.*^\S+s · cpu .*\Z")
        self.assertEqual(int(self.ask("scroll_region_lower")), 22)
        self.keys("word", "Enter")
        self.check_terminal(3)

    def test_nothing_in_logs(self):
        done = self.tacho("run", "--live", "-q", "-i", "20ms", "--", "sh", "-c", "echo out; sleep 0.1; echo err >&2")
        self.assertEqual((done.rc, done.out, done.err), (0, "out\n", "err\n"))


if __name__ == "__main__":
    unittest.main()
