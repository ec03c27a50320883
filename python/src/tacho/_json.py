"""JSON from outside: what has the wrong shape is empty."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind)


def as_object(value: Any) -> Dict[str, Any]:
    return value if _is(value, dict) else {}


def as_list(value: Any) -> List[Any]:
    return value if _is(value, list) else []
