#!/usr/bin/env python3
"""The verdict on a real NVIDIA GPU (Hopper or newer) with PyTorch. Usage: tests/verdict/gpu.py TACHO [--seconds 8] [--only NAME,…]

Each load marks the phase "load" once CUDA is up, so that the start-up is judged apart. What nvidia-smi says meanwhile, its GPM included where it
can, stands beside what tacho says. Prints a table; exit status 1 where a verdict is not what the load is bound by.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# name: verdicts of its phase that are right
LOADS = {
    "matrix product": {"gpu_compute"},
    "copies on the device": {"gpu_compute", "gpu_memory_bandwidth"},
    "pinned copies": {"pcie"},
    "copies not pinned": {"pcie", "single_thread", "cpu"},
    "tiny kernels": {"single_thread"},
    "asleep": {"waiting"},
    "training, slow loader": {"waiting"},
    "training, mended": {"gpu_compute"},
}


def train(torch, seconds, slow):
    """Six layers of 8192 in bf16; batches from a worker that sleeps 50 ms an item (at 20 its own bookkeeping takes a tenth of a core, the border of waiting), or from the GPU's own memory."""
    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            time.sleep(0.05)
            return torch.zeros(8192)
    layers = [torch.nn.Linear(8192, 8192) for _ in range(6)]
    model = torch.nn.Sequential(*layers).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    ready = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16)
    batches = iter(torch.utils.data.DataLoader(Items(), batch_size=32, num_workers=1)) if slow else None
    if slow:
        next(batches)
    begin()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batch = next(batches).to("cuda", torch.bfloat16) if slow else ready
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()


def begin():
    subprocess.run([os.environ["TACHO_PROGRAM"], "mark", "load"], check=True)


def work(name, seconds):
    """Runs inside tacho."""
    import torch
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    if name.startswith("training"):
        return train(torch, seconds, "slow" in name)
    side = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    large = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    other = torch.empty_like(large)
    host = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=name == "pinned copies") if "pinned" in name else None
    small = torch.zeros(16, device="cuda")

    def product():
        for _ in range(50):
            side @ side

    def tiny():
        for _ in range(1000):
            small.add_(1)
    step = {"matrix product": product, "copies on the device": lambda: other.copy_(large), "pinned copies": lambda: large.copy_(host, non_blocking=True),
            "copies not pinned": lambda: large.copy_(host), "tiny kernels": tiny, "asleep": lambda: time.sleep(0.1)}[name]
    step()
    torch.cuda.synchronize()
    begin()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        step()
        torch.cuda.synchronize()


def smi(*words):
    """nvidia-smi beside; None where it is not installed."""
    if shutil.which("nvidia-smi") is None:
        return None
    return subprocess.Popen(["nvidia-smi", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def numbers(process):
    """The mean of each column of what nvidia-smi printed in the last half of the time."""
    if process is None:
        return []
    process.terminate()
    rows = []
    for line in process.communicate()[0].splitlines():
        words = line.replace(",", " ").split()
        if line.startswith("#") or not words:
            continue
        rows.append([float(word) if word.replace(".", "", 1).isdigit() else None for word in words])
    rows = [row for row in rows[len(rows) // 2:] if len(row) == len(rows[-1])]
    return [sum(values) / len(values) if (values := [v for v in column if v is not None]) else None for column in zip(*rows)]


def shown(value, decimals=2):
    return "–" if value in (None, "") else f"{float(value):.{decimals}f}"


def last_mean(path):
    """A function: the mean of a column over the rows of the last quarter that have it; None where none has."""
    rows = list(csv.DictReader(path.open()))
    rows = rows[-len(rows) // 4:]

    def mean(column):
        values = [float(row[column]) for row in rows if row.get(column)]
        return sum(values) / len(values) if values else None
    return mean


def judge(tacho, name, seconds, store):
    limit = f"{seconds + 240:.0f}s"
    command = [tacho, "run", "-q", "-i", "250ms", "--timeout", limit, "--store", store, "--", sys.executable, __file__, str(tacho), "--work", name, "--seconds", str(seconds)]
    usual = smi("--query-gpu=utilization.gpu,power.draw,clocks.sm", "--format=csv,noheader,nounits", "-lms", "500")
    gpm = smi("dmon", "--gpm-metrics", "2,5,10", "-d", "1")
    ended = subprocess.run(command, check=False, env={**os.environ, "TACHO_PROGRAM": str(tacho)}).returncode
    usual, gpm = numbers(usual), numbers(gpm)
    if ended != 0:
        print(f"| {name} | the load itself ended with status {ended} |", flush=True)
        return False
    why = json.loads(subprocess.run([tacho, "why", "--json", "--store", store, "last"], stdout=subprocess.PIPE, check=True).stdout)
    phase = next((one for one in why["phases"] if one["name"] == "load"), {**why, "verdict": "no phase"})
    newest = max(pathlib.Path(store).glob("*/metrics.csv"), key=os.path.getmtime)
    row, device = last_mean(newest), last_mean(newest.parent / "devices.csv")
    right = phase["verdict"] in LOADS[name] and phase["confidence"] != "low"
    cells = [name, *(shown(usual[i] if i < len(usual) else None, 0) for i in range(3)),
             " ".join(shown(value, 0) for value in gpm[1:]) or "–",
             shown(row("system_gpu_usage")), shown(row("process_gpu_sm_active")), shown(device("gpu_0_tensor_active")), shown(row("process_gpu_dram_active")),
             shown(row("process_gpu_pcie_busiest")), shown(row("system_gpu_power_w"), 0), shown(device("gpu_0_clock_mhz"), 0), shown(device("gpu_0_throttle"), 0),
             f"{phase['verdict']} {phase['detail'] or ''} {phase['confidence']} {phase['share']:.2f}" + ("" if right else " WRONG"),
             f"{why['verdict']} {why['detail'] or ''} {why['confidence']}", "; ".join(why["missing"]) or "–"]
    print("| " + " | ".join(cells) + " |", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tacho", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--only", default="", help="names, with semicolons")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.seconds)
    titles = ["load", "nvidia-smi: %", "W", "MHz", "GPM of nvidia-smi: SM, tensor, DRAM %", "NVML utilisation", "SM", "tensor", "DRAM", "PCIe", "W", "MHz", "throttle",
              "verdict of the load", "of the run", "missing"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles), flush=True)
    only = set(filter(None, options.only.split(";")))
    with tempfile.TemporaryDirectory() as store:
        results = [judge(options.tacho.resolve(), name, options.seconds, store) for name in LOADS if not only or name in only]
    print(f"{sum(results)} of {len(results)} loads judged right at high or medium")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
