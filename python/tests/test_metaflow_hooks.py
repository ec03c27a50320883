"""The hooks of @track_resources without Metaflow: a step never fails for it, and its interval is used."""
import json
import subprocess
import sys

HEAD = """
import sys, types

class StepDecorator:
    def __init__(self, **attributes):
        self.attributes = {**self.defaults, **attributes}
        self.init()

for name in ("metaflow", "metaflow.decorators"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["metaflow.decorators"].StepDecorator = StepDecorator
from metaflow_extensions.tacho.plugins.track_resources.decorator import TrackResourcesDecorator

class Flow:
    name = "F"
told = []
flow = Flow()
deco = TrackResourcesDecorator(**ATTRIBUTES)
deco.step_init(flow, None, "s", [], None, None, lambda text, **names: told.append(text))

def run(fails=False, work=lambda: None):
    deco.task_pre_step("s", None, None, "1", "1", flow, None, 0, 0, None, None)
    work()
    deco.task_exception(ValueError("x"), "s", flow, None, 0, 0) if fails else deco.task_post_step("s", flow, None, 0, 0)
    deco.task_finished("s", flow, None, not fails, 0, 0)
"""


def hooks(script, **attributes):
    """What the script prints as JSON."""
    attributes.setdefault("create_card", False)
    code = HEAD.replace("ATTRIBUTES", repr(attributes)) + "import json, os, time\n" + script
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_interval_is_used():
    rows, every, told = hooks("run(work=lambda: time.sleep(0.5))\nt = flow.x['tracker']\n"
                              "print(json.dumps([len(t['process_metrics']), t['metadata']['interval'], told]))", interval=0.05, artifact_name="x")
    assert every == 0.05 and rows >= 5 and told == []


def test_interval_as_text_and_nonsense():
    """--with track_resources:interval=… gives a text."""
    for text in ("0.1", "100ms"):
        assert hooks("run()\nprint(json.dumps(flow.resource_tracker_data['tracker']['metadata']['interval']))", interval=text) == 0.1
    every, told = hooks("run()\nprint(json.dumps([flow.resource_tracker_data['tracker']['metadata']['interval'], told]))", interval="soon")
    assert every == 1.0 and len(told) == 1 and "soon" in told[0]


def test_failed_step():
    assert hooks("run(fails=True)\nprint(json.dumps(flow.resource_tracker_data['step_failed']))") is True


def test_step_that_exits():
    """Metaflow calls neither hook after SystemExit: the record says so, and nothing records on."""
    error, running, told = hooks("""
deco.task_pre_step("s", None, None, "1", "1", flow, None, 0, 0, None, None)
tracker = deco._tracker
deco.task_finished("s", flow, None, False, 0, 0)
print(json.dumps([flow.resource_tracker_data["error"]["error_message"], tracker.running, told]))""")
    assert "left its process" in error and not running and told == []


def test_tracker_cannot_start(tmp_path, monkeypatch):
    """The attribute is there, the step goes on, and one line tells why."""
    (tmp_path / "tacho").write_text("#!/bin/sh\necho 'tacho: no luck' >&2\nexit 125\n")
    (tmp_path / "tacho").chmod(0o755)
    monkeypatch.setenv("TACHO_BIN", str(tmp_path))
    error, told = hooks("run()\nprint(json.dumps([flow.resource_tracker_data['error'], told]))")
    assert set(error) == {"error_type", "error_message", "traceback"} and "no luck" in error["error_message"]
    assert len(told) == 1 and "no luck" in told[0]


def test_another_platform(tmp_path, monkeypatch):
    """A remote step may find a program that it cannot execute: it is recorded in pure Python."""
    head = bytearray(b"\x7fELF\x02\x01\x01" + bytes(57))
    head[18] = 8  # MIPS
    for name in ("tacho",):
        (tmp_path / name).write_bytes(bytes(head))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("TACHO_BIN", str(tmp_path))
    found = hooks("run(work=lambda: time.sleep(0.2))\nt = flow.resource_tracker_data['tracker']\n"
                  "print(json.dumps([t['metadata']['resource_tracker']['implementation'], len(t['process_metrics'])]))", interval=0.05)
    assert found[0] == "procfs" and found[1] >= 2


def test_nothing_heavy_at_each_end():
    """Both ends of a step together are far from a second."""
    assert hooks("run()\nbegin = time.perf_counter()\nrun()\nprint(json.dumps(time.perf_counter() - begin))") < 1


CARD = """
import json, sys, types
for name in ("metaflow", "metaflow.plugins", "metaflow.plugins.cards", "metaflow.plugins.cards.card_modules", "metaflow.plugins.cards.card_modules.card"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["metaflow.plugins.cards.card_modules.card"].MetaflowCard = type("MetaflowCard", (), {})
from metaflow_extensions.tacho.plugins.cards.tracked_resources import CARDS
from metaflow_extensions.tacho.plugins.cards.tracked_resources import TrackedResourcesCard as Card

class Artifact:
    def __init__(self, data):
        self.data = data
def render(record):
    return Card({"artifact_name": "x"}).render({"x": Artifact(record)})
"""


def rendered(script):
    done = subprocess.run([sys.executable, "-c", CARD + script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_card_of_an_error():
    """What a step that could not be recorded leaves is a page too, with nothing of it taken for HTML."""
    for text in rendered("""
full = {"error": {"error_type": "A<b>", "error_message": "<script>x</script>", "traceback": "line & <i>"}}
bare = {"error": {"error_type": None, "error_message": None}}
print(json.dumps([render(full), render(bare)]))
"""):
        assert text.startswith("<html>") and "<script" not in text and "<i>" not in text and "<b>" not in text


def test_card_of_nonsense():
    """Another shape, another version, no artifact: a page that says so, never an exception."""
    pages = rendered("""
pages = [render(record) for record in (None, 5, "x", {}, {"tracker": {}}, {"tracker": {"metadata": {"version": 99}}}, {"error": 3})]
print(json.dumps([*pages, Card({}).render({}), Card().render({})]))
""")
    assert all(page.startswith("<html>") and "<pre>" in page for page in pages)
