"""What it costs to see who used the machine: the tick with processes.csv and devices.csv against one without them, and `tacho top`, on a
terminal of 200 columns and 60 lines, once a second."""
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import termios
import time

import waits
from peer import cpu_s

WITHOUT = ("--processes", "off", "--no-devices")
GOALS = {1: 1.15, 10: None, 100: 1.1, 1000: None}


class Shown:
    """A program on a terminal that somebody reads, as a terminal does, while time passes."""

    def __init__(self, words, env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env={**env, "TERM": "xterm-256color"}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # its own: who is not in front gets no keys
        os.close(slave)

    def read_for(self, seconds):
        """The bytes that came."""
        end, count = time.monotonic() + seconds, 0
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    count += len(os.read(self.master, 1 << 16))
                except OSError:  # it has ended
                    break
        return count

    def end(self):
        os.write(self.master, b"q")
        while self.process.poll() is None:  # it may wait for a reader
            self.read_for(0.1)
        os.close(self.master)


def share_of_core(bench, words, seconds):
    """Percent of a core, without the start; and bytes a second to the terminal."""
    shown = Shown([bench.program("tacho"), "top", "-i", "1s", *words], bench.env)
    shown.read_for(3)
    before, began = cpu_s(shown.process.pid), time.monotonic()
    count = shown.read_for(seconds)
    used, wall = cpu_s(shown.process.pid) - before, time.monotonic() - began
    shown.end()
    return used / wall * 100, count / wall


def top_table(bench):
    seconds, rounds, count = (5, 1, 300) if bench.quick else (20, 3, 1000)
    print(f"\n## tacho top, once a second, with {count} processes, a tenth of them active\n")
    print("| | % of a core (goal: below 2) | KB a second to the terminal |\n|---|---:|---:|")
    was, bench.interval_s = bench.interval_s, 1.0
    target = bench.tree(count)
    recorder, path = bench.start_tacho(["attach", "-i", "1", "--pid", str(target.pid)])
    kinds = {"the machine": [], "--pid": ["--pid", str(target.pid)], "a run": [os.path.dirname(path)]}
    for name, words in kinds.items():
        found = [share_of_core(bench, words, seconds) for _ in range(rounds)]
        print(f"| {name} | {statistics.median(share for share, _ in found):.2f} | {statistics.median(count for _, count in found) / 1000:.1f} |", flush=True)
    recorder.terminate()
    recorder.wait()
    bench.end(target)
    bench.interval_s = was
    print()


def table(bench):
    waits.ticks(bench, "processes and devices", WITHOUT, GOALS)
    top_table(bench)
