"""Names of columns, for people and for reports."""
from __future__ import annotations

from typing import Dict, List, NamedTuple

PROCESS_COLUMNS = ["timestamp", "pid", "children", "utime", "stime", "cpu_usage", "memory_mib", "disk_read_bytes",
                   "disk_write_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"]
SYSTEM_COLUMNS = ["timestamp", "processes", "utime", "stime", "cpu_usage", "memory_free_mib", "memory_used_mib",
                  "memory_buffers_mib", "memory_cached_mib", "memory_active_mib", "memory_inactive_mib",
                  "disk_read_bytes", "disk_write_bytes", "disk_space_total_gb", "disk_space_used_gb",
                  "disk_space_free_gb", "net_recv_bytes", "net_sent_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"]

HUMAN_NAMES_MAPPING: Dict[str, str] = {
    "processes": "processes", "pid": "PID", "children": "children", "utime": "CPU time (user)",
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


class AllocationCheck(NamedTuple):
    """Beyond process * factor, or process + surplus, the machine does other work too."""
    system_column: str
    process_column: str
    factor: float
    surplus: float


SERVER_ALLOCATION_CHECKS: List[AllocationCheck] = [
    AllocationCheck("system_cpu_usage", "process_cpu_usage", 1.25, 0.25),
    AllocationCheck("system_memory_used_mib", "process_memory_mib", 1.5, 512),
    AllocationCheck("system_gpu_usage", "process_gpu_usage", 1.25, 0.2),
    AllocationCheck("system_gpu_vram_mib", "process_gpu_vram_mib", 1.25, 512)]

REPORT_CSV_MAPPING: Dict[str, Dict[str, str]] = {
    "cpu": {"Timestamp": "Timestamp", "Process CPU usage": "Process", "System CPU usage": "System"},
    "memory": {"Timestamp": "Timestamp", "Process memory usage": "Process", "System used memory": "System"},
    "disk": {"Timestamp": "Timestamp", "Process disk read": "Process read", "Process disk write": "Process write",
             "System disk read": "System read", "System disk write": "System write"},
    "network": {"Timestamp": "Timestamp", "System inbound network traffic": "Inbound",
                "System outbound network traffic": "Outbound"},
    "gpu": {"Timestamp": "Timestamp", "Process GPU usage": "Process", "System GPU usage": "System"},
    "vram": {"Timestamp": "Timestamp", "Process VRAM used": "Process", "System VRAM used": "System"}}
