"""Small helpers that scripts and tests know by name."""
from __future__ import annotations

import os
import re
from csv import QUOTE_NONNUMERIC
from typing import Any, Callable, Dict, Iterable, List, Mapping, Tuple


def aggregate_stats(stats: List[Dict[str, Dict[str, Any]]]) -> Dict[str, Dict[str, float]]:
    """Over several runs: mean and duration are averaged, of max and sum the largest counts."""
    columns: Dict[str, Dict[str, List[float]]] = {}
    for one in stats:
        for column, aggregates in one.items():
            for name, value in aggregates.items():
                if name not in ("mean", "duration", "max", "sum"):
                    raise ValueError(f"unknown aggregate {name!r} of {column}")
                if value is not None:
                    columns.setdefault(column, {}).setdefault(name, []).append(value)
    return {column: {name: sum(values) / len(values) if name in ("mean", "duration") else max(values)
                     for name, values in aggregates.items()} for column, aggregates in columns.items()}


def render_csv_row(row: Iterable[Any], quoting: int = QUOTE_NONNUMERIC) -> bytes:
    """One line of CSV."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator="\n").writerow(row)  # type: ignore[arg-type]
    return text.getvalue().encode()


def cleanup_files(files: Iterable[str]) -> None:
    """Removes what is there of them."""
    for path in files:
        try:
            os.unlink(path)
        except OSError:
            pass


def cleanup_processes(processes: Iterable[Any]) -> None:
    """Ends those that still run, the hard way if need be."""
    for process in processes:
        try:
            if not process.is_alive():
                continue
            process.terminate()
            process.join(timeout=1.0)
            if process.is_alive():
                process.kill()
                process.join(timeout=1.0)
        except (AttributeError, OSError, ValueError):
            pass


def is_partition(disk_name: str) -> bool:
    """Whether a name of /proc/diskstats is a part of a disk: sysfs says so, else the usual forms of names."""
    device = f"/sys/class/block/{disk_name}"
    if os.path.isdir(device):
        return os.path.exists(f"{device}/partition")
    return re.fullmatch(r"(?:[shv]d[a-z]+|xvd[a-z]+)\d+|(?:nvme\d+n\d+|mmcblk\d+|loop\d+|md\d+|nbd\d+)p\d+", disk_name) is not None


def is_psutil_available() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("psutil") is not None
    except (ImportError, ValueError):
        return False


def is_procfs_available() -> bool:
    return os.path.isdir("/proc/self") and os.access("/proc/stat", os.R_OK)


def get_tracker_implementation() -> Tuple[Callable[..., Dict[str, Any]], Callable[[], Dict[str, Any]]]:
    """(get_process_stats, get_system_stats): what reads this machine in pure Python, with psutil or without."""
    if not is_procfs_available():
        raise ImportError("there is no /proc: nothing can be read here")
    from .tracker_procfs import get_process_stats, get_system_stats

    return get_process_stats, get_system_stats


def get_zfs_pools_space() -> Dict[str, Dict[str, int]]:
    """{pool: {total, used, free}} in bytes; empty without ZFS."""
    import subprocess

    try:
        done = subprocess.run(["zpool", "list", "-Hp", "-o", "name,size,allocated,free"], capture_output=True, text=True,
                              timeout=1, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    pools: Dict[str, Dict[str, int]] = {}
    for line in done.stdout.splitlines() if done.returncode == 0 else []:
        name, *sizes = line.split("\t")
        if len(sizes) == 3 and all(size.isdigit() for size in sizes):
            pools[name] = dict(zip(("total", "used", "free"), map(int, sizes)))
    return pools


def number(value: Any, default: float = 0.0) -> float:
    return default if value is None else float(value)


def drop_none(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
