"""The Trial controller over an API server that fails at lists, watches and writes, and loses connections, while the controller
itself is killed and started again. Every Trial reaches its end with the right figures, whatever its neighbours look like."""
import copy
import signal
import time

from cluster import ClusterCase, a_trial, observation
from test_kube_trials import ROWS

ACTIONS = [{"status": 500}, {"status": 503}, {"status": 429, "headers": {"Retry-After": "1"}}, {"status": 410}, {"status": 403}, {"reset": "start"},
           {"reset": "answer"}, {"half_close": True}, {"delay_s": 0.5}, {"status": 200, "body": "{"}, {"status": 200, "body": "[]"}]
PATHS = [".*/trials", ".*/jobs", ".*/trials/.*", ".*/status", ".*/leases/.*", ".*"]
EXPECTED = {"accuracy": ("0.5", "0.91", "0.80"), "loss": ("1e-1", "0.30", "0.30")}


class Step(ClusterCase):
    def runTest(self):
        dice = self.dice
        self.start_db()
        rules = []
        for _ in range(dice.randint(0, 4)):
            match = {"path": dice.choice(PATHS), "from": dice.randint(1, 8)}
            match["to"] = match["from"] + dice.randint(0, 4)
            rules.append({"match": match, "action": dice.choice(ACTIONS)})
        self.kube.rules.replace(rules)
        name = "a"
        controller = self.start_trials(name=name, wait=False)
        names = [f"trial-{number}" for number in range(dice.randint(1, 4))]
        for one in names:
            self.create(a_trial(one))
        if dice.random() < 0.5:  # one that nobody can serve
            poison = copy.deepcopy(a_trial("poison"))
            poison["spec"].update(dice.choice([{"runSpec": {"apiVersion": "nobody.example/v1", "kind": "Nothing"}}, {"runSpec": "text"},
                                               {"objective": None}, {"successCondition": "status.#(("}, {"runSpec": {"apiVersion": 7, "kind": []}}]))
            self.create(poison)
        for _ in range(dice.choice([0, 0, 1, 2])):
            time.sleep(dice.uniform(0, 1))
            act = dice.choice(["kill", "end", "cut", "compact"])
            if act in ("kill", "end"):
                controller.send_signal(signal.SIGKILL if act == "kill" else signal.SIGTERM)
                controller.wait(40)
                name = chr(ord(name) + 1)
                controller = self.start_trials(name=name, wait=False)
            elif act == "cut":
                self.kube.cut()
            else:
                self.kube.compact()
        time.sleep(dice.uniform(0, 1))
        self.kube.rules.replace([])
        what = f"{rules}\n"
        for one in names:
            self.started(one)
            self.add_rows(one, *ROWS)
        for one in names:
            self.finish_job(one)
        for one in names:
            self.assertEqual(observation(self.wait_state(one, "Succeeded", seconds=90)), EXPECTED, f"lost: {what}")
        controller.send_signal(signal.SIGTERM)
        self.assertEqual(controller.wait(40), 0, self.logs())
