"""1,000 short jobs a minute with --deliver later and one follower, through an outage of the receiver, the follower killed twice."""
import atexit
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from common import BIN, check, say, until
from metrics_compare import compare

JOBS_A_MINUTE = 1000


class Follower:
    """One process after the other; their CPU time and memory."""

    def __init__(self, place):
        self.place, self.most_kib, self.cpu_s, self.process = place, 0, 0.0, None
        atexit.register(self.end_what_is_left)
        self.start()

    def end_what_is_left(self):
        """However the test comes to its end."""
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    def start(self):
        self.process = subprocess.Popen([BIN / "tacho", "deliver", "--follow"], env=self.place.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def look(self):
        """tacho has become tacho-deliver by exec, or waits for it as its parent."""
        for pid in [self.process.pid, *self.children()]:
            try:
                with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                    self.most_kib = max([self.most_kib] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
            except OSError:
                pass

    def children(self):
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def end(self, sig):
        self.look()
        before = os.times()
        for pid in [*self.children(), self.process.pid] if sig == signal.SIGKILL else [self.process.pid]:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        begun = time.monotonic()
        self.process.wait(30)
        after = os.times()
        self.cpu_s += after.children_user + after.children_system - before.children_user - before.children_system
        return time.monotonic() - begun


def waits_of_a_job(place, address, memory, count=40):
    """Milliseconds of a job: plain, with --deliver later, and so with its spool in memory. By turns: others use the machine, too."""
    later = ("--deliver", "later", "-o", address)
    kinds = (((), {}), (later, {}), (later, {"TACHO_SPOOL_DIR": memory}))
    times = [[] for _ in kinds]
    for _ in range(count):
        for (options, env), own in zip(kinds, times):
            begun = time.monotonic()
            subprocess.run([BIN / "tacho", "run", "-q", *options, "--", "true"], env={**place.env, **env}, check=True)
            own.append((time.monotonic() - begun) * 1000)
    return times


def start_jobs(place, address, until_s, jobs, running):
    """Those that are due by now, one every 60 ms."""
    while len(jobs) < until_s * JOBS_A_MINUTE / 60:
        jobs.append(subprocess.Popen([BIN / "tacho", "run", "-q", "--deliver", "later", "-o", address, "--", "true"], env=place.env,
                                     stdin=subprocess.DEVNULL))
        running.append(jobs[-1])
    running[:] = [one for one in running if one.poll() is None]


def is_gone(place):
    """Now, when no more runs wait than begin within two seconds: others go on to come."""
    return len(place.waiting()) < JOBS_A_MINUTE / 60 * 2 and time.monotonic()


def load(server, place, waits, minutes):
    address, seconds = f"prometheus+{server.url}{server.path}", minutes * 60
    memory = tempfile.mkdtemp(prefix="tacho-interop-", dir="/dev/shm")
    atexit.register(shutil.rmtree, memory, True)
    times = waits_of_a_job(waits, address, memory)
    plain, later, in_memory = (statistics.median(own) for own in times)
    # The quickest of each, without the disk's five fsync: how busy disk and processors are is not ours.
    check("load: a job waits at most 8 ms more, but for the disk", min(times[2]) - min(times[0]) <= 8, (min(times[0]), min(times[2])))
    follower = Follower(place)
    chance = random.Random(19)
    kills = sorted(chance.uniform(0.1, 0.95) * seconds for _ in range(2))
    say(f"{minutes} minutes of {JOBS_A_MINUTE} jobs a minute; receiver away from {0.3 * seconds:.0f} s to {0.8 * seconds:.0f} s; follower killed at "
        + " s, ".join(f"{at:.0f}" for at in kills) + " s")
    begun, jobs, running, away, back, gone, most = time.monotonic(), [], [], False, None, None, 0
    while (now := time.monotonic() - begun) < seconds:
        start_jobs(place, address, now, jobs, running)
        if kills and now > kills[0]:
            kills.pop(0)
            follower.end(signal.SIGKILL)
            follower.start()
        if not away and back is None and now > 0.3 * seconds:
            server.stop()
            away = True
        if away and now > 0.8 * seconds:
            server.start()
            away, back = False, time.monotonic()
            most = len(place.waiting())
        if back and not gone:
            gone = is_gone(place)
        follower.look()
        time.sleep(0.03)
    gone = gone or until(lambda: is_gone(place), 120, "the backlog")
    check("load: all jobs ended well", all(one.wait(60) == 0 for one in jobs))
    until(lambda: not place.waiting(), 120, "an empty spool")
    took = time.monotonic() - begun
    end_s = follower.end(signal.SIGTERM)
    say(f"{len(jobs)} jobs in {took:.0f} s; {most} runs waited when the receiver came back, gone {max(0, gone - back):.1f} s after; follower: "
        f"{follower.most_kib / 1024:.1f} MiB at most, {100 * follower.cpu_s / took:.1f} % of a core, ended {end_s:.2f} s after SIGTERM; "
        f"a job: {plain:.1f} ms, {later:.1f} ms with --deliver later, {in_memory:.1f} ms with its spool in memory")
    check("load: the backlog is gone within 60 s", gone - back <= 60, gone - back)
    check("load: the follower takes at most 64 MiB", 0 < follower.most_kib <= 64 << 10, follower.most_kib)
    check("load: and at most 25 % of a core", follower.cpu_s <= 0.25 * took, follower.cpu_s)
    check("load: it ends within 5 s", end_s < 5, end_s)
    compare_all(server, place, len(jobs))


def compare_all(server, place, count):
    """Each run's last figures, once by their time stamps."""
    folders = [folder for folder in place.runs() if (folder / "metrics.csv").exists()]
    lost, wrong, again = 0, [], 0
    for folder in folders:
        stored, twice = server.stored(f'run_id="{folder.name}"')
        again += twice
        lost += not stored
        if stored and (why := compare(server, folder)):
            wrong.append(why)
    check(f"load: {count} runs, 0 lost", len(folders) == count and lost == 0, (len(folders), count, lost))
    check("load: every cell of each is there, no other value", not wrong, wrong[:2])
    say(f"samples that were sent again because the follower was killed between an answer and its note: {again}")
    check("load: no more than one request a kill came again", again <= 2 * 10_000, again)
    check("load: no dead letter", not place.letters())
