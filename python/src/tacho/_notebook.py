"""%load_ext tacho: %%tacho records a cell, %tacho a statement."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

    from ._tracker import Tracker


class _Options:
    def __init__(self) -> None:
        self.interval = "100ms"
        self.name = "cell"
        self.quiet = False
        self.store = False


def _parse(line: str) -> Tuple[_Options, str]:
    """The options before the statement, and the statement as it was written."""
    options, rest = _Options(), line.strip()
    while rest.startswith("--"):
        word, _, after = rest.partition(" ")
        key, has_value, value = word[2:].partition("=")
        if key in ("quiet", "store") and not has_value:
            setattr(options, key, True)
        elif key in ("interval", "name"):
            if not has_value:
                value, _, after = after.strip().partition(" ")
            if not value:
                raise ValueError(f"--{key} needs a value")
            setattr(options, key, value)
        else:
            raise ValueError(f"unknown option {word}; those are --interval D, --name N, --quiet, --store")
        rest = after.strip()
    return options, rest


def _waits_at_its_top(shell: Any, code: str) -> bool:
    """Whether a kernel would have to run it in its own loop, which runs this magic."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    cell = shell.transform_cell(code)
    return bool(shell.should_run_async(code, transformed_cell=cell))


def _record(shell: Any, tracker: Tracker, quiet: bool, code: str) -> None:
    from ._html import line

    with tracker:
        result = shell.run_cell(code)  # shows an exception as ever, and returns
        if not result.success and tracker.running:
            error = result.error_in_exec or result.error_before_exec
            tracker.point(f"exception {type(error).__name__}")
    run = tracker.run
    shell.user_ns["_tacho"] = run
    if run is None or quiet:
        return
    if hasattr(shell, "kernel"):
        import importlib

        importlib.import_module("IPython.display").display(run)
    else:
        print(line(run))


def register(shell: Any) -> None:
    def tacho(text: str, cell: Any = None) -> None:
        from ._tracker import track

        try:
            options, rest = _parse(text)
            if cell is not None and rest:
                raise ValueError(f"%%tacho takes options alone, not {rest!r}; the code goes below it")
            if cell is None and not rest:
                raise ValueError("%tacho records a statement: %tacho f(x); %%tacho records a cell")
            code = rest if cell is None else cell
            if _waits_at_its_top(shell, code):
                raise ValueError("code with await at its top level cannot be recorded by a magic; "
                                 "write `with tacho.track() as t:` around it and look at t.run")
            tracker = track(options.name, interval=options.interval, keep=options.store)
        except ValueError as error:
            from IPython.core.error import UsageError

            raise UsageError(str(error)) from None
        _record(shell, tracker, options.quiet, code)

    shell.register_magic_function(tacho, magic_kind="line_cell", magic_name="tacho")
