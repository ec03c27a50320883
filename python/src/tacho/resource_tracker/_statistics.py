"""The statistics of stats(): those of the program, by the names of this interface."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from .tiny_data_frame import StatSpec, TinyDataFrame


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def duration(values: Sequence[float]) -> float:
    return max(values) - min(values)


_MEASURED = ("process_cpu_usage", "process_memory_mib", "process_gpu_usage", "process_gpu_vram_mib", "process_gpu_utilized")
DEFAULT_SPECS = [StatSpec(column, agg, name, 2) for column in _MEASURED
                 for agg, name in ((mean, "mean"), (max, "max"))] + [
    StatSpec("system_disk_space_used_gb", max, "max", 2), StatSpec("system_net_recv_bytes", sum, "sum"),
    StatSpec("system_net_sent_bytes", sum, "sum"), StatSpec("timestamp", duration, "duration")]


def of_program(specs: Sequence[StatSpec], measured: Mapping[str, Mapping[str, float]],
               frame: TinyDataFrame) -> Dict[str, Dict[str, Any]]:
    """What the program folded; the maximum of a column that it does not fold is that of its rows."""
    found: Dict[str, Dict[str, Any]] = {}
    for spec in specs:
        name = str(spec.agg_name)
        if spec.column not in frame.columns:
            continue
        value = measured.get(spec.column, {}).get(name)
        if value is None and name == "max":
            known = [cell for cell in frame[spec.column] if cell is not None]
            value = max(known, default=None)
        if value is None and spec.column in _MEASURED and set(frame[spec.column]) == {0}:
            value = 0.0  # a machine without GPU
        if value is not None:
            found.setdefault(spec.column, {})[name] = int(value) if name == "sum" else round(value, spec.round or 3)
    return found
