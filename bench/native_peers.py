"""Peers of tacho that are programs of their own: the Rust client, which cargo builds where it is installed, and prmon, which no package registry
has: a built one is found in the PATH or named by TACHO_BENCH_PRMON. Nothing of them is kept in the repository."""
import os
import shutil
import subprocess
import time

from peer import count_lines, cpu_s

RUST_VERSION = "0.1.18"


def rust_client(folder):
    """(path, why not): built once into the build folder."""
    path = os.path.join(folder, "bin", "resource-tracker")
    if os.path.exists(path):
        return path, None
    cargo = shutil.which("cargo")
    if cargo is None:
        return None, "there is no cargo"
    done = subprocess.run([cargo, "install", "-q", "--locked", "--root", folder, "--version", RUST_VERSION, "resource-tracker"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None, "cargo could not build it: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return path, None


def prmon():
    path = os.environ.get("TACHO_BENCH_PRMON") or shutil.which("prmon")
    return (path, None) if path else (None, "no package registry has it; build it from its source (docs/benchmarks.md) and name it by TACHO_BENCH_PRMON")


def find(folder):
    """({name: command}, {name: why not}); of a command PID, INTERVAL and FILE are replaced. Each writes one line a sample into FILE."""
    have, missing = {}, {}
    path, why = rust_client(folder)
    name = f"Rust client {RUST_VERSION}"
    if path:
        have[name] = [path, "--pid", "PID", "--interval", "INTERVAL", "--format", "csv", "--output", "FILE"]
    else:
        missing[name] = why
    path, why = prmon()
    if path:
        have["prmon"] = [path, "--pid", "PID", "--interval", "INTERVAL", "--filename", "FILE", "--json-summary", "FILE.json"]
    else:
        missing["prmon"] = why
    return have, missing


def us_per_sample(command, pid, interval_s, samples, folder, env):
    """CPU time of all its threads over so many samples, start-up left out; None when it writes too few."""
    path = os.path.join(folder, f"peer{time.monotonic_ns()}")
    words = {"PID": str(pid), "INTERVAL": f"{interval_s:g}", "FILE": path, "FILE.json": path + ".json"}
    process = subprocess.Popen([words.get(word, word) for word in command], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def wait_for(count):
            end = time.monotonic() + 60 + 4 * interval_s * samples
            while count_lines(path) < count and process.poll() is None and time.monotonic() < end:
                time.sleep(interval_s / 20)
            return count_lines(path) >= count and process.poll() is None
        if not wait_for(3):
            return None
        first, before = count_lines(path), cpu_s(process.pid)
        if not wait_for(first + samples):
            return None
        return (cpu_s(process.pid) - before) / (count_lines(path) - first) * 1e6
    finally:
        process.kill()
        process.wait()
