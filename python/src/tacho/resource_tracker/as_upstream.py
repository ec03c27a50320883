"""Unchanged scripts and tests: `python -m tacho.resource_tracker.as_upstream SCRIPT ARGS…`, or `pytest -p` with this."""
from __future__ import annotations

import sys

from . import install

install(force=True)


def main() -> None:
    import os
    import runpy

    if len(sys.argv) < 2:
        sys.exit("usage: python -m tacho.resource_tracker.as_upstream SCRIPT [ARGS...]")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
