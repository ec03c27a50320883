"""Katib's own pod webhook beside tacho's, for bench.py: built from the Go module proxy where Go is to be had."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "interop"))


def build():
    """The path of the program, or None."""
    words, sys.argv = sys.argv, sys.argv[:1]  # the interop scripts would take ours for their folders
    from common import WORK
    from katib_parts import katib_module
    sys.argv = words
    program = WORK / "bin" / "katib-webhook"
    if not program.exists():
        if not shutil.which("go"):
            return None
        folder, env = katib_module()
        shutil.copy(os.path.join(HERE, "webhook_peer", "main.go"), folder / "main.go")
        done = subprocess.run(["nice", "-n", "10", "go", "build", "-o", program, "."], cwd=folder, env=env, check=False)
        if done.returncode != 0:
            return None
    return str(program)


def measure(bench_inject, fixture, config, reviews, folder):
    """Reviews a second and CPU time a review of Katib's webhook under the same load, or {"why": …} where it is not to be had."""
    try:
        return measure_or_raise(bench_inject, fixture, config, reviews, folder)
    except Exception as error:  # noqa: BLE001: whatever it is, tacho's own figures are printed
        return {"why": " ".join(str(error).split())[:200] or repr(error)}


def measure_or_raise(bench_inject, fixture, config, reviews, folder):
    program = build()
    if program is None:
        return {"why": "Go is not installed, or the module could not be built"}
    certificate, key = os.path.join(folder, "peer.crt"), os.path.join(folder, "peer.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    env = {**os.environ, "KATIB_CORE_NAMESPACE": "kubeflow", "GOMAXPROCS": "2"}
    server = subprocess.Popen([program, fixture, config, certificate, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        port = server.stdout.readline().strip()
        done = subprocess.run([bench_inject, "--load", port, fixture, str(reviews), str(server.pid)], stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)
    finally:
        server.stdin.close()
        server.wait()
