#!/usr/bin/env python3
"""Kills tacho at random moments in bad weather, and counts: chaos.py BUILD_DIR [-n RUNS] [-j AT_A_TIME] [--seed N].

Each run has a random fault script for the service and for S3 and is killed (SIGKILL) at a random moment, half of them together
with its deliverer, which may have been killed before, up to three times, and been started again. Afterwards the weather clears and `tacho deliver --all` sends what is left. Every row of the local CSV must
then stand exactly once behind the run's finish call. The last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Service  # noqa: E402
from support import deliverers, marked_pids  # noqa: E402

ACTIONS = [{"status": 500}, {"status": 503, "code": "SlowDown"}, {"status": 429, "headers": {"Retry-After": "1"}}, {"reset": "start"},
           {"reset": "body"}, {"reset": "answer"}, {"half_close": True}, {"slow_s": 0.002}, {"delay_s": 0.5}]
S3_ACTIONS = ACTIONS + [{"status": 403, "code": "ExpiredToken"}, {"status": 403, "code": "AccessDenied"},
                        {"status": 400, "code": "RequestTimeout"}]


def weather(dice, actions, paths):
    rules = []
    for _ in range(dice.randint(0, 4)):
        match = {"path": dice.choice(paths), "from": dice.randint(1, 4)}
        match["to"] = match["from"] + dice.randint(0, 3)
        rules.append({"match": match, "action": dice.choice(actions)})
    return rules


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def one(number, seed, tacho):
    """What went wrong, or nothing."""
    dice = random.Random(f"{seed}-{number}")
    folder = tempfile.mkdtemp(prefix="tacho-chaos-")
    mark = f"chaos-{os.getpid()}-{number}-{seed}"
    service = Service({"life_s": dice.choice([5, 60, 3600])})
    api = weather(dice, ACTIONS, ["/runs", "/runs/.*/finish", "/runs/.*/refresh-credentials", ".*"])
    s3 = weather(dice, S3_ACTIONS, [".*"])
    service.api_faults(*api)
    service.s3_faults(*s3)
    env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_STATE_HOME": folder + "/state", "TACHO_NO_CLOUD": "1", "TACHO_E2E_MARK": mark,
           "TACHO_FINISH_TIMEOUT": "3", **service.environment()}
    try:
        job = subprocess.Popen([tacho, "run", "-q", "-i", "0.05", "--upload-interval", "1", "--", "sleep", str(dice.uniform(0.1, 4))], env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        begun, end_s = time.monotonic(), dice.uniform(0.02, 4.5)
        for moment_s in sorted(dice.uniform(0.02, 4.5) for _ in range(dice.choice([0, 0, 1, 2, 3]))):
            if moment_s < end_s:
                time.sleep(max(0, begun + moment_s - time.monotonic()))
                kill(deliverers(mark))
        time.sleep(max(0, begun + end_s - time.monotonic()))
        victims = [job.pid]
        if dice.random() < 0.5:
            victims = marked_pids(mark)
            dice.shuffle(victims)
        kill(victims)
        job.communicate()
        service.api_faults()
        service.s3_faults()
        done = subprocess.run([tacho, "deliver", "--all"], env=env, capture_output=True, text=True, timeout=180)
        left = glob.glob(folder + "/state/tacho/spool/2*")
        what = f"run {number} (seed {seed}): weather {api} {s3}; {done.stdout}{done.stderr}"
        if done.returncode != 0 or left:
            return f"not delivered: {left}; {what}"
        local = []
        for path in glob.glob(folder + "/state/tacho/runs/*/metrics.csv"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            local += text[:text.rfind("\n") + 1].splitlines()[1:]
        finished = service.finished()
        if len(finished) > 1 or local and not finished:
            return f"{len(finished)} runs are finished, {len(local)} rows recorded; {what}"
        remote = collections.Counter(service.rows(finished[0])) if finished else collections.Counter()
        lost = [row for row in local if remote[row] == 0]
        doubled = [row for row, count in remote.items() if count > 1]
        if lost or doubled or len(remote) > len(local) + 1:
            return f"{len(lost)} lost, {len(doubled)} doubled, {len(remote)} remote, {len(local)} local; {what}"
        if any(entry["bodies"] > 1 for entry in service.s3.listing().values()):
            return f"an object was put with different contents; {what}"
        return None
    except Exception as error:  # a test that fails, not one that ends the others
        return f"run {number} (seed {seed}): {error!r}"
    finally:
        kill(marked_pids(mark))
        service.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("-n", type=int, default=20, help="runs (20)")
    parser.add_argument("-j", type=int, default=4, help="at a time (4)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    tacho = os.path.join(os.path.abspath(options.build_dir), "bin", "tacho")
    print(f"seed {options.seed}", flush=True)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for future in [pool.submit(one, number, options.seed, tacho) for number in range(options.n)]:
            if problem := future.result():
                bad += 1
                print(problem, flush=True)
    print(f"{options.n - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
