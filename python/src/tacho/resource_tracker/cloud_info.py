"""In which cloud this machine is, by the program's own discovery."""
from __future__ import annotations

import logging
from functools import lru_cache
from time import time
from typing import Any, Dict

from .._json import as_object

logger = logging.getLogger("resource_tracker")


@lru_cache(maxsize=1)
def get_cloud_info() -> Dict[str, Any]:
    """vendor, instance_type, region, discovery_time; what is not known is `unknown`."""
    from .._errors import TachoError
    from .._program import ask_json

    begun = time()
    facts: Dict[str, Any] = {}
    try:
        facts = ask_json("discover", "--json")
    except (TachoError, ValueError, OSError) as error:
        logger.debug("no cloud found: %s", error)
    return {"vendor": _text(facts, "cloud_vendor_id"), "instance_type": _text(facts, "cloud_instance_type"),
            "region": _text(facts, "cloud_region_id"), "discovery_time": time() - begun}


def _text(facts: Any, key: str) -> str:
    value = as_object(facts).get(key)
    return value if isinstance(value, str) and value else "unknown"
