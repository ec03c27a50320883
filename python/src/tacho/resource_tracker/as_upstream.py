"""Unchanged scripts and tests: `python -m tacho.resource_tracker.as_upstream SCRIPT ARGS…`, or `pytest -p` with this."""
from __future__ import annotations

import os
import sys

from . import install

install(force=True)
# Processes that multiprocessing starts anew (spawn, forkserver) import the script again, with this path: they find the name there.
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "as_path"))


def main() -> None:
    import runpy

    if len(sys.argv) < 2:
        sys.exit("usage: python -m tacho.resource_tracker.as_upstream SCRIPT [ARGS...]")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
