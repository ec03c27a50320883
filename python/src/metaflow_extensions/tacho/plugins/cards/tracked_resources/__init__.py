"""The card of @track_resources: the page of a task's record."""
from __future__ import annotations

from html import escape
from typing import Any, Dict, Mapping, Optional

from metaflow.plugins.cards.card_modules.card import MetaflowCard


def _trouble_page(title: str, text: str) -> str:
    return (f"<html><head><meta charset=\"utf-8\"><title>tacho</title></head><body><h1>{escape(title)}</h1>"
            f"<pre>{escape(text)}</pre></body></html>")


class TrackedResourcesCard(MetaflowCard):
    type = "tracked_resources"

    def __init__(self, options: Optional[Dict[str, Any]] = None, components: Any = None, graph: Any = None, flow: Any = None,
                 **_: Any) -> None:
        self._artifact = str((options or {}).get("artifact_name", "resource_tracker_data"))

    def render(self, task: Any) -> str:
        try:
            record = task[self._artifact].data
        except Exception as error:
            return _trouble_page("Nothing was recorded", f"there is no artifact {self._artifact}: {error}")
        try:
            if "error" in record:
                told = record["error"]
                return _trouble_page("Not recorded", f"{told.get('error_type')}: {told.get('error_message')}\n\n{told.get('traceback', '')}")
            return self._page(record)
        except Exception as error:
            return _trouble_page("The record cannot be shown", f"{type(error).__name__}: {error}")

    @staticmethod
    def _page(record: Mapping[str, Any]) -> str:
        import metaflow
        from tacho.resource_tracker.tracker import ResourceTracker

        version = getattr(metaflow, "__version__", None)
        return str(ResourceTracker.from_snapshot(record["tracker"]).report(
            integration="Metaflow", historical_stats=record.get("historical_stats") or [],
            status_failed=bool(record.get("step_failed")), integration_version=version))


CARDS = [TrackedResourcesCard]
