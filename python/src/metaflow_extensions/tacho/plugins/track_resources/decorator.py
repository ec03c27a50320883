"""@track_resources: what each task of a step used, as an artifact and as a card. Nothing here fails or delays a step."""
import os

from metaflow.decorators import StepDecorator

CARD_TYPE = "tracked_resources"
_HISTORY_RUNS = 5
_HISTORY_SEEN = 50
_HISTORY_SECONDS = 2.0
_PATIENCE_SECONDS = 0.03


def error_record(error):
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
    defaults = {"interval": 1.0, "artifact_name": "resource_tracker_data", "create_card": True}

    def init(self):
        self._logger = None
        self._tracker = None
        self._history = None
        self._trouble = RuntimeError("the step ended before its tracker was started")
        self._card = None

    def _say(self, text):
        if self._logger is not None:
            self._logger("[@track_resources] " + " ".join(text.split()), timestamp=False, bad=True)

    def _interval(self):
        try:
            seconds = float(self.attributes["interval"])
            if 0 < seconds < float("inf"):
                return seconds
        except (TypeError, ValueError):
            pass
        self._say(f"not an interval in seconds: {self.attributes['interval']!r}; 1 s is used")
        return 1.0

    @property
    def _artifact(self):
        return str(self.attributes["artifact_name"])

    # Before a task

    def step_init(self, flow, graph, step_name, decorators, environment, flow_datastore, logger):
        self._logger = logger
        if str(self.attributes["create_card"]).lower() in ("false", "0", "no"):
            return
        try:
            self._card = self._add_card(step_name, decorators)
        except Exception as error:
            self._say(f"no card: {error}")

    def _add_card(self, step_name, decorators):
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

    def add_to_package(self):
        """The package and its programs travel along: an image needs no installation."""
        try:
            yield from self._files()
        except Exception as error:
            self._say(f"tacho does not travel with the code, so that remote steps need it installed: {error}")

    @staticmethod
    def _files():
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

    def task_pre_step(self, step_name, task_datastore, metadata, run_id, task_id, flow, graph, retry_count,
                      max_user_code_retries, ubf_context, inputs):
        try:
            # A join merges what is not set yet: the records of its branches must not be in conflict.
            setattr(flow, self._artifact, error_record(self._trouble))
            from tacho.resource_tracker.tracker import ResourceTracker

            tracker = ResourceTracker(interval=self._interval())
            tracker._token = None  # nothing here waits for a network
            tracker.start()
            self._tracker = tracker
            self._history = History(flow.name, step_name, run_id, self._artifact)
        except Exception as error:
            self._trouble = error
            self._say(f"not recorded: {error}")

    def task_post_step(self, step_name, flow, graph, retry_count, max_user_code_retries):
        self._store(flow, False)

    def task_exception(self, exception, step_name, flow, graph, retry_count, max_user_code_retries):
        self._store(flow, True)
        return False

    def _store(self, flow, failed):
        try:
            tracker, self._tracker = self._tracker, None
            if tracker is None:
                if self._trouble is not None:
                    setattr(flow, self._artifact, error_record(self._trouble))
                return
            tracker.stop(exit_code=1 if failed else 0, run_status="failed" if failed else "finished")
            record = {"step_failed": failed, "tracker": tracker.snapshot(), "historical_stats": self._history.found()}
            self._trouble = None
        except Exception as error:
            self._trouble = error
            self._say(f"what was recorded is lost: {error}")
            record = error_record(error)
        try:
            setattr(flow, self._artifact, record)
        except Exception as error:
            self._say(f"there can be no artifact {self._artifact}: {error}")

    def task_finished(self, step_name, flow, graph, is_task_ok, retry_count, max_user_code_retries):
        """Metaflow renders the cards of those that went well; of a failed one this does."""
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

    def __init__(self, flow_name, step_name, run_id, artifact):
        from threading import Thread

        self._asked = (flow_name, step_name, str(run_id), artifact)
        self._stats = []
        self._thread = Thread(target=self._look, name="tacho-history", daemon=True)
        self._thread.start()

    def found(self):
        self._thread.join(_PATIENCE_SECONDS)
        return list(self._stats)

    def _look(self):
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

    def _add(self, run, step_name, artifact):
        from tacho.resource_tracker.tracker import ResourceTracker

        try:
            record = run[step_name].task[artifact].data
            if not record.get("step_failed"):
                self._stats.append(ResourceTracker.from_snapshot(record["tracker"]).stats())
        except Exception:
            return  # without this step, or not recorded
