"""A trial in a pod of its own: a trainer that writes a log, and a collector beside it, Katib's or tacho's."""
import katib_logs
from common import BIN
from katib_parts import Pod

TACHO = BIN / "tacho-katib"


def collect(pod, manager, trial, program, form, more=(), address=None):
    """The collector beside the trainer; `address` when something stands before the manager."""
    flags = ["-t", trial, "-m", katib_logs.METRICS, "-o-type", "minimize", "-s-db", address or manager.address, "-path", pod.log, "-format", form, "-p", "100ms", *more]
    command = [TACHO, "collect"] if program == TACHO else [program]
    return pod.enter(*command, *flags, log=f"{trial}.log")


def one_run(name, manager, trial, program, log, form, more=()):
    """A pod whose trainer writes the log and succeeds; returns the rows that the collector stored."""
    with Pod(f"{name}-{trial}") as pod:
        (pod.folder / "given").write_bytes(log.encode())
        pod.log.write_bytes(b"")
        trainer = pod.train(f"sleep 0.5; cat {pod.folder}/given > {pod.log}")
        collector = collect(pod, manager, trial, program, form, more)
        trainer.wait(30)
        code = collector.wait(60)
    if code != 0:
        raise RuntimeError(f"{program} ended with {code}: {(pod.folder / f'{trial}.log').read_text(errors='replace')[-1000:]}")
    return manager.rows(trial)


def feeder(pod, rows, seconds):
    """Shell of a trainer that prints rows over some time, and its last ones when the file `go` is there."""
    (pod.folder / "given").write_text("".join(f"2026-11-15T09:{i // 60 % 60:02}:{i % 60:02}Z step={i} loss={i}.5\n" for i in range(rows)))
    pod.log.write_bytes(b"")
    step = rows // 40
    return (f"for i in $(seq 40); do [ $i -lt 40 ] || while [ ! -e {pod.folder}/go ]; do sleep 0.1; done; "
            f"sed -n \"$(( (i - 1) * {step} + 1 )),$(( i * {step} ))p\" {pod.folder}/given >> {pod.log}; sleep {seconds / 40}; done")


def each_once(rows, expected):
    values = [row[2] for row in rows]
    missing = set(f"{i}.5" for i in range(expected)) - set(values)
    return "" if len(values) == expected and not missing else f"{len(values)} rows, {len(missing)} missing, {len(values) - len(set(values))} twice"


def child_of(pid):
    """nsenter stays outside; its child is the collector."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return int(children[0]) if children else None
