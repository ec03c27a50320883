"""Rows of metrics files: CSV as tacho and other trackers write it, gzipped too, and JSON lines."""
from __future__ import annotations

from ._json import as_list, as_object
from ._plain import open_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, IO, List, Optional, Sequence, Tuple, Union

    Cell = Union[int, float, None]
    Values = List[Cell]

_COUNTS = ("_bytes", "_pid", "_processes", "_children", "_utilized", "_switches", "_page_faults", "_kills", "_periods",
           "_threads", "_drops", "_errors", "_retransmits", "_requests", "_throttle")


def is_count(column: str) -> bool:
    """Counts, bytes and process numbers are whole; all else is not, however it is written."""
    return ("_" + column).endswith(_COUNTS) or "_waits_" in column


def _number(text: str) -> Cell:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value - value == 0 else None


class Table:
    """Columns of equal length, in the order of the header."""

    def __init__(self, columns: Sequence[str], values: Sequence[Values]) -> None:
        self.columns: List[str] = list(columns)
        self.values: Dict[str, Values] = dict(zip(self.columns, values))

    def __len__(self) -> int:
        return len(self.values[self.columns[0]]) if self.columns else 0

    def is_whole(self, column: str) -> bool:
        return is_count(column) and not any(isinstance(value, float) for value in self.values[column])


def _open(path: str) -> IO[bytes]:
    file = open_plain(path)
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        return file
    file.close()
    import gzip
    from typing import cast

    return cast("IO[bytes]", gzip.open(path, "rb"))


def _whole_lines(path: str) -> str:
    """Without the last line while it is being written, or was cut off."""
    import zlib

    data = bytearray()
    with _open(path) as file:
        try:
            for piece in iter(lambda: file.read(1 << 16), b""):
                data += piece
        except (EOFError, zlib.error):
            pass  # cut off: what came before counts
    return bytes(data[:data.rfind(b"\n") + 1]).decode("utf-8", "replace")


def read_records(path: str) -> Tuple[List[str], List[List[str]]]:
    """Header and rows as text; rows that have not as many fields as the header are left out."""
    import csv

    text = _whole_lines(path).replace("\0", "")
    csv.field_size_limit(1 << 24)
    lines = csv.reader(text.splitlines())
    nothing: List[str] = []
    header = next(lines, nothing)
    return header, [line for line in lines if len(line) == len(header)]


def read_csv(path: str) -> Table:
    header, lines = read_records(path)
    values: List[Values] = []
    for index, name in enumerate(header):
        cells: Values = [_number(line[index]) if line[index] else None for line in lines]
        if not is_count(name):
            cells = [None if cell is None else float(cell) for cell in cells]
        values.append(cells)
    return Table(header, values)


_LEVELS = (("system_processes", "cpu", "process_count"), ("system_utime", "cpu", "utime_secs"),
           ("system_stime", "cpu", "stime_secs"), ("system_cpu_usage", "cpu", "utilization_pct"),
           ("system_memory_free_mib", "memory", "free_mib"), ("system_memory_used_mib", "memory", "used_mib"),
           ("system_memory_buffers_mib", "memory", "buffers_mib"), ("system_memory_cached_mib", "memory", "cached_mib"),
           ("system_memory_active_mib", "memory", "active_mib"),
           ("system_memory_inactive_mib", "memory", "inactive_mib"),
           ("process_children", "cpu", "process_child_count"), ("process_utime", "cpu", "process_utime_secs"),
           ("process_stime", "cpu", "process_stime_secs"), ("process_cpu_usage", "cpu", "process_cores_used"),
           ("process_disk_read_bytes", "cpu", "process_disk_read_bytes"),
           ("process_disk_write_bytes", "cpu", "process_disk_write_bytes"),
           ("process_gpu_usage", "cpu", "process_gpu_usage"), ("process_gpu_vram_mib", "cpu", "process_gpu_vram_mib"),
           ("process_gpu_utilized", "cpu", "process_gpu_utilized"))
_RATES = (("system_disk_read_bytes", "disk", "read_bytes_per_sec"),
          ("system_disk_write_bytes", "disk", "write_bytes_per_sec"),
          ("system_net_recv_bytes", "network", "rx_bytes_per_sec"),
          ("system_net_sent_bytes", "network", "tx_bytes_per_sec"))
COLUMNS = (
    "timestamp system_processes system_utime system_stime system_cpu_usage system_memory_free_mib "
    "system_memory_used_mib system_memory_buffers_mib system_memory_cached_mib system_memory_active_mib "
    "system_memory_inactive_mib system_disk_read_bytes system_disk_write_bytes system_disk_space_total_gb "
    "system_disk_space_used_gb system_disk_space_free_gb system_net_recv_bytes system_net_sent_bytes system_gpu_usage "
    "system_gpu_vram_mib system_gpu_utilized process_pid process_children process_utime process_stime "
    "process_cpu_usage process_memory_mib process_disk_read_bytes process_disk_write_bytes process_gpu_usage "
    "process_gpu_vram_mib process_gpu_utilized").split()


def _flat(sample: Dict[str, Any], interval: Optional[float]) -> Dict[str, Cell]:
    """The columns of one JSON line; what it does not say is None."""
    row: Dict[str, Cell] = {"timestamp": sample.get("timestamp", sample.get("timestamp_secs")),
                            "process_pid": sample.get("tracked_pid")}
    for column, group, key in _LEVELS:
        row[column] = as_object(sample.get(group)).get(key)
    cpu = as_object(sample.get("cpu"))
    row["process_memory_mib"] = cpu.get("process_pss_mib", cpu.get("process_rss_mib"))
    for column, group, key in _RATES:
        devices = [one for one in map(as_object, as_list(sample.get(group))) if one.get("counted", True)]
        if interval is not None:
            row[column] = round(sum(one.get(key) or 0 for one in devices) * interval)
    if isinstance(sample.get("gpu"), list):
        gpus = [as_object(gpu) for gpu in as_list(sample["gpu"])]
        row["system_gpu_usage"] = sum((gpu.get("utilization_pct") or 0) / 100 for gpu in gpus)
        row["system_gpu_vram_mib"] = sum((gpu.get("vram_used_bytes") or 0) / 2**20 for gpu in gpus)
        row["system_gpu_utilized"] = sum((gpu.get("utilization_pct") or 0) > 0 for gpu in gpus)
    row.update(as_object(sample.get("extended")))
    return row


def read_json_lines(path: str) -> Table:
    import json

    rows: List[Dict[str, Cell]] = []
    for line in _whole_lines(path).split("\n"):
        try:
            sample = as_object(json.loads(line) if line.strip() else None)
        except ValueError:
            continue
        if sample and ("timestamp" in sample or "timestamp_secs" in sample):
            taken = sample.get("actual_interval_ms")
            rows.append(_flat(sample, taken / 1000 if isinstance(taken, (int, float)) else None))
    extra = sorted({key for row in rows for key in row} - set(COLUMNS))
    names = COLUMNS + extra
    return Table(names, [[_as(name, row.get(name)) for row in rows] for name in names])


def _as(column: str, cell: object) -> Cell:
    if not isinstance(cell, (int, float)):
        return None
    return cell if is_count(column) else float(cell)


def write_csv(table: Table, path: str) -> None:
    """For the program, which reads CSV alone."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(table.columns) + "\n")
        for cells in zip(*(table.values[name] for name in table.columns)):
            file.write(",".join(map(_field, cells)) + "\n")


def _field(cell: Cell) -> str:
    """With the decimals that the program is to show."""
    return "" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell)
