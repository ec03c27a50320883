"""What goes wrong around a collector: it is killed, its DB manager is killed, answers are lost. Whatever happens, each row is stored
once. Written for katib.py."""
import os
import random
import signal
import sys
import time

from common import ROOT, check, until
from katib_parts import Pod
from katib_trials import TACHO, child_of, collect, each_once, feeder

sys.path.insert(0, str(ROOT / "tests/doubles"))
from tcp_faults import TcpFaults  # noqa: E402: beside the other doubles


def killed_collector(manager):
    """SIGKILL at random moments while training runs: no row twice, none missing."""
    rng = random.Random(manager.name)
    trial = f"killed-{manager.name}"
    kills = 0
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 8))
        (pod.folder / "go").touch()
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        while trainer.poll() is None:
            time.sleep(rng.uniform(0.05, 0.9))
            if trainer.poll() is None:
                os.kill(until(lambda: child_of(collector.pid), 5, "the collector"), 9)
                collector.wait()
                kills += 1
                collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        code = collector.wait(60)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: killed {kills} times, each row once", code == 0 and kills > 5 and not fault, f"exit {code}, {fault}")


def killed_manager(manager):
    """The DB manager away at the start, killed in the middle, and away at the end."""
    trial = f"away-{manager.name}"
    manager.down()
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 6))
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms"])
        time.sleep(1.5)
        manager.up()
        for _ in range(3):
            time.sleep(1)
            manager.down()
            time.sleep(0.3)
            manager.up()
        manager.down()
        (pod.folder / "go").touch()
        trainer.wait(60)
        time.sleep(1)
        alive = collector.poll() is None
        manager.up()
        code = collector.wait(120)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: killed 4 times, each row once", alive and code == 0 and not fault, f"exit {code}, {'' if alive else 'ended early, '}{fault}")


def lost_replies(manager):
    """The manager commits, and its answer never arrives."""
    trial = f"lost-{manager.name}"
    proxy = TcpFaults(("127.0.0.1", manager.port))
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 6))
        (pod.folder / "go").touch()
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms", "--rpc-timeout", "5s"], f"127.0.0.1:{proxy.port}")
        for _ in range(4):
            time.sleep(1)
            proxy.lose_replies(1, trial.encode())
        trainer.wait(60)
        code = collector.wait(120)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: {proxy.lost} answers lost, each row once", code == 0 and proxy.lost >= 3 and not fault, f"exit {code}, {fault}")
    proxy.close()


def late_commits(manager):
    """The manager stands still for longer than a call may take, again and again, and then does all that was asked of it meanwhile."""
    trial = f"late-{manager.name}"
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 2000, 6))
        (pod.folder / "go").touch()
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "100ms", "--rpc-timeout", "500ms"])
        for _ in range(3):
            time.sleep(0.5)
            manager.process.send_signal(signal.SIGSTOP)
            time.sleep(1.2)
            manager.process.send_signal(signal.SIGCONT)
        trainer.wait(60)
        code = collector.wait(120)
    fault = each_once(manager.rows(trial), 2000)
    check(f"{trial}: stood still 3 times, each row once", code == 0 and not fault, f"exit {code}, {fault}")


def many_rows(manager):
    """100,000 rows of one trial, in chunks that the database takes."""
    trial = f"many-{manager.name}"
    with Pod(trial) as pod:
        trainer = pod.train(feeder(pod, 100_000, 0))
        (pod.folder / "go").touch()
        collector = collect(pod, manager, trial, TACHO, "TEXT", ["--report", "end"])
        trainer.wait(120)
        code = collector.wait(300)
    fault = each_once(manager.rows(trial), 100_000)
    check(f"{trial}: 100,000 rows, each once", code == 0 and not fault, f"exit {code}, {fault}")
