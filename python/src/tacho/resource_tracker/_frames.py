"""Rows of the 32 columns as the frames of this interface, and frames as rows."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from . import _recording
from .column_maps import BYTE_MAPPING, HUMAN_NAMES_MAPPING, PROCESS_COLUMNS, SYSTEM_COLUMNS
from .tiny_data_frame import TinyDataFrame

Row = Dict[str, Any]
PROCESS, SYSTEM = "process_tracker", "system_tracker"


def half(rows: List[Row], columns: List[str], prefix: str) -> TinyDataFrame:
    """The frame of the process, or of the machine."""
    return TinyDataFrame({name: [row[name if name == "timestamp" else prefix + name] for row in rows] for name in columns})


def combined(rows: List[Row], trackers: Sequence[str], in_bytes: bool, human_names: bool, system_prefix: Optional[str],
             process_prefix: Optional[str]) -> TinyDataFrame:
    """Both in one."""
    data: Dict[str, List[Any]] = {"Timestamp" if human_names else "timestamp": [row["timestamp"] for row in rows]}
    halves = (("system_", system_prefix, "System ", SYSTEM_COLUMNS, SYSTEM),
              ("process_", process_prefix, "Process ", PROCESS_COLUMNS, PROCESS))
    for own, asked, human, columns, tracker in halves:
        prefix = asked if asked is not None else human if human_names else own
        for name in columns[1:] if tracker in trackers else []:
            factor = BYTE_MAPPING.get(name) if in_bytes else None
            values = [row[own + name] for row in rows]
            if factor is not None:
                values = [None if value is None else value * factor for value in values]
            data[prefix + (HUMAN_NAMES_MAPPING[name] if human_names else name)] = values
    return TinyDataFrame(data)


def joined(system: List[Row], process: List[Row]) -> List[Row]:
    """Rows of both frames as one; upstream took them apart by time, so that one may have a row more."""
    count = min(len(system), len(process)) if system and process else max(len(system), len(process))
    rows: List[Row] = []
    for index in range(count):
        row: Row = dict.fromkeys(_recording.COLUMNS)
        for prefix, part in (("process_", process), ("system_", system)):
            if part:
                row.update({prefix + name: (None if cell == "" else cell) for name, cell in part[index].items()
                            if name != "timestamp"})
                row["timestamp"] = part[index]["timestamp"]
        rows.append(row)
    return rows
