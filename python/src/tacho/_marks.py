"""Marks: lines of a run's marks.csv, each appended with one write."""
from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Callable, Optional, Type

_LONGEST = 1024


def write(folder: str, event: str, name: str) -> bool:
    """One line of marks.csv; False when there is none to write to."""
    clean = "".join(c if c.isprintable() else " " for c in name[:_LONGEST])
    if "," in clean or '"' in clean:
        clean = '"' + clean.replace('"', '""') + '"'
    line = f"{time.time():.3f},{event},{clean}\n".encode("utf-8", "replace")
    try:
        file = os.open(os.path.join(folder, "marks.csv"), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return False
    try:
        return os.write(file, line) == len(line)
    except OSError:
        return False
    finally:
        os.close(file)


class Phase:
    """A phase as a `with` block; ends when the block does."""

    __slots__ = ("_begin", "_end")

    def __init__(self, begin: Callable[[], bool], end: Callable[[], bool]) -> None:
        self._begin = begin
        self._end = end

    def __enter__(self) -> Phase:
        self._begin()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._end()
