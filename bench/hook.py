"""What a hook adds to a task that is `true`: tacho-bash in the place of bash, Nextflow's hook in a task's wrapper, and
--deliver later. A task and the same task with the hook take turns; CPU time is that of all its processes."""
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The shape that Nextflow gives its tasks: functions, and the first argument names the one to run.
WRAPPER = """#!/bin/bash
# NEXTFLOW TASK: align (s1)
set -e
set -u
NXF_ENTRY=${1:-nxf_main}
on_exit() { printf %s "${nxf_main_ret:=$?}" > .exitcode; exit $nxf_main_ret; }
nxf_launch() {
    /bin/bash -ue @SH@
}
nxf_main() {
    trap on_exit EXIT
    NXF_SCRATCH=
    touch .command.begin
    @BEFORE@
    export NXF_TASK_WORKDIR="$PWD"
    set +e
    (nxf_launch > .command.out 2> .command.err) &
    pid=$!
    wait $pid || nxf_main_ret=$?
}
$NXF_ENTRY
"""
BEFORE = 'command -v tacho >/dev/null && eval "$(tacho hook nextflow)" || true'


def nextflow_task(bench, name, before):
    folder = os.path.join(bench.folder, "work", "3f", name)
    os.makedirs(folder)
    script = os.path.join(folder, ".command.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/bin/bash -ue\ntrue\n")
    wrapper = os.path.join(folder, ".command.run")
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(WRAPPER.replace("@SH@", script).replace("@BEFORE@", before))
    return folder, ["/bin/bash", wrapper]


def one(folder, words, env):
    """Milliseconds of wall time and of CPU time."""
    os.chdir(folder)
    if os.path.exists(".command.trace"):  # a task begins in a new folder; to replace a file makes ext4 write at once
        os.unlink(".command.trace")
    begun = time.perf_counter_ns()
    _, status, used = os.wait4(os.posix_spawn(words[0], words, env), 0)
    took = (time.perf_counter_ns() - begun) / 1e6
    if status != 0:
        raise RuntimeError(f"{words} ended with {status}")
    return took, (used.ru_utime + used.ru_stime) * 1e3


def table(bench):
    """The program of this build, and the static one that packages bring along, where it was built (cmake --preset static)."""
    measure(bench, bench.bin, "hooked", "as built")
    static = os.path.join(HERE, "..", "build/static/bin")
    if os.path.exists(os.path.join(static, "tacho-bash")):
        measure(bench, os.path.realpath(static), "hooked-static", "the static program, as packages bring it")


def measure(bench, programs, task, what):
    turns = 40 if bench.quick else 200
    env = {**bench.env, "PATH": programs + ":" + bench.env["PATH"], "TACHO_STORE": os.path.join(bench.folder, task + "-store"),
           "TACHO_SPOOL_DIR": os.path.join(bench.folder, task + "-spool")}
    true = ["-c", "true"]
    tacho = [os.path.join(programs, "tacho"), "run", "-q"]
    later = ["--deliver", "later", "-o", "prometheus+http://127.0.0.1:9/write"]
    pairs = {
        "`tacho-bash -c true`": ((bench.folder, ["/bin/bash", *true]), (bench.folder, [os.path.join(programs, "tacho-bash"), *true]), 5),
        "Nextflow's wrapper with `tacho hook nextflow`": (nextflow_task(bench, task + "-plain", ":"), nextflow_task(bench, task, BEFORE), 5),
        "`--deliver later`, beside `tacho run`": ((bench.folder, [*tacho, "--", "true"]), (bench.folder, [*tacho, *later, "--", "true"]), 8),
    }
    print(f"## What a hook adds to `true`, ms, median of {turns}: {what}\n\n| | without | with | added | ratio | CPU, without | with | goal |\n|---|---|---|---|---|---|---|---|")
    here = os.getcwd()
    for name, (plain, hooked, goal) in pairs.items():
        print(f"# hook: {name}", file=sys.stderr, flush=True)
        times = ([], [])
        for _ in range(turns):
            for (folder, words), own in zip((plain, hooked), times):
                own.append(one(folder, words, env))
        (wall, cpu), (hooked_wall, hooked_cpu) = ([statistics.median(values) for values in zip(*own)] for own in times)
        print(f"| {name} | {wall:.2f} | {hooked_wall:.2f} | {hooked_wall - wall:.2f} | {hooked_wall / wall:.1f} | {cpu:.2f} | {hooked_cpu:.2f} | ≤ {goal} |", flush=True)
    os.chdir(here)
    print(flush=True)
