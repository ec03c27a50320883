"""Katib's tfevent-metricscollector as it is shipped: its Python sources out of the Go module proxy, in a Python of its own with the
requirements of its image (TensorFlow without GPU code, which it does not use). Nothing of it is kept in this repository."""
import os
import re

from common import WORK, say, venv
from katib_parts import KATIB, katib_source


class TensorFlowCollector:
    """Installs what is not there yet; raises what is in the way."""

    def __init__(self):
        self.source = katib_source("katib-python")[0]
        self.folder = self.source / "cmd/metricscollector/v1beta1/tfevent-metricscollector"
        needs = re.sub(r"(?m)^tensorflow==", "tensorflow-cpu==", (self.folder / "requirements.txt").read_text()).split()
        say(f"installing {' '.join(needs)}")
        self.python = venv("katib-tensorflow", *needs, "tensorboardX")
        self.versions = f"Katib {KATIB}, TensorFlow {re.search(r'tensorflow-cpu==(.*)', ' '.join(needs))[1].split()[0]}"
        # As in its image; the module cache is read-only, so compiled code goes elsewhere.
        parts = ["", "pkg/apis/manager/v1beta1/python", "pkg/metricscollector/v1beta1/tfevent-metricscollector", "pkg/metricscollector/v1beta1/common"]
        self.env = {**os.environ, "PYTHONPATH": ":".join(str(self.source / part) for part in parts), "PYTHONPYCACHEPREFIX": str(WORK / "pycache"),
                    "TF_CPP_MIN_LOG_LEVEL": "2"}

    def start(self, pod, *flags, log="tensorflow.log"):
        return pod.enter(self.python, self.folder / "main.py", *flags, log=log, env=self.env)
