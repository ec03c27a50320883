"""What this machine is."""
from __future__ import annotations

import os
import platform
from typing import Any, Dict, List

from .column_maps import SERVER_ALLOCATION_CHECKS


def get_total_memory_mib() -> float:
    """0 where it cannot be read."""
    try:
        with open("/proc/meminfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("MemTotal:"):
                    return round(int(line.split()[1]) / 1024, 2)
    except (OSError, ValueError, IndexError):
        pass
    return 0.0


def get_gpu_info() -> Dict[str, Any]:
    """gpu_count, gpu_names, gpu_memory_mib; asked once, never while something is measured."""
    import subprocess

    names: List[str] = []
    memory = 0.0
    if os.path.exists("/proc/driver/nvidia/version"):
        try:
            done = subprocess.run(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"],
                                  capture_output=True, text=True, timeout=10, check=False)
            for line in done.stdout.splitlines() if done.returncode == 0 else []:
                name, _, size = line.rpartition(",")
                names.append(name.strip())
                memory += float(size) if size.strip().replace(".", "", 1).isdigit() else 0.0
        except (OSError, subprocess.SubprocessError):
            pass
    return {"gpu_count": len(names), "gpu_names": names, "gpu_memory_mib": memory}


def get_server_info() -> Dict[str, Any]:
    gpus = get_gpu_info()
    names = gpus["gpu_names"]
    return {"os": platform.system(), "vcpus": os.cpu_count(), "memory_mib": get_total_memory_mib(),
            "gpu_count": gpus["gpu_count"], "gpu_names": names,
            "gpu_name": max(sorted(set(names)), key=names.count) if names else "",
            "gpu_memory_mib": gpus["gpu_memory_mib"]}


def guess_allocation(means: Dict[str, float]) -> Any:
    """`shared` when the machine did clearly more than the process, else `dedicated`; None when not known."""
    known = False
    for check in SERVER_ALLOCATION_CHECKS:
        system, process = means.get(check.system_column), means.get(check.process_column)
        if system is None or process is None:
            continue
        known = True
        if system > process * check.factor and system > 0 or system > process + check.surplus:
            return "shared"
    return "dedicated" if known else None
