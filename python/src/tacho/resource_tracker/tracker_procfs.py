"""Counters of a process tree and of the machine from /proc, in pure Python: where no program can be executed."""
from __future__ import annotations

import os
from time import time
from typing import Any, Dict, List, Optional, Set, Tuple

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_NOT_LOCAL = {"proc", "sysfs", "tmpfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "overlay", "squashfs", "iso9660", "nfs",
              "nfs4", "cifs", "autofs", "mqueue", "tracefs", "debugfs", "securityfs", "pstore", "bpf", "fusectl",
              "hugetlbfs", "configfs", "ramfs", "rpc_pipefs", "nsfs", "efivarfs", "binfmt_misc", "9p", "ceph", "fuse"}


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _stat(pid: int) -> Optional[List[str]]:
    """Fields from the state on; the name before may hold anything."""
    try:
        return _read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None


def _children(pid: int) -> List[int]:
    """Of all threads: each has a list of its own."""
    found: List[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(child) for child in _read(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        pass
    return found


def _is_ours(pid: int) -> bool:
    """tacho's own helpers are no part of what is measured."""
    try:
        return _read(f"/proc/{pid}/comm").strip() in ("tacho-agent", "tacho-gpu")
    except OSError:
        return False


def _tree(pid: int, children: bool) -> List[int]:
    pids, seen = [pid], {pid}
    for one in pids:
        for child in _children(one) if children else []:
            if child not in seen and not _is_ours(child):
                seen.add(child)
                pids.append(child)
    return pids


def _memory_mib(pid: int, stat: List[str]) -> float:
    """Proportional, else resident."""
    try:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        pass
    return int(stat[21]) * _PAGE / 2**20


def _io(pid: int) -> Tuple[Optional[int], Optional[int]]:
    try:
        fields = dict(line.split(": ") for line in _read(f"/proc/{pid}/io").splitlines())
        return int(fields["read_bytes"]), int(fields["write_bytes"])
    except (OSError, ValueError, KeyError):
        return None, None


def get_process_stats(pid: int, children: bool = True) -> Dict[str, Any]:
    """Cumulative counters and present levels of a process and what it started."""
    own = _stat(pid)
    if own is None or own[0] in "ZX":
        raise ProcessLookupError(f"there is no process {pid}")
    stats: Dict[str, Any] = {"timestamp": time(), "pid": pid, "children": 0, "utime": 0.0, "stime": 0.0,
                             "memory_mib": 0.0, "disk_read_bytes": None, "disk_write_bytes": None, "gpu_usage": 0.0,
                             "gpu_vram_mib": 0.0, "gpu_utilized": 0, "gpu_utilized_indexes": set()}
    for one in _tree(pid, children):
        stat = own if one == pid else _stat(one)
        if stat is None:
            continue
        reaped = (13, 14) if children else ()
        stats["utime"] += (int(stat[11]) + sum(int(stat[i]) for i in reaped[:1])) / _TICKS
        stats["stime"] += (int(stat[12]) + sum(int(stat[i]) for i in reaped[1:])) / _TICKS
        if stat[0] not in "ZX":
            stats["children"] += one != pid
            stats["memory_mib"] += _memory_mib(one, stat)
        for key, value in zip(("disk_read_bytes", "disk_write_bytes"), _io(one)):
            if value is not None:
                stats[key] = (stats[key] or 0) + value
    return stats


def _meminfo() -> Dict[str, float]:
    """In MiB."""
    found: Dict[str, float] = {}
    for line in _read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if rest.split()[:1]:
            found[name] = int(rest.split()[0]) / 1024
    return found


def _disks() -> Dict[str, Dict[str, int]]:
    """Bottom-level whole disks, each once; the kernel counts units of 512 bytes whatever the disk's own are."""
    found: Dict[str, Dict[str, int]] = {}
    try:
        lines = _read("/proc/diskstats").splitlines()
    except OSError:
        return found
    for line in lines:
        fields = line.split()
        name = fields[2]
        place = f"/sys/block/{name}"
        if name.startswith(("loop", "ram", "zram", "sr", "fd")) or not os.path.isdir(place):
            continue
        try:
            if os.listdir(f"{place}/slaves"):
                continue
        except OSError:
            pass
        found[name] = {"read_bytes": int(fields[5]) * 512, "write_bytes": int(fields[9]) * 512}
    return found


def _unescape(text: str) -> str:
    for code in ("\\040", "\\011", "\\012", "\\134"):
        text = text.replace(code, chr(int(code[1:], 8)))
    return text


def _spaces() -> Dict[str, Dict[str, int]]:
    """Local file systems, each once."""
    found: Dict[str, Dict[str, int]] = {}
    seen: Set[str] = set()
    try:
        lines = _read("/proc/self/mountinfo").splitlines()
    except OSError:
        lines = []
    mounts: List[str] = []
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()[:2]
        if len(fields) < 5 or len(kind) < 2 or kind[0] in _NOT_LOCAL or kind[0].startswith("fuse"):
            continue
        key = kind[1] if kind[0] in ("btrfs", "zfs") else fields[2]
        if key not in seen and "ro" not in fields[5].split(","):
            seen.add(key)
            mounts.append(_unescape(fields[4]))
    for mount in mounts or ["/"]:
        try:
            info = os.statvfs(mount)
        except OSError:
            continue
        total, free = info.f_blocks * info.f_frsize, info.f_bavail * info.f_frsize
        found[mount] = {"total": total, "used": total - free, "free": free}
    return found


def _network() -> Tuple[int, int]:
    """Interfaces of hardware; in a container without any, all but lo."""
    received, sent = 0, 0
    rows: List[Tuple[str, int, int]] = []
    for line in _read("/proc/net/dev").splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if name.strip() != "lo" and len(fields) > 8:
            rows.append((name.strip(), int(fields[0]), int(fields[8])))
    backed = [row for row in rows if os.path.exists(f"/sys/class/net/{row[0]}/device")]
    for _, rx, tx in backed or rows:
        received, sent = received + rx, sent + tx
    return received, sent


def get_system_stats() -> Dict[str, Any]:
    """Cumulative counters and present levels of the machine."""
    fields = [int(word) for word in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
    memory = _meminfo()
    spaces, disks = _spaces(), _disks()
    try:
        received, sent = _network()
    except OSError:
        received = sent = 0
    return {"timestamp": time(), "processes": sum(name.isdigit() for name in os.listdir("/proc")),
            "utime": (fields[0] + fields[1]) / _TICKS, "stime": fields[2] / _TICKS,
            "memory_free_mib": memory["MemFree"],
            "memory_used_mib": memory["MemTotal"] - memory.get("MemAvailable", memory["MemFree"]),
            "memory_buffers_mib": memory.get("Buffers", 0.0),
            "memory_cached_mib": memory.get("Cached", 0.0) + memory.get("SReclaimable", 0.0),
            "memory_active_mib": memory.get("Active", 0.0), "memory_inactive_mib": memory.get("Inactive", 0.0),
            "disk_stats": disks, "disk_spaces": spaces,
            "disk_space_total_gb": sum(space["total"] for space in spaces.values()) / 1e9,
            "disk_space_used_gb": sum(space["used"] for space in spaces.values()) / 1e9,
            "disk_space_free_gb": sum(space["free"] for space in spaces.values()) / 1e9,
            "net_recv_bytes": received, "net_sent_bytes": sent,
            "gpu_usage": 0.0, "gpu_vram_mib": 0.0, "gpu_utilized": 0}
