"""The metrics collector and the DB manager, each killed at random moments, with a connection that loses answers after the
commit. When training and collector have ended, every row is stored exactly once."""
import collections
import os
import signal
import time

from katib_pod import PodCase
from tcp_faults import TcpFaults

ROWS = 400
TRAINER = f"(for i in $(seq 1 {ROWS}); do echo accuracy=$i; if [ $((i % 25)) = 0 ]; then sleep 0.1; fi; done)"


class Step(PodCase):
    def runTest(self):
        dice = self.dice
        database = self.db()
        proxy = TcpFaults(("127.0.0.1", self.port))
        self.addCleanup(proxy.close)
        address, extra = f"127.0.0.1:{proxy.port}", ["--profile", dice.choice(["drop-in", "tacho"]), "--report", dice.choice(["20ms", "200ms"])]
        trainer = self.trainer(TRAINER)
        collector = self.collector(*extra, address=address, metrics="accuracy")
        told = []
        for _ in range(dice.randint(1, 5)):
            time.sleep(dice.uniform(0.02, 0.5))
            act = dice.choice(["lose", "cut", "refuse", "db", "kill", "kill"])
            told.append(act)
            if act == "lose":
                proxy.lose_replies(dice.randint(1, 3), self.trial.encode())
            elif act == "cut":
                proxy.cut()
            elif act == "refuse":
                proxy.refuse(True)
                time.sleep(dice.uniform(0, 1))
                proxy.refuse(False)
            elif act == "db":
                database.kill()
                database.wait()
                time.sleep(dice.uniform(0, 0.5))
                database = self.db()
            elif collector.poll() is None or trainer.poll() is None:
                try:
                    os.kill(self.host_pid(collector), signal.SIGKILL)
                except (OSError, TypeError):
                    pass
                collector.wait(20)
                collector = self.collector(*extra, address=address, metrics="accuracy")
        proxy.lose_replies(0, b"")
        self.ends(collector, 0, 120)
        counts = collections.Counter(int(float(row[2])) for row in self.rows())
        missing = [i for i in range(1, ROWS + 1) if counts[i] == 0]
        twice = [i for i, times in counts.items() if times > 1]
        self.assertEqual(missing, [], f"lost: {told} {extra} {self.errors(collector)}")
        self.assertEqual(twice, [], f"doubled: {told} {extra} {self.errors(collector)}")
        self.assertEqual(trainer.wait(20), 0, f"hurt: the trainer; {told}")
        database.terminate()
        database.wait(20)
