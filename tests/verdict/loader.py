#!/usr/bin/env python3
"""A training loop without a GPU: loader.py slow|mended SECONDS. A worker loads items, the loop uses each for 5 ms of CPU time.

slow: an item takes 400 ms to come, as from a far server, so that the loop waits for the worker's pipe. mended: items come at once, so that the loop
itself is what takes the time. Prints the same line as the burners.
"""
import json
import multiprocessing
import resource
import sys
import time


def load(out, delay_s):
    while True:
        time.sleep(delay_s)
        out.send(b"x" * 4096)


def use(item):
    end = time.process_time() + 0.005
    while time.process_time() < end:
        sum(item)


def waited_for_a_core_s():
    with open("/proc/self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


def main():
    slow, seconds = sys.argv[1] == "slow", float(sys.argv[2])
    source, out = multiprocessing.Pipe(False)
    worker = multiprocessing.Process(target=load, args=(out, 0.4 if slow else 0), daemon=True)
    worker.start()
    rounds, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        use(source.recv())
        rounds += 1
    worker.terminate()
    worker.join()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"burner": "loader", "rounds": rounds, "delay_s": waited_for_a_core_s(), "user_s": sum(one.ru_utime for one in used),
                      "system_s": sum(one.ru_stime for one in used)}))


if __name__ == "__main__":
    main()
