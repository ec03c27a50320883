"""The version whose behaviour this is, and whose program does the work."""
from .._version import __version__ as tacho_version

__version__ = "0.5.0"
__all__ = ["__version__", "tacho_version"]
