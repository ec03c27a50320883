"""A cluster for the tests of `tacho-katib trials` and `inject`: the API-server double with TLS in the test's own process, a kubeconfig, and
`tacho-katib db` as the DB manager."""
import json
import os
import re
import sqlite3
import ssl
import subprocess
import sys
import threading
import urllib.request

from support import BUILD, Case, until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doubles"))
import faults  # noqa: E402
import kube_double  # noqa: E402
import kube_state  # noqa: E402, F401: for the tests

KUBE = os.path.join(BUILD, "bin", "tacho-kube")
KATIB = os.path.join(BUILD, "bin", "tacho-katib")
TRIALS = "kubeflow.org/v1beta1"


def make_certificates(folder):
    """ca.pem, server.pem + server.key for 127.0.0.1, client.pem + client.key."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test-ca")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        with open(os.path.join(folder, f"{name}.ext"), "w", encoding="ascii") as file:
            file.write(extra + "\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem",
                "-extfile", f"{name}.ext")


class ApiServer:
    """kube_double in threads, with TLS."""

    def __init__(self, folder, config=None):
        make_certificates(folder)
        self.folder = folder
        self.kube = kube_double.Kube({"tokens": ["a-token"], **(config or {})})
        handler = type("Bound", (kube_double.Handler,), {"double": self.kube})
        self.server = faults.Server(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
        context.load_verify_locations(os.path.join(folder, "ca.pem"))
        context.verify_mode = ssl.CERT_OPTIONAL
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=lambda: self.server.serve_forever(poll_interval=0.05), daemon=True).start()
        self.config_file = os.path.join(folder, "kubeconfig")
        self.write_config("client-certificate: client.pem\n    client-key: client.key")

    def write_config(self, user):
        with open(self.config_file, "w", encoding="ascii") as file:
            file.write(f"""apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {{cluster: test, user: test}}
clusters:
- name: test
  cluster:
    server: {self.url}
    certificate-authority: ca.pem
users:
- name: test
  user:
    {user}
""")

    def close(self):
        self.kube.cut()
        self.server.shutdown()
        self.server.server_close()


def a_trial(name, ns="team", kind="Job", **spec):
    api = "batch/v1" if kind == "Job" else "kubeflow.org/v1"
    word = "Complete" if kind == "Job" else "Succeeded"
    return {"apiVersion": TRIALS, "kind": "Trial", "metadata": {"name": name, "namespace": ns, "labels": {"katib.kubeflow.org/experiment": "exp"}},
            "spec": {"objective": {"type": "maximize", "objectiveMetricName": "accuracy", "additionalMetricNames": ["loss"],
                                   "metricStrategies": [{"name": "accuracy", "value": "max"}, {"name": "loss", "value": "min"}]},
                     "successCondition": f'status.conditions.#(type=="{word}")#|#(status=="True")#',
                     "failureCondition": 'status.conditions.#(type=="Failed")#|#(status=="True")#',
                     "runSpec": {"apiVersion": api, "kind": kind, "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}},
                     "metricsCollector": {"collector": {"kind": "StdOut"}}, "futureField": {"kept": [1, 2.5, None]}, **spec}}


def conditions(trial):
    return [(entry["type"], entry["status"]) for entry in trial.get("status", {}).get("conditions", [])]


def observation(trial):
    return {entry["name"]: (entry["min"], entry["max"], entry["latest"]) for entry in trial["status"]["observation"]["metrics"]}


class ClusterCase(Case):
    """A test with an API server and a DB manager."""

    def setUp(self):
        super().setUp()
        if not os.path.exists(KUBE) or not os.path.exists(KATIB):
            self.skipTest("tacho-kube and tacho-katib are not built")
        self.api = ApiServer(self.dir)
        self.kube = self.api.kube
        self.addCleanup(self.api.close)
        self.put_namespace("team")

    def put_namespace(self, name, **labels):
        self.kube.put("v1", "namespaces", {"metadata": {"name": name, "labels": labels}})

    def start_db(self):
        self.rows_file = self.path("katib.db")
        self.db_log = open(self.path("db.log"), "w+", encoding="utf-8")
        self.addCleanup(self.db_log.close)
        self.db = self.spawn("db", "--listen", "127.0.0.1:0", "--store", self.rows_file, program=KATIB, stdout=self.db_log, stderr=self.db_log)
        found = until(lambda: re.search(r"127\.0\.0\.1:(\d+)", self.read("db.log")))
        self.assertTrue(found, self.read("db.log"))
        self.db_address = f"127.0.0.1:{found[1]}"

    def add_rows(self, trial, *rows):
        """(time, metric, value); a time of whole seconds."""
        with sqlite3.connect(self.rows_file, timeout=20) as store:
            store.executemany("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES (?,?,?,?)",
                              [(trial, time.replace("T", " ").replace("Z", "") + ("" if "." in time else ".000000"), metric, value) for time, metric, value in rows])
        store.close()

    def count_rows(self, trial):
        store = sqlite3.connect(self.rows_file, timeout=20)
        try:
            return store.execute("SELECT count(*) FROM observation_logs WHERE trial_name = ?", (trial,)).fetchone()[0]
        finally:
            store.close()

    def start_trials(self, *args, name="a", mode="own", wait=True):
        log = open(self.path(f"trials-{name}.log"), "w+", encoding="utf-8")
        self.addCleanup(log.close)
        process = self.spawn("trials", "--mode", mode, "--kubeconfig", self.api.config_file, "--db", self.db_address, "--identity", name,
                             "--health-address", "0", "--metrics-address", "0", *args, program=KUBE, stdout=log, stderr=log)
        if wait:
            self.assertTrue(until(lambda: "leads" in self.read(f"trials-{name}.log")), self.read(f"trials-{name}.log"))
        return process

    def trial(self, name, ns="team"):
        return self.kube.get(TRIALS, "trials", ns, name)

    def job(self, name, ns="team"):
        return self.kube.get("batch/v1", "jobs", ns, name)

    def create(self, obj, plural="trials", api=TRIALS):
        return self.kube.create(api, plural, obj["metadata"]["namespace"], obj, {})

    def finish_job(self, name, word="Complete", ns="team", **more):
        def edit(job):
            job["status"] = {"conditions": [{"type": word, "status": "True", **more}]}
        self.kube.change("batch/v1", "jobs", ns, name, edit)

    def wait_state(self, name, state, ns="team", seconds=30):
        def reached():
            trial = self.trial(name, ns)
            return trial and (state, "True") in conditions(trial) and trial
        trial = until(reached, seconds)
        self.assertTrue(trial, f"{name} is {json.dumps(self.trial(name, ns))}\n{self.logs()}")
        return trial

    def logs(self):
        return "\n".join(self.read(name)[-3000:] for name in sorted(os.listdir(self.dir)) if name.endswith(".log"))

    def started(self, name):
        """The Trial's job, once the Trial says Running."""
        self.assertTrue(until(lambda: self.job(name)), self.logs())
        self.wait_state(name, "Running")
        return self.job(name)

    def status_writes(self, name):
        return [entry for entry in self.kube.writes if entry[1] == "PUT" and entry[2].endswith(f"/trials/{name}/status")]


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.read().decode()
