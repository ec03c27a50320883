"""Durations and sizes as people write them."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Union

_SECONDS: Dict[str, float] = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: Dict[str, float] = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
                            "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SHORTEST, _LONGEST = 0.01, 3600.0


def _number(value: object, units: Mapping[str, float], what: str) -> float:
    number = float("nan")
    if hasattr(value, "__float__") and not isinstance(value, bool):  # also Decimal, Fraction and numpy's
        given: Any = value
        try:
            number = float(given)
        except (OverflowError, TypeError, ValueError):
            pass
    elif isinstance(value, str):
        text = value.strip()
        digits = text.rstrip("".join(sorted({letter for unit in units for letter in unit}))).rstrip()
        unit = text[len(digits):].strip()
        if digits and digits[-1] in "0123456789." and not digits.lower().startswith(("+", "_")) and "_" not in digits:
            try:
                number = float(digits) * (units[unit] if unit else 1.0)
            except (KeyError, ValueError):
                pass
    if not 0 < number < float("inf"):
        raise ValueError(f"not {what}: {value!r}; write a number above 0, or a text such as "
                         f"{'250ms or 5m' if 'ms' in units else '500MiB or 2GB'}")
    return number


def seconds(value: Union[float, str]) -> float:
    """`0.25`, `"250ms"`, `"5m"` as seconds; ValueError for 0, less, NaN and garbage."""
    return _number(value, _SECONDS, "a duration")


def size(value: Union[float, str]) -> float:
    """`1024`, `"500MiB"`, `"2GB"` as bytes; ValueError for 0, less, NaN and garbage."""
    return _number(value, _BYTES, "a size")


def interval(value: Union[float, str]) -> float:
    """The time between two samples in seconds."""
    number = seconds(value)
    if not _SHORTEST <= number <= _LONGEST:
        raise ValueError(f"interval {value!r} is out of range; choose one from 10ms to 1h")
    return number
