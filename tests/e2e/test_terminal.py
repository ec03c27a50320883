"""tacho under a real terminal: a pseudo terminal with a shell that does job control."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from support import TACHO, Case, burner, children_of, marked_pids, process_state, program_among, until


class Terminal(Case):
    def open(self, *command):
        """Starts a command with a controlling terminal of its own."""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(["setsid", "-c", "-w"] + list(command), stdin=slave, stdout=slave, stderr=slave,
                                        env=self.environment({"PS1": "$ ", "TERM": "dumb"}), cwd=self.dir)
        os.close(slave)
        self.screen = ""
        self.addCleanup(self.close)

    def close(self):
        self.end_marked()
        self.process.wait()
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, pattern, seconds=20):
        """Reads the screen until the pattern is there; drops what was matched."""
        end = time.monotonic() + seconds
        while not (match := re.search(pattern, self.screen)):
            if time.monotonic() > end or not self.more(0.1):
                if time.monotonic() > end or self.process.poll() is not None:
                    self.fail(f"no {pattern!r} on the screen:\n{self.screen}")
        self.screen = self.screen[match.end():]
        return match

    def more(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.screen += data.decode(errors="replace")
        return bool(data)

    def settle(self, seconds=0.4):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.more(0.05)

    def find(self, name):
        """The pid of a marked process by its program file."""
        return program_among(marked_pids(self.mark), name)

    def test_top(self):
        self.open(TACHO, "top", "-i", "100ms")
        self.expect("tacho top · the whole machine")
        self.expect(r"cpu .* cores")
        self.expect("tacho top · the whole machine")  # drawn again
        self.type("\x03")
        self.assertTrue(until(lambda: self.process.poll() is not None or (self.more(0.01), False)[1]))
        self.assertEqual(self.process.returncode, 0)

    def test_ctrl_c_arrives_once(self):
        self.open(TACHO, "run", "-q", "--", burner("signals"), "5")
        self.expect("ready ")
        self.type("\x03")
        self.expect("INT from")
        self.settle()
        self.assertNotIn("INT from", self.screen)
        self.type("\x1c")
        self.expect("QUIT from")
        self.settle()
        self.assertNotIn("QUIT from", self.screen)
        os.kill(self.find("tacho"), 15)
        self.expect("TERM from")
        self.assertEqual(self.process.wait(30), 5)

    def test_ctrl_c_ends_a_plain_job(self):
        self.open(TACHO, "run", "--", "sleep", "60")
        self.assertTrue(until(lambda: self.find("sleep")))
        self.type("\x03")
        self.expect("tacho: ")
        self.assertEqual(self.process.wait(30), -2)

    def test_window_size(self):
        self.open(TACHO, "run", "-q", "--", burner("signals"), "5")
        self.expect("ready ")
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
        self.expect("WINCH from .* size 132x50")
        self.settle()
        self.assertNotIn("WINCH from", self.screen)
        os.kill(self.find("tacho"), 15)
        self.assertEqual(self.process.wait(30), 5)

    def test_ctrl_z_stops_both_and_fg_continues(self):
        self.open("bash", "--norc", "-i")
        self.expect(r"\$ ")
        self.type(f"{TACHO} run -q -- sh -c 'echo up; sleep 2; exit 4'; echo status=$?\n")
        self.expect("up\r")
        agent = self.find("tacho")
        job = [pid for pid, _ in children_of(agent)][0]
        self.assertTrue(until(lambda: self.find("sleep")))  # a shell within vfork cannot stop
        self.type("\x1a")
        self.assertTrue(until(lambda: process_state(agent) == "T"), "tacho is not stopped")
        self.assertTrue(until(lambda: process_state(job) == "T"), "the job is not stopped")
        self.expect("Stopped")
        self.settle(0.2)
        self.type("fg; echo again=$?\n")
        self.expect("again=4", 30)
        self.type("exit\n")
        self.process.wait(30)

    def test_the_job_owns_the_terminal(self):
        """The job stays in the foreground group: it may read the terminal."""
        self.open("bash", "--norc", "-i")
        self.expect(r"\$ ")
        self.type(f"{TACHO} run -q -- sh -c 'echo ask; read word; echo got=$word'\n")
        self.expect("ask\r")
        self.type("hello\n")
        self.expect("got=hello")
        self.type("exit\n")
        self.process.wait(30)

    def test_inherits_the_foreground_group(self):
        self.open("bash", "--norc", "-i")
        self.expect(r"\$ ")
        self.type(f"{TACHO} run -q -- {burner('inherit')}\n")
        text = self.expect(r'"pgrp":(\d+),"sid":(\d+),"foreground":(-?\d+)')
        self.assertEqual(text.group(1), text.group(3))
        self.type("exit\n")
        self.process.wait(30)

    def test_background_job(self):
        """In the background, with the summary on the terminal, tacho does not stop for output (TTOU)."""
        self.open("bash", "--norc", "-i")
        self.expect(r"\$ ")
        self.type(f"{TACHO} run -- sleep 0.2 & wait; echo end=$?\n")
        self.expect("end=0")
        self.type("exit\n")
        self.process.wait(30)

    def test_a_terminal_that_is_closed_on_the_leader_of_its_session(self):
        """As of `ssh -t host tacho run ...`: the kernel tells the leader alone, which is tacho."""
        self.open("sh", "-c", f"exec {TACHO} run -q -- sleep 60")
        self.assertTrue(until(lambda: self.find("sleep")))
        os.close(self.master)
        self.master = os.open("/dev/null", os.O_RDONLY)
        self.assertTrue(until(lambda: not self.find("sleep")), "the job was not told")
        self.assertTrue(until(lambda: self.the_run()[0]["outcome"].get("exit_code") == 129))

    def test_hang_up(self):
        """The terminal goes away: the job gets HUP and the run is closed."""
        self.open("bash", "--norc", "-i")
        self.expect(r"\$ ")
        self.type(f"{TACHO} run -q -- sleep 60\n")
        self.assertTrue(until(lambda: self.find("sleep")))
        os.kill(self.process.pid, 0)
        os.kill(self.find("tacho"), 1)
        self.expect(r"(?i)hangup|\$ ")
        run, _ = self.the_run()
        self.assertEqual(run["outcome"]["exit_code"], 129)
        self.type("exit\n")
        self.process.wait(30)
