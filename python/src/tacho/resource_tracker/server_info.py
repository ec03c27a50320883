"""What this machine is."""
from __future__ import annotations

import logging
import os
import platform
import subprocess
from typing import Any, Dict, List

from .._errors import TachoError
from ._discovery import Question
from .column_maps import SERVER_ALLOCATION_CHECKS

logger = logging.getLogger("resource_tracker")

_NVIDIA = "/proc/driver/nvidia/gpus"
_question = Question("--no-cloud")


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


def has_gpu() -> bool:
    return os.path.exists("/proc/driver/nvidia/version") or os.path.isdir("/sys/module/amdgpu")


def ask_early(by: object) -> None:
    """Before an agent starts. `by`: the function that will be asked, if any; it may have been replaced."""
    if by is not get_server_info or not has_gpu() or _question.waits():
        return
    try:
        _question.ask()
    except (TachoError, OSError) as error:
        logger.debug("no GPU found: %s", error)


def _models() -> List[str]:
    """Of NVIDIA's, in the order of the bus, which is that of the driver."""
    found: List[str] = []
    try:
        for name in sorted(os.listdir(_NVIDIA)):
            with open(f"{_NVIDIA}/{name}/information", encoding="utf-8", errors="replace") as file:
                found += [line.partition(":")[2].strip() for line in file if line.startswith("Model:")]
    except OSError:
        pass
    return found


def get_gpu_info() -> Dict[str, Any]:
    """count, memory_mib (of all), gpu_names: by the program, which starts no other; asked once, before anything is measured."""
    facts: Dict[str, Any] = {}
    if has_gpu():
        try:
            facts = _question.answer()
        except (TachoError, ValueError, OSError, subprocess.SubprocessError) as error:
            logger.debug("no GPU found: %s", error)
    count, memory, model = (facts.get(key) for key in ("host_gpu_count", "host_gpu_memory_mib", "host_gpu_model"))
    if not isinstance(count, int) or count <= 0:
        return {"count": 0, "memory_mib": 0, "gpu_names": []}
    models = _models()
    names = models if len(models) == count else [model] * count if isinstance(model, str) else []
    return {"count": count, "memory_mib": memory if isinstance(memory, (int, float)) else 0, "gpu_names": names}


def get_server_info() -> Dict[str, Any]:
    gpus = get_gpu_info()
    names = gpus["gpu_names"]
    return {"os": platform.system(), "vcpus": os.cpu_count(), "memory_mib": get_total_memory_mib(),
            "gpu_count": gpus["count"], "gpu_names": names,
            "gpu_name": max(names, key=names.count) if names else "",
            "gpu_memory_mib": gpus["memory_mib"]}


def guess_allocation(means: Dict[str, float]) -> Any:
    """`shared` when the machine did clearly more than the process, else `dedicated`; None when not known."""
    known = False
    for check in SERVER_ALLOCATION_CHECKS:
        system, process = means.get("system_" + check["system_column"]), means.get("process_" + check["process_column"])
        if system is None or process is None:
            continue
        known = True
        if system > process * check["percent"] and system > 0 or system > process + check["absolute"]:
            return "shared"
    return "dedicated" if known else None
