"""Runs that were recorded before."""
from __future__ import annotations

import os

from . import _units
from ._errors import RunNotFound
from ._json import as_list, as_object
from ._options import store_folder
from ._program import Refused, ask, ask_json
from ._run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from typing import Any, Dict, List, Optional, Union

    from ._options import Text

_FILES = (".csv", ".csv.gz", ".jsonl")
_NO_DURATION = 1e9  # 30 years: such a number of seconds is a time of our days


def load(run: Union[Text, Run] = "last", *, store: Optional[Text] = None) -> Run:
    """A run by its id, a part of it, `last`, a job name, its folder, or a .csv, .csv.gz or .jsonl file."""
    if isinstance(run, Run):
        return run
    name = os.fsdecode(run)
    if name.endswith(_FILES) and os.path.isfile(name):
        return Run.of_file(name)
    if os.path.isfile(os.path.join(name, "run.json")):
        return Run(name)
    if name.endswith("run.json") and os.path.isfile(name):
        return Run(os.path.dirname(name))
    if os.path.isfile(os.path.join(name, "metrics.csv")):
        raise RunNotFound(f"{name} has no run.json; its rows can be read: tacho.load({os.path.join(name, 'metrics.csv')!r})")
    if "/" in name or name.endswith(_FILES):
        raise RunNotFound(f"there is no run or file {name}")
    if not name or name.startswith("-"):
        raise RunNotFound(f"not the name of a run: {name!r}; tacho.runs() lists all")
    try:
        folder = ask("show", "--path", name, *_store_words(store), errors="surrogateescape")
    except Refused as error:
        raise RunNotFound(str(error)) from None
    return Run(folder.rstrip("\n"))


def _store_words(store: Optional[Text]) -> List[str]:
    return [] if store is None else ["--store", store_folder(store)]


def runs(*, job: Optional[str] = None, since: Union[float, str, datetime.datetime, datetime.timedelta, None] = None,
         failed: bool = False, limit: Optional[int] = None, store: Optional[Text] = None) -> List[Run]:
    """Newest first. `since`: a duration back from now ("2d", or seconds), or a time (datetime, or what time.time() says)."""
    if limit is not None and limit < 0:
        raise ValueError(f"not a number of runs: {limit!r}")
    infos = ask_json("runs", "--json", *_store_words(store))
    earliest = None if since is None else _earliest(since)
    chosen = [info for info in map(as_object, as_list(infos)) if info and _fits(info, job, earliest, failed)]
    if limit is not None:
        chosen = chosen[:limit]
    if not chosen:
        return []
    first = load(str(chosen[0]["id"]), store=store)  # tells where the store is
    place = os.path.dirname(first.folder)
    return [Run(os.path.join(place, str(info["id"]))) for info in chosen]


def _fits(info: Dict[str, Any], job: Optional[str], earliest: Optional[float], failed: bool) -> bool:
    outcome = as_object(info.get("outcome"))
    if job is not None and as_object(info.get("metadata")).get("job_name") != job:
        return False
    if failed and info.get("state") not in ("failed", "interrupted"):
        return False
    return earliest is None or _time_of(outcome.get("started_at")) >= earliest


def _time_of(text: object) -> float:
    import datetime

    try:
        moment = datetime.datetime.strptime(str(text).replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S.%f%z")
    except ValueError:
        return 0.0
    return moment.timestamp()


def _earliest(since: Union[float, str, datetime.datetime, datetime.timedelta]) -> float:
    import datetime
    import time

    if isinstance(since, datetime.datetime):
        return since.timestamp()
    if isinstance(since, datetime.timedelta):
        return time.time() - since.total_seconds()
    if isinstance(since, str):
        return time.time() - _units.seconds(since)
    number = _units.seconds(since)
    return number if number >= _NO_DURATION else time.time() - number
