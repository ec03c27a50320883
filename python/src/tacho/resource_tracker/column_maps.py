"""Names of columns, for people and for reports."""
from __future__ import annotations

from typing import Dict, List, TypedDict

PROCESS_COLUMNS = ["timestamp", "pid", "children", "utime", "stime", "cpu_usage", "memory_mib", "disk_read_bytes",
                   "disk_write_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"]
SYSTEM_COLUMNS = ["timestamp", "processes", "utime", "stime", "cpu_usage", "memory_free_mib", "memory_used_mib",
                  "memory_buffers_mib", "memory_cached_mib", "memory_active_mib", "memory_inactive_mib",
                  "disk_read_bytes", "disk_write_bytes", "disk_space_total_gb", "disk_space_used_gb",
                  "disk_space_free_gb", "net_recv_bytes", "net_sent_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"]

HUMAN_NAMES_MAPPING: Dict[str, str] = {
    "timestamp": "Timestamp", "processes": "processes", "pid": "PID", "children": "children", "utime": "CPU time (user)",
    "stime": "CPU time (system)", "cpu_usage": "CPU usage", "memory_mib": "memory usage",
    "memory_free_mib": "free memory", "memory_used_mib": "used memory", "memory_buffers_mib": "memory buffers",
    "memory_cached_mib": "memory page/file cached", "memory_active_mib": "active memory",
    "memory_inactive_mib": "inactive memory", "disk_read_bytes": "disk read", "disk_write_bytes": "disk write",
    "disk_space_total_gb": "disk space total", "disk_space_used_gb": "disk space used",
    "disk_space_free_gb": "disk space free", "net_recv_bytes": "inbound network traffic",
    "net_sent_bytes": "outbound network traffic", "gpu_usage": "GPU usage", "gpu_vram_mib": "VRAM used",
    "gpu_utilized": "GPUs in use"}

BYTE_MAPPING: Dict[str, int] = {name: 1024**2 if name.endswith("_mib") else 10**9
                                for name in HUMAN_NAMES_MAPPING if name.endswith(("_mib", "_gb"))}


class AllocationCheck(TypedDict):
    """Beyond process * percent, or process + absolute, the machine does other work too."""
    process_column: str
    system_column: str
    percent: float
    absolute: float


SERVER_ALLOCATION_CHECKS: List[AllocationCheck] = [
    {"process_column": "cpu_usage", "system_column": "cpu_usage", "percent": 1.25, "absolute": 0.25},
    {"process_column": "memory_mib", "system_column": "memory_used_mib", "percent": 1.5, "absolute": 512},
    {"process_column": "gpu_usage", "system_column": "gpu_usage", "percent": 1.25, "absolute": 0.2},
    {"process_column": "gpu_vram_mib", "system_column": "gpu_vram_mib", "percent": 1.25, "absolute": 512}]

REPORT_CSV_MAPPING: Dict[str, List[str]] = {
    "cpu": ["Timestamp", "Process CPU usage", "System CPU usage"],
    "mem": ["Timestamp", "Process memory usage", "System used memory"],
    "disk": ["Timestamp", "Process disk read", "System disk read", "Process disk write", "System disk write"],
    "disk_space": ["Timestamp", "System disk space used"],
    "net": ["Timestamp", "System inbound network traffic", "System outbound network traffic"],
    "gpu_usage": ["Timestamp", "Process GPU usage", "System GPU usage"],
    "gpu_utilized": ["Timestamp", "Process GPUs in use", "System GPUs in use"],
    "gpu_vram_mib": ["Timestamp", "Process VRAM used", "System VRAM used"]}
