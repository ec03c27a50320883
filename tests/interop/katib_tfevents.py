"""Event files by real writers (tensorboardX and TensorBoard's own, from PyPI), read by `tacho-katib collect` and by TensorBoard's
reader as Katib's collector uses it: the same rows in the same order, times to the second. Called by katib.py."""
import json

from common import BIN, check, fresh, run, venv
from katib_parts import Pod, tacho_on_sqlite

METRICS = "loss;train/accuracy;test/accuracy;lr"

WRITE = r"""
import sys
import numpy
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.summary import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboardX import SummaryWriter

root = sys.argv[1]
for run in ("train", "test"):
    with SummaryWriter(f"{root}/{run}", write_to_disk=True) as writer:
        for step in range(50):
            time = 1_700_000_000 + step * 0.75
            writer.add_scalar("accuracy", 1 - 1 / (step + 1), step, walltime=time)
            writer.add_scalar("loss", 10.0 ** (5 - step), step, walltime=time)
            writer.add_scalars("both", {"a": step, "b": -step}, step, walltime=time)
            writer.add_histogram("weights", numpy.arange(100.0), step, walltime=time)
            writer.add_text("note", "loss = 3", step, walltime=time)
writer = EventFileWriter(f"{root}/tensors")
for step in range(50):
    time = 1_700_000_100.999999 + step
    writer.add_event(Event(wall_time=time, step=step, summary=scalar_pb("loss", 1.1 ** step / 7)))
    writer.add_event(Event(wall_time=time, step=step, summary=Summary(value=[Summary.Value(tag="lr", simple_value=0.1 ** step)])))
writer.close()
"""

READ = r"""
import datetime, json, os, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

rows = []
for folder, folders, files in os.walk(sys.argv[1]):
    folders.sort()
    for name in sorted(files):
        if "tfevents" not in name:
            continue
        events = EventAccumulator(os.path.join(folder, name), size_guidance={"tensors": 0, "scalars": 0})
        events.Reload()
        for kind in ("tensors", "scalars"):
            for tag in events.Tags()[kind]:
                for metric in sys.argv[2].split(";"):
                    place = os.path.dirname(metric) if "/" in metric else folder
                    if not tag.startswith(metric.split("/")[-1]) or not folder.endswith(place):
                        continue
                    for event in events.Tensors(tag) if kind == "tensors" else events.Scalars(tag):
                        value = make_ndarray(event.tensor_proto) if kind == "tensors" else event.value
                        time = datetime.datetime.fromtimestamp(event.wall_time, datetime.timezone.utc)
                        rows.append([time.strftime("%Y-%m-%d %H:%M:%S"), metric, str(value)])
print(json.dumps(rows))
"""


def check_real_writers():
    python = venv("tfevents", "tensorboardX", "tensorboard", "numpy")
    written = fresh("tfevents")
    run(python, "-c", WRITE, written)
    expected = json.loads(run(python, "-W", "ignore", "-c", READ, written, METRICS).strip().splitlines()[-1])
    manager = tacho_on_sqlite("tfevents-store").up()
    with Pod("tfevents") as pod:
        trainer = pod.train(f"sleep 1; cp -r {written}/. {pod.folder}/; sleep 1")
        collector = pod.enter(BIN / "tacho-katib", "collect", "-t", "tfevents", "-m", METRICS, "-o-type", "minimize", "-s-db", manager.address,
                              "-path", pod.folder, "--kind", "TensorFlowEvent", "--profile", "drop-in", "--report", "end", log="collector.log")
        trainer.wait(60)
        code = collector.wait(60)
    ours = [[row[0][:19].replace("T", " "), row[1], row[2]] for row in manager.rows("tfevents")]
    different = next((f"row {i}: {a} is not {b}" for i, (a, b) in enumerate(zip(ours, expected)) if a != b), f"{len(ours)} rows, not {len(expected)}")
    check(f"event files of real writers: {len(expected)} rows alike", code == 0 and len(expected) >= 300 and ours == expected,
          f"exit {code}; {different}")
