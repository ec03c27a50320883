"""@track_resources: what each task of a step used, as an artifact and as a card. Nothing here fails or delays a step."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from metaflow.decorators import StepDecorator

if TYPE_CHECKING:
    from metaflow.plugins.cards.card_decorator import CardDecorator
    from tacho.resource_tracker.tracker import ResourceTracker

CARD_TYPE = "tracked_resources"
_HISTORY_RUNS = 5
_HISTORY_SEEN = 50
_HISTORY_SECONDS = 2.0
_PATIENCE_SECONDS = 0.03


def error_record(error: BaseException) -> Dict[str, Any]:
    """As an artifact: plain types, so that it can be read without tacho."""
    import traceback

    return {"error": {"error_type": type(error).__name__, "error_message": str(error),
                      "traceback": "".join(traceback.format_exception(type(error), error, error.__traceback__))}}


class TrackResourcesDecorator(StepDecorator):
    """
    Records CPU, memory, disk, network and GPU of each task of this step.

    Parameters
    ----------
    interval : float, default 1.0
        Seconds between two samples.
    artifact_name : str, default "resource_tracker_data"
        The artifact that holds what was recorded.
    create_card : bool, default True
        Whether a card shows it.
    """

    name = "track_resources"
    defaults: Dict[str, Any] = {"interval": 1.0, "artifact_name": "resource_tracker_data", "create_card": True}

    def init(self) -> None:
        self._logger: Any = None
        self._tracker: Optional[ResourceTracker] = None
        self._history: Optional[History] = None
        self._trouble: Optional[Exception] = RuntimeError("the step ended before its tracker was started")
        self._card: Optional[CardDecorator] = None

    def _say(self, text: str) -> None:
        if self._logger is not None:
            self._logger("[@track_resources] " + " ".join(text.split()), timestamp=False, bad=True)

    def _interval(self) -> float:
        try:
            from tacho._units import interval

            return interval(self.attributes["interval"])
        except Exception as error:
            self._say(f"{error}; 1 s is used")
            return 1.0

    @property
    def _artifact(self) -> str:
        return str(self.attributes["artifact_name"])

    # Before a task

    def step_init(self, flow: Any, graph: Any, step_name: str, decorators: List[Any], environment: Any, flow_datastore: Any,
                  logger: Any) -> None:
        self._logger = logger
        if str(self.attributes["create_card"]).lower() in ("false", "0", "no"):
            return
        try:
            self._card = self._add_card(step_name, decorators)
        except Exception as error:
            self._say(f"no card: {error}")

    def _add_card(self, step_name: str, decorators: List[Any]) -> CardDecorator:
        from metaflow.plugins.cards.card_decorator import CardDecorator

        card_id = "resource_tracker_" + step_name
        for deco in decorators:
            if isinstance(deco, CardDecorator) and deco.attributes.get("type") == CARD_TYPE and deco.attributes.get("id") == card_id:
                return deco
        card = CardDecorator(attributes={"type": CARD_TYPE, "id": card_id, "options": {"artifact_name": self._artifact}})
        decorators.append(card)
        if CardDecorator._called_once.get("step-init-" + step_name):
            # A card before us has counted its like already.
            count = sum(isinstance(deco, CardDecorator) for deco in decorators)
            CardDecorator._set_card_counts_per_step(step_name, count)
        return card

    def add_to_package(self) -> Iterator[Tuple[str, str]]:
        """The package and its programs travel along: an image needs no installation."""
        try:
            yield from self._files()
        except Exception as error:
            self._say(f"tacho does not travel with the code, so that remote steps need it installed: {error}")

    @staticmethod
    def _files() -> Iterator[Tuple[str, str]]:
        import tacho
        from tacho import ProgramNotFound, find_program

        root = os.path.dirname(os.path.abspath(tacho.__file__))
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                if name.endswith((".py", ".typed")):
                    path = os.path.join(folder, name)
                    yield path, os.path.join("tacho", os.path.relpath(path, root))
        for name in ("tacho", "tacho-gpu"):
            try:
                yield find_program(name), os.path.join("bin", name)
            except ProgramNotFound:
                continue

    # In a task

    def task_pre_step(self, step_name: str, task_datastore: Any, metadata: Any, run_id: Any, task_id: Any, flow: Any, graph: Any,
                      retry_count: int, max_user_code_retries: int, ubf_context: Any, inputs: Any) -> None:
        try:
            # A join merges what is not set yet: the records of its branches must not be in conflict.
            setattr(flow, self._artifact, error_record(self._trouble or RuntimeError("not recorded")))
            from tacho.resource_tracker.tracker import ResourceTracker

            tracker = ResourceTracker(interval=self._interval(), sentinel_token="")  # nothing here waits for a network
            tracker.start()
            self._tracker = tracker
            # Stays where Metaflow tells of no end: SystemExit is no exception to it.
            setattr(flow, self._artifact, error_record(RuntimeError("the step left its process: what was recorded is lost")))
            self._history = History(flow.name, step_name, run_id, self._artifact)
        except Exception as error:
            self._trouble = error
            self._say(f"not recorded: {error}")

    def task_post_step(self, step_name: str, flow: Any, graph: Any, retry_count: int, max_user_code_retries: int) -> None:
        self._store(flow, False)

    def task_exception(self, exception: BaseException, step_name: str, flow: Any, graph: Any, retry_count: int,
                       max_user_code_retries: int) -> bool:
        self._store(flow, True)
        return False

    def _store(self, flow: Any, failed: bool) -> None:
        try:
            tracker, self._tracker = self._tracker, None
            if tracker is None:
                if self._trouble is not None:
                    setattr(flow, self._artifact, error_record(self._trouble))
                return
            tracker.stop(exit_code=1 if failed else 0, run_status="failed" if failed else "finished")
            record = {"step_failed": failed, "tracker": tracker.snapshot(), "historical_stats": self._history.found() if self._history is not None else []}
            self._trouble = None
        except Exception as error:
            self._trouble = error
            self._say(f"what was recorded is lost: {error}")
            record = error_record(error)
        try:
            setattr(flow, self._artifact, record)
        except Exception as error:
            self._say(f"there can be no artifact {self._artifact}: {error}")

    def task_finished(self, step_name: str, flow: Any, graph: Any, is_task_ok: bool, retry_count: int,
                      max_user_code_retries: int) -> None:
        """Metaflow renders the cards of those that went well; of a failed one this does."""
        if self._tracker is not None:
            self._tracker.cleanup()
        if is_task_ok or self._card is None:
            return
        try:
            card = self._card
            card.card_creator.create(mode="render", final=True, card_uuid=card._card_uuid, user_set_card_id=card._user_set_card_id,
                                     runtime_card=False, decorator_attributes=card.attributes,
                                     card_options=card.card_options, logger=self._logger)
        except Exception as error:
            self._say(f"no card of the failed step: {error}")


class History:
    """What this step used in earlier runs, looked up while the step runs."""

    def __init__(self, flow_name: str, step_name: str, run_id: Any, artifact: str) -> None:
        from threading import Thread

        self._asked = (flow_name, step_name, str(run_id), artifact)
        self._stats: List[Dict[str, Dict[str, Any]]] = []
        self._thread = Thread(target=self._look, name="tacho-history", daemon=True)
        self._thread.start()

    def found(self) -> List[Dict[str, Dict[str, Any]]]:
        self._thread.join(_PATIENCE_SECONDS)
        return list(self._stats)

    def _look(self) -> None:
        from itertools import islice
        from time import monotonic

        flow_name, step_name, run_id, artifact = self._asked
        end = monotonic() + _HISTORY_SECONDS
        try:
            from metaflow.client.core import Flow

            for run in islice(Flow(flow_name, _namespace_check=False).runs(), _HISTORY_SEEN):
                if monotonic() > end or len(self._stats) >= _HISTORY_RUNS:
                    return
                if run.id != run_id and run.successful:
                    self._add(run, step_name, artifact)
        except Exception:
            return  # no history is no trouble

    def _add(self, run: Any, step_name: str, artifact: str) -> None:
        from tacho.resource_tracker.tracker import ResourceTracker

        try:
            record = run[step_name].task[artifact].data
            if not record.get("step_failed"):
                self._stats.append(ResourceTracker.from_snapshot(record["tracker"]).stats())
        except Exception:
            return  # without this step, or not recorded
