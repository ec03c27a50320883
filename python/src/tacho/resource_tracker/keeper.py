"""Prices and servers, from Spare Cores Keeper."""
from __future__ import annotations

import json
import logging
import math
import os
from typing import Any, Dict, List, Optional
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from .._json import as_list, as_object

logger = logging.getLogger("resource_tracker")

_ENDPOINT = "https://keeper.sparecores.net"


def keeper_request(path: str, timeout: float = 2, endpoint: str = _ENDPOINT) -> Any:
    """The answer as JSON; None when there is none. Who asked warns of that: the log tells why."""
    base = os.environ.get("TACHO_KEEPER_URL") or endpoint
    try:
        request = Request(base.rstrip("/") + "/" + path.lstrip("/"),
                          headers={"X-Application-ID": "tacho", "Accept": "application/json"})
        with urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read().decode("utf-8"))
    except Exception as error:
        logger.info("no answer of %s: %s", base, error)
        return None


def get_instance_price(vendor_id: str, region_id: str, instance_type: str) -> Optional[float]:
    """On demand, an hour, in that region; None when it is not known."""
    prices = keeper_request(f"/server/{quote(vendor_id, safe='')}/{quote(instance_type, safe='')}/prices?currency=USD")
    fits = [price for price in map(as_object, as_list(prices)) if price.get("allocation") == "ondemand"
            and price.get("region_id") == region_id and str(price.get("operating_system", "linux")).lower() == "linux"
            and price.get("price") is not None]
    return min((float(price["price"]) for price in fits), default=None)


def _gib(mib: float) -> float:
    """MiB as GiB, up to the next tenth."""
    return math.ceil(round(mib / 1024 * 10, 9)) / 10


def get_recommended_cloud_servers(cpu: int, memory: int, gpu: Optional[int] = None, vram: Optional[int] = None, n: int = 10,
                                  **filters: Any) -> List[Dict[str, Any]]:
    """The n cheapest servers that have as much; memory and vram are in MiB."""
    query: Dict[str, Any] = {"vcpus_min": min(max(cpu, 1), 256), "memory_min": _gib(memory),
                             "order_by": "min_price_ondemand", "order_dir": "asc", "limit": n}
    if gpu:
        query["gpu_min"] = gpu
    if vram:
        query["gpu_memory_total"] = _gib(vram)
    query.update({key: value for key, value in filters.items() if value is not None})
    found = keeper_request("/servers?" + urlencode(query, doseq=True))
    return as_list(found)
