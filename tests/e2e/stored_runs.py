"""Runs in a store as tacho leaves them, made by hand: of any length, in no time."""
import datetime
import json
import os
import time


def make_run(store, name, job="", seconds=100, cores=1.5, peak_bytes=1 << 30, ago_s=0, state="finished", exit_code=0, command=("make",), **more):
    """<store>/<name>/run.json and metrics.csv: one row a second, `cores` cores, started `ago_s` seconds before now less its length."""
    folder = os.path.join(store, name)
    os.makedirs(folder, mode=0o700)
    end = time.time() - ago_s
    stamp = lambda at: datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (at % 1 * 1000)
    mib = peak_bytes / 2**20
    run = {
        "id": name, "tacho_version": "0.2.0", "mode": "run", "state": state, "command": list(command), "working_directory": "/data",
        "metadata": {**({"job_name": job} if job else {}), "tags": []},
        "host": {"host_vcpus": 8, "host_memory_mib": 32768, "host_gpu_count": 0}, "limits": {}, "interval_s": 1.0,
        "outcome": {"state": state, "exit_code": exit_code, "signal": None, "oom_killed": False, "timed_out": False,
                    "started_at": stamp(end - seconds), "finished_at": stamp(end), "duration_s": seconds},
        "samples": seconds, "method": {}, "totals": {"cpu_user_s": cores * seconds, "cpu_system_s": 0, "memory_peak_bytes": peak_bytes},
        "notes": [],
        "statistics": {"timestamp": {"duration": seconds}, "process_cpu_usage": {"mean": cores, "max": cores, "min": cores},
                       "process_memory_mib": {"mean": mib / 2, "max": mib / 2, "min": 1}, "process_gpu_usage": {"mean": 0, "max": 0, "min": 0}}}
    for key, value in more.items():
        run[key] = {**run[key], **value} if isinstance(value, dict) and key in run else value
    with open(os.path.join(folder, "metrics.csv"), "w", encoding="utf-8") as file:
        file.write("timestamp,process_cpu_usage,process_memory_mib\n")
        file.writelines("%.3f,%.4f,%.3f\n" % (end - seconds + i + 1, cores, mib / 2) for i in range(seconds))
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, ensure_ascii=False)
    for file in ("run.json", "metrics.csv"):
        os.chmod(os.path.join(folder, file), 0o600)
    os.utime(folder, (end, end))
    return folder
