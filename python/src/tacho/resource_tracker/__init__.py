"""Drop-in for the Python package resource-tracker 0.5.0, recorded by tacho.

`install()` puts this package and its modules into sys.modules under that name, so that scripts need no change.
"""
from __future__ import annotations

import importlib
import logging
import sys
from types import ModuleType

from .cloud_info import get_cloud_info
from .server_info import get_server_info
from .tracker import ProcessTracker, ResourceTracker, SystemTracker

__all__ = ["ProcessTracker", "SystemTracker", "ResourceTracker", "get_cloud_info", "get_server_info"]

logging.getLogger("resource_tracker").addHandler(logging.NullHandler())

_MODULES = ("tracker", "tracker_procfs", "tracker_psutil", "tiny_data_frame", "helpers", "report", "column_maps", "keeper",
            "cloud_info", "server_info", "sentinel_api", "streaming", "s3_upload", "tiny_bars", "dummy_workloads",
            "_version")
_UPSTREAM = "resource_tracker"


def _ours() -> dict[str, ModuleType]:
    """Name under upstream's name: our module."""
    modules = {_UPSTREAM: sys.modules[__name__]}
    for name in _MODULES:
        modules[f"{_UPSTREAM}.{name}"] = importlib.import_module(f"{__name__}.{name}")
    return modules


def install(force: bool = False) -> ModuleType:
    """Makes `import resource_tracker` give this package. RuntimeError when the real one is imported, unless `force`."""
    ours = _ours()
    there = [name for name in sys.modules if name == _UPSTREAM or name.startswith(_UPSTREAM + ".")]
    foreign = [name for name in there if sys.modules[name] is not ours.get(name)]
    if foreign and not force:
        raise RuntimeError("resource_tracker is imported already: call install() before, or install(force=True)")
    for name in foreign:
        del sys.modules[name]
    sys.modules.update(ours)
    return ours[_UPSTREAM]


def uninstall() -> None:
    """Takes out what install() put in, and nothing else."""
    for name, module in _ours().items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
