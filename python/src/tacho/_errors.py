"""What this package raises and warns with."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TachoError(RuntimeError):
    """tacho could not do what it was asked for; the text says what to do."""

    __module__ = "tacho"  # as it is imported, and so as it is printed


class ProgramNotFound(TachoError):
    """There is no tacho program, or none that can be executed here."""

    __module__ = "tacho"


class RunNotFound(TachoError, LookupError):
    """There is no run of that name."""

    __module__ = "tacho"


class LimitExceeded(AssertionError):
    """A test used more than its marker allows."""

    __module__ = "tacho"


class TachoWarning(UserWarning):
    """Something is not recorded, or not where it was asked for; the script goes on."""

    __module__ = "tacho"


_told = False


def warn_once(text: str) -> None:
    """One warning a process: a script that makes a thousand trackers says it once."""
    global _told
    if _told:
        return
    _told = True
    import warnings

    warnings.warn(text, TachoWarning, stacklevel=_frames_of_this_package())


def _frames_of_this_package() -> int:
    """How far up the caller of this package is, so that the warning names its line."""
    import os
    import sys

    here = os.path.dirname(__file__)
    get_frame: Any = getattr(sys, "_getframe")
    depth, frame = 1, get_frame(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == here:
        depth += 1
        frame = frame.f_back
    return depth
