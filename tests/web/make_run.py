#!/usr/bin/env python3
"""Makes run folders as tacho leaves them, of any size and with any malice, for the tests of the page and for scripts/bench.
    make_run.py FOLDER [--rows N] [--columns N] [--cores N] [--gpus N] [--disks N] [--processes N] [--hostile] [--running] [--spike ROW] [--seed N]
Prints nothing. The same arguments make the same bytes."""
import argparse
import json
import math
import os
import pathlib
import random

START = 1794735000.25
NASTY = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "'; alert(1); '", 'right\u202eto\u202dleft', 'new\nline', '</script><b>', '\u2028', '&lt;b&gt;']
HEADER = ("timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,system_memory_used_mib,system_memory_buffers_mib,"
          "system_memory_cached_mib,system_memory_active_mib,system_memory_inactive_mib,system_disk_read_bytes,system_disk_write_bytes,"
          "system_disk_space_total_gb,system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,system_gpu_usage,"
          "system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,process_stime,process_cpu_usage,process_memory_mib,"
          "process_disk_read_bytes,process_disk_write_bytes,process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized").split(",")
EXTRA = ["cgroup_throttled_time", "cgroup_oom_kills", "cgroup_memory_mib"]


def quoted(text):
    text = str(text)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def metrics(path, a, rng):
    columns = HEADER + EXTRA + [f"system_extra_{i}" for i in range(max(0, a.columns - len(HEADER) - len(EXTRA)))]
    with open(path, "w", newline="") as out:
        out.write(",".join(columns) + "\n")
        at = START
        for i in range(a.rows):
            at += a.interval
            part = i / max(1, a.rows)
            busy = 1.6 + 0.9 * math.sin(part * 19) + rng.random() * 0.4 if 0.15 < part < 0.9 else 0.3 + rng.random() * 0.1
            if i == a.spike:
                busy = 123.456
            memory = 300 + 2500 * min(1, part * 1.6) + rng.random() * 20
            read = int(rng.random() * 5e7 * a.interval) if part < 0.2 else 0
            written = int(rng.random() * 8e7 * a.interval) if part > 0.85 else 0
            gpu = max(0, 0.7 + 0.3 * math.sin(part * 60)) * a.gpus if 0.2 < part < 0.85 else 0
            values = [f"{at:.3f}", 321, f"{busy * .9:.3f}", f"{busy * .1:.3f}", f"{busy + .3:.4f}", "9000.0", f"{memory + 4000:.1f}", "100.0", "5000.0", "3000.0", "2000.0",
                      read + int(rng.random() * 1e5), written + int(rng.random() * 1e5), "500.000", "200.000", "300.000", int(rng.random() * 2e4) if a.network else 0, int(rng.random() * 1e4) if a.network else 0,
                      f"{gpu:.4f}", f"{gpu * 20000:.1f}", int(gpu > 0), 4001, 7, f"{busy * .9:.3f}", f"{busy * .1:.3f}", f"{busy:.4f}", f"{memory:.3f}", read, written,
                      f"{gpu:.4f}", f"{gpu * 19000:.1f}", int(gpu > 0), f"{0.3 if 0.5 < part < 0.6 else 0:.3f}", int(i == int(a.rows * .7)), f"{memory * 1.2:.1f}"]
            values += [f"{rng.random() * 1000:.3f}" for _ in range(len(columns) - len(values))]
            out.write(",".join(map(str, values)) + "\n")
    return at


def devices(path, a, rng):
    names = [f"core_{i}_usage" for i in range(a.cores)]
    for i in range(a.disks):
        disk = "sda" if i == 0 else f"nvme{i}n1"
        names += [f"disk_{disk}_read_bytes", f"disk_{disk}_write_bytes", f"disk_{disk}_busy"]
    names += ["net_eth0_recv_bytes", "net_eth0_sent_bytes"]
    for i in range(a.gpus):
        names += [f"gpu_{i}_usage", f"gpu_{i}_vram_mib", f"gpu_{i}_power_w", f"gpu_{i}_temperature_c"]
    with open(path, "w") as out:
        out.write("timestamp," + ",".join(names) + "\n")
        for i in range(a.rows):
            part = i / max(1, a.rows)
            row = [f"{START + (i + 1) * a.interval:.3f}"]
            for name in names:
                if name.startswith("core_"):
                    core = int(name.split("_")[1])
                    row.append(f"{min(1, max(0, math.sin(part * 12 + core) * .5 + .5) * (1 if part > .15 else .1)):.4f}")
                elif name.endswith("_bytes"):
                    row.append(str(int(rng.random() * 3e7) if part < .25 and "eth0" not in name else 0))
                elif name.endswith("_busy"):
                    row.append(f"{rng.random() if part < .25 else 0:.4f}")
                elif name.endswith("_usage"):
                    row.append(f"{max(0, .6 + .4 * math.sin(part * 60)) if .2 < part < .85 else 0:.4f}")
                elif name.endswith("_vram_mib"):
                    row.append(f"{19000 if .2 < part < .85 else 400:.1f}")
                else:
                    row.append(f"{60 + 20 * rng.random():.1f}")
            out.write(",".join(row) + "\n")


def processes(path, a, rng, end):
    names = ["python3", "cc1plus", "ld", "make", "sh", "gzip", "samtools"]
    with open(path, "w", newline="") as out:
        out.write("pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,exit\n")
        for i in range(a.processes):
            name = NASTY[i % len(NASTY)] if a.hostile and i < 20 else names[i % len(names)]
            begun = START + rng.random() * (end - START) * .8
            ended = min(end, begun + rng.random() * (end - START) * .4)
            if i == 0:
                name, begun, ended = ("python3" if not a.hostile else name), START, end
            row = [4001 + i, 4000 if i == 0 else 4001, name, f"{name} --step {i} /data/input-{i}.bam", f"{begun:.3f}", "" if a.running and i < 3 else f"{ended:.3f}", 1,
                   f"{rng.random() ** 4 * 100:.4f}", f"{rng.random() * 2000:.3f}", int(rng.random() * 1e8), int(rng.random() * 1e7), "", "0" if i % 5 else "signal 9"]
            out.write(",".join(map(quoted, row)) + "\n")
        out.write(f",,cc1plus,,{START + 1:.3f},{end - 1:.3f},1234,55.5000,90.500,1000,2000,,\n")
        out.write(",,(short-lived),,,,,1.2500,,,,,\n")


def run_json(path, a, end):
    third = (end - START) / 4
    nasty = NASTY[0] if a.hostile else ""
    phase = lambda name, n: {"name": name, "started": round(START + n * third, 3), "ended": round(START + (n + 1) * third, 3), "seconds": round(third, 3), "cpu_s": 12.5,
                             "cpu_mean": 1.7, "memory_peak_mib": 1500.5, "disk_read_bytes": 12345678, "disk_write_bytes": 345678, "gpu_mean": None}
    run = {"id": os.path.basename(path.parent), "state": "running" if a.running else "finished", "tacho_version": "0.1.0", "mode": "run",
           "command": ["python3", "train.py", "--epochs", "3"] if not a.hostile else ["sh", "-c", "echo '" + NASTY[5] + "'"], "working_directory": "/data/job", "pid": 4001,
           "tracker_pid": os.getppid() if a.running else 4000,
           "metadata": {"job_name": nasty or a.name, "team": "vision", "tags": ["stage=fit" + nasty, "b=2"]},
           "host": {"host_hostname": "node7" + nasty, "host_vcpus": 8, "host_memory_mib": 16384, "host_cpu_model": "Some CPU", **({"host_gpu_model": "Some GPU", "host_gpu_count": a.gpus, "host_gpu_memory_mib": 24576 * a.gpus} if a.gpus else {})},
           "limits": {"cpu_quota_cores": 2.5, "memory_limit_bytes": 4 << 30},
           "outcome": {"state": "running" if a.running else "finished", "exit_code": None if a.running else 0, "started_at": "2026-11-15T09:30:00.250Z",
                       "finished_at": None if a.running else "2026-11-15T09:50:00.250Z", "duration_s": round(end - START, 3)},
           "interval_s": a.interval, "method": {"cpu": "cgroup", "memory": "pss", "io": "proc_io", "gpu": "nvml" if a.gpus else "none"},
           "totals": {"cpu_user_s": 900.5, "cpu_system_s": 30.25, "memory_peak_bytes": 2900 << 20}, "notes": ["memory of 1 process was not readable" + nasty], "samples": a.rows,
           "phases": [] if a.running else [phase("load" + nasty, 0), phase("fit", 1), phase("fit", 2), phase("save", 3)],
           "statistics": {"timestamp": {"duration": round(end - START, 3)}, "process_cpu_usage": {"mean": 1.5, "max": 3.0, "min": 0.3}, "process_memory_mib": {"mean": 2000, "max": 2800, "min": 300},
                          "system_cpu_usage": {"mean": 1.8, "max": 3.3, "min": 0.6}, "process_disk_read_bytes": {"mean": 1e6, "max": 5e7, "min": 0, "sum": 1.2e9}}}
    path.write_text(json.dumps(run, indent=2) + "\n")
    lines = ["timestamp,event,name", f"{START:.3f},phase,load", f"{START + third:.3f},phase,fit", f"{START + third * 2.5:.3f},point,checkpoint{nasty}", f"{START + third * 3.3:.3f},point,best model",
             "rubbish", f"{START + third * 3:.3f},phase,save"]
    (path.parent / "marks.csv").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--name", default="train")
    for name, value in (("rows", 600), ("columns", 0), ("cores", 8), ("gpus", 0), ("disks", 2), ("processes", 60), ("spike", -1), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--interval", type=float, default=1.0)
    for name in ("hostile", "running", "network", "rows-only"):
        parser.add_argument("--" + name, action="store_true")
    a = parser.parse_args()
    rng = random.Random(a.seed)
    a.folder.mkdir(parents=True, exist_ok=True)
    end = metrics(a.folder / "metrics.csv", a, rng)
    if a.rows_only:
        return
    devices(a.folder / "devices.csv", a, rng)
    processes(a.folder / "processes.csv", a, rng, end)
    run_json(a.folder / "run.json", a, end)


main()
