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


def table(bench):
    """The webhook: reviews a second, latency at half that load, memory over many reviews."""
    print("# reviews for the webhook", file=sys.stderr, flush=True)
    fixtures = os.path.join(HERE, "..", "tests", "fixtures", "kube")
    count = "50000" if bench.quick else "1000000"
    objects = [os.path.join(fixtures, "random.json"), os.path.join(fixtures, "katib_config.json")]
    done = subprocess.run([bench.program("bench_inject"), *objects, count], stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    peer = measure(bench.program("bench_inject"), *objects, 5000 if bench.quick else 20000, bench.folder)
    grown = result["rss_after_kib"] - result["rss_warm_kib"]
    print("## Admission webhook, TLS, 200 connections; the load generator shares the cores\n\n| | measured | goal |\n|---|---|---|")
    print(f"| reviews a second | {result['per_second']} | 5000 |")
    print(f"| 99th percentile at half that load, ms | {result['half_p99_ms']} (median {result['half_p50_ms']}) | – |")
    print(f"| 99th percentile at 2500 a second, ms | {result['at_2500_p99_ms']} (median {result['at_2500_p50_ms']}) | < 5 |")
    print(f"| resident memory after a twentieth of the reviews, MiB | {result['rss_warm_kib'] / 1024:.1f} | – |")
    print(f"| growth over {result['reviews']} reviews ({result['failed']} failed), KiB | {grown:+d} | 0 |")
    print(f"| CPU time a review, µs | {result['cpu_us']:.0f} | – |")
    print(f"| Katib's own webhook | not available: {peer['why']} | – |\n" if "why" in peer else
          f"| Katib's own webhook: reviews a second | {peer['per_second']} ({peer['failed']} failed); tacho {result['per_second'] / peer['per_second']:.1f} × | – |\n"
          f"| Katib's own webhook: CPU time a review, µs | {peer['cpu_us']:.0f}; × {peer['cpu_us'] / result['cpu_us']:.1f} of tacho's | – |\n", flush=True)
