"""What the verdict costs: the tick with and without the probes that it needs, at 100 ms and at the default of a second,
and a job that lives on futexes or system calls with and without being looked at. Both sides take turns in one run, or run
side by side, so that noise hits both; ratios of medians, with the spread beside."""
import json
import os
import statistics
import subprocess
import time

from peer import cpu_s

# What came with the verdict and runs at every tick.
PROBES = "waits,pressure,cgroup_pressure"
WITHOUT = ("--no-probe", PROBES)


def spread(values):
    """Half of the distance between the quartiles, as a share of the median."""
    if len(values) < 4:
        return 0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle


def ticks(bench, what, without, goals):
    """What a tick costs with it and without, and how much more that is."""
    print(f"## The tick with {what}, against one without them\n")
    print("| processes | without, µs | with, µs | ratio | goal |\n|---:|---:|---:|---:|---:|")
    for count, goal in goals.items():
        values = {(): [], without: []}
        for _ in range(bench.rounds * 2):
            for options, found in values.items():
                found.append(bench.run(count, options))
        less, all_of_it = statistics.median(values[without]), statistics.median(values[()])
        print(f"| {count} | {less:.0f} | {all_of_it:.0f} | {all_of_it / less:.2f} (± {max(map(spread, values.values())):.2f}) | {goal or '–'} |", flush=True)


def at_the_default_interval(bench, count, pairs, seconds):
    """µs a tick of a second, without and with. All run at once, a tick each in turn: taking turns would take an hour."""
    runs = []
    for number in range(2 * pairs):
        options = WITHOUT if number % 2 else ()
        process, path = bench.start_tacho(["run", "-i", "1", *options, "--", *bench.tree_command(count)], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        runs.append((options, process, path))
        time.sleep(1.02 / (2 * pairs))
    for _, _, path in runs:
        bench.at_row(path, 5 + count // 64)
    before = [(cpu_s(process.pid), bench.rows(path)) for _, process, path in runs]
    time.sleep(seconds)
    after = [(cpu_s(process.pid), bench.rows(path)) for _, process, path in runs]
    values = {WITHOUT: [], (): []}
    for (options, process, _), (first_s, first), (last_s, last) in zip(runs, before, after):
        values[options].append((last_s - first_s) / (last - first) * 1e6)
        bench.end(process)
    return values


def default_ticks(bench):
    print("\n## The same at the default interval of a second\n")
    print("| processes | without, µs | with, µs | ratio | goal |\n|---:|---:|---:|---:|---:|")
    was = bench.interval_s
    bench.interval_s = 1.0
    for count, pairs in {1: 8, 10: 8, 100: 4, 1000: 2}.items():
        values = at_the_default_interval(bench, count, 1 if bench.quick else pairs, 5 if bench.quick else 60)
        less, all_of_it = (statistics.median(found) for found in values.values())
        print(f"| {count} | {less:.0f} | {all_of_it:.0f} | {all_of_it / less:.2f} (± {max(map(spread, values.values())):.2f}) | 1.1 |", flush=True)
    bench.interval_s = was


def rounds_a_second(bench, kind, seconds, options):
    """How fast the burner is: its own count of rounds. On one CPU, since a lock that goes from one to another takes twice as long; tacho goes where it likes."""
    command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), bench.program("burn_bound"), kind, str(seconds)]
    if options is not None:
        command = [bench.program("tacho"), "run", "-q", "--no-store", "-i", "10ms", "-o", os.path.join(bench.folder, "rows.csv"), *options, "--", *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=bench.env, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"burner"'))
    return json.loads(line)["rounds"] / seconds


def slowdown_table(bench):
    """At 10 ms, a hundred times as often as by default; the time that tacho itself takes from the cores is in both sides."""
    print("\n## A job that is looked at every 10 ms\n")
    print("| job | alone, rounds a second | tacho without waits | tacho with waits | with against without |\n|---|---:|---:|---:|---:|")
    seconds = 0.5 if bench.quick else 1
    for kind, name in (("futexes", "a lock handed over between two threads"), ("calls", "system calls that do nothing")):
        values = {None: [], WITHOUT: [], (): []}
        for _ in range(bench.rounds * 3):
            for options, found in values.items():
                found.append(rounds_a_second(bench, kind, seconds, options))
        alone, without, looked_at = (statistics.median(found) for found in values.values())
        print(f"| {name} | {alone:.0f} | {without:.0f} | {looked_at:.0f} | {looked_at / without:.3f} (± {max(map(spread, values.values())):.3f}) |", flush=True)
    print()


def table(bench):
    ticks(bench, "waits and pressure", WITHOUT, dict.fromkeys((1, 10, 100, 1000), 1.1))
    default_ticks(bench)
    slowdown_table(bench)
