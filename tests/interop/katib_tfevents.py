"""Event files by real writers (TensorFlow's of both versions, tensorboardX, TensorBoard's own), collected by Katib's own tfevent collector
with its TensorFlow and by `tacho-katib collect`, both into `tacho-katib db`: the same rows, times to the second, which is all that the other one
stores. Files come in the order of the file system there, so that the order is compared within a file. Called by katib.py."""
import collections
import os

from common import BIN, check, fresh, run
from katib_parts import Pod, tacho_on_sqlite
from tensorflow_collector import TensorFlowCollector

# Each is of one file but for the last two: loss is in several folders, and tensorboardX gives each curve of both a folder.
METRICS = ("train/accuracy;test/accuracy;train/loss;lr;board_loss;v2/loss;v2/epoch_accuracy;v2_double;v2_int;v2_half;v2_many;"
           "v1/loss;v1_again;v1_session;loss;both")

WRITE = r"""
import sys
import numpy
import tensorflow as tf
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

writer = EventFileWriter(f"{root}/board")
for step in range(50):
    time = 1_700_000_100.999999 + step
    writer.add_event(Event(wall_time=time, step=step, summary=scalar_pb("board_loss", 1.1 ** step / 7)))
    writer.add_event(Event(wall_time=time, step=step, summary=Summary(value=[Summary.Value(tag="lr", simple_value=0.1 ** step)])))
writer.close()

with tf.summary.create_file_writer(f"{root}/v2").as_default():
    for step in range(50):
        tf.summary.scalar("loss", 1 / (step + 3), step=step)
        tf.summary.scalar("epoch_accuracy", step / 50, step=step)
        tf.summary.write("v2_double", tf.constant(step / 7, tf.float64), step=step)
        tf.summary.write("v2_int", tf.constant(step * 10**12, tf.int64), step=step)
        tf.summary.write("v2_half", tf.constant(step / 9, tf.float16), step=step)
        tf.summary.histogram("weights", tf.random.normal([100]), step=step)
        tf.summary.image("picture", tf.random.uniform([1, 8, 8, 3]), step=step)
        tf.summary.text("note", "loss = 3", step=step)
        for value in range(20):
            tf.summary.scalar("v2_many", value * 1e-6, step=step)

with tf.Graph().as_default():
    writer = tf.compat.v1.summary.FileWriter(f"{root}/v1")
    for step in range(50):
        writer.add_summary(tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="loss", simple_value=0.3 * step),
                                                       tf.compat.v1.Summary.Value(tag="v1_again", simple_value=-0.7 * step)]), step)
    writer.close()
    # A restart: what was written from its step on does not count.
    writer = tf.compat.v1.summary.FileWriter(f"{root}/session")
    for begin in (0, 25):
        writer.add_session_log(tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START), begin)
        for step in range(begin, 50):
            writer.add_summary(tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="v1_session", simple_value=step + begin / 100)]), step)
    writer.close()
"""


def one_trial(manager, trial, written, start):
    """A pod whose trainer leaves the files and succeeds; the rows as they were stored, with whole seconds."""
    with Pod(f"tfevents-{trial}") as pod:
        events = pod.folder / "events"
        events.mkdir()
        (pod.folder / "written").symlink_to(written)
        # TensorFlow takes its time to start, and the trainer must not have ended by then.
        trainer = pod.enter("sh", "-c", f"while [ ! -e {pod.folder}/go ]; do sleep 0.1; done; cp -r {pod.folder}/written/. {events}/ "
                            f"&& echo completed > {events}/$$.pid", log="trainer.log")
        collector = start(pod, "-t", trial, "-m", METRICS, "-o-type", "minimize", "-s-db", manager.address, "-path", str(events), "-p", "1", "-w", "false")
        try:
            collector.wait(40 if trial == "tensorflow" else 1)
        except Exception:  # noqa: BLE001: it waits for the trainer, as it should
            (pod.folder / "go").touch()
        code = collector.wait(120)
        trainer.wait(60)
    if code != 0:
        raise RuntimeError(f"{trial} ended with {code}; see {pod.folder}")
    return [(row[0][:19].replace("T", " "), row[1], row[2]) for row in manager.rows(trial)]


def check_real_writers():
    theirs = TensorFlowCollector()
    written = fresh("tfevents")
    run(theirs.python, "-c", WRITE, written, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"})
    manager = tacho_on_sqlite("tfevents-store").up()
    expected = one_trial(manager, "tensorflow", written, theirs.start)
    ours = one_trial(manager, "tacho", written, lambda pod, *flags: pod.enter(
        BIN / "tacho-katib", "collect", *flags, "--profile", "drop-in", "--report", "end", log="collector.log"))
    for metric in METRICS.split(";"):
        a, b = ([row for row in rows if row[1] == metric] for rows in (ours, expected))
        if metric in ("loss", "both"):
            a, b = sorted(a), sorted(b)
        different = next((f"row {i}: {x} is not {y}" for i, (x, y) in enumerate(zip(a, b)) if x != y), f"{len(a)} rows, not {len(b)}")
        check(f"{theirs.versions}: {len(b)} rows of {metric} alike", a == b and len(b) >= 50, different)
    different = collections.Counter(ours)
    different.subtract(collections.Counter(expected))
    check(f"{theirs.versions}: all {len(expected)} rows alike", not any(different.values()), [row for row in different if different[row]][:3])
    manager.down()
