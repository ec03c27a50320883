"""tacho records what a process uses: CPU, memory, disk, network and GPU.

    import tacho

    with tacho.track("train") as t:
        ...
    print(t.run.summary())

Nothing but this file is imported with the package: `import tacho` costs a millisecond.
"""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._completed import CompletedRun as CompletedRun
    from ._completed import run as run
    from ._errors import LimitExceeded as LimitExceeded
    from ._errors import ProgramNotFound as ProgramNotFound
    from ._errors import RunNotFound as RunNotFound
    from ._errors import TachoError as TachoError
    from ._errors import TachoWarning as TachoWarning
    from ._program import find_program as find_program
    from ._run import Run as Run
    from ._store import load as load
    from ._store import runs as runs
    from ._tracker import Tracker as Tracker
    from ._tracker import attach as attach
    from ._tracker import end as end
    from ._tracker import mark as mark
    from ._tracker import phase as phase
    from ._tracker import point as point
    from ._tracker import track as track

    __version__: str

__all__ = ["CompletedRun", "LimitExceeded", "ProgramNotFound", "Run", "RunNotFound", "TachoError", "TachoWarning",
           "Tracker", "attach", "end", "find_program", "load", "mark", "phase", "point", "run", "runs", "track"]

_HOMES = {"CompletedRun": "_completed", "run": "_completed", "LimitExceeded": "_errors", "ProgramNotFound": "_errors",
          "RunNotFound": "_errors", "TachoError": "_errors", "TachoWarning": "_errors", "find_program": "_program",
          "Run": "_run", "load": "_store", "runs": "_store", "Tracker": "_tracker", "attach": "_tracker",
          "end": "_tracker", "mark": "_tracker", "phase": "_tracker", "point": "_tracker", "track": "_tracker",
          "__version__": "_version"}


def __getattr__(name: str) -> "Any":
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tacho' has no attribute {name!r}")
    module = __import__(f"tacho.{home}", fromlist=[name])
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> "list[str]":
    return sorted([*__all__, "__version__"])


def load_ipython_extension(ipython: "Any") -> None:
    """%load_ext tacho"""
    from ._notebook import register

    register(ipython)
