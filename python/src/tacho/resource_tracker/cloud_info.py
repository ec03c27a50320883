"""In which cloud this machine is, by the program's own discovery."""
from __future__ import annotations

import logging
import subprocess
from functools import lru_cache
from time import time
from typing import Any, Dict

from .._errors import TachoError
from .._json import as_object
from ._discovery import Question

logger = logging.getLogger("resource_tracker")

_question = Question()


def ask_early(by: object) -> None:
    """Before an agent starts. `by`: the function that will be asked, if any; it may have been replaced."""
    if by is not get_cloud_info or get_cloud_info.cache_info().currsize or _question.waits():
        return
    try:
        _question.ask()
    except (TachoError, OSError) as error:
        logger.debug("no cloud found: %s", error)


@lru_cache(maxsize=1)
def get_cloud_info() -> Dict[str, Any]:
    """vendor, instance_type, region, discovery_time; what is not known is `unknown`."""
    begun = time()
    facts: Dict[str, Any] = {}
    try:
        facts = _question.answer()
    except (TachoError, ValueError, OSError, subprocess.SubprocessError) as error:
        logger.debug("no cloud found: %s", error)
    return {"vendor": _text(facts, "cloud_vendor_id"), "instance_type": _text(facts, "cloud_instance_type"),
            "region": _text(facts, "cloud_region_id"), "discovery_time": time() - begun}


def _text(facts: Any, key: str) -> str:
    value = as_object(facts).get(key)
    return value if isinstance(value, str) and value else "unknown"
