"""@track_resources in a real local flow: foreach, a retry, a failing step, history, cards, what travels to remote steps."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("metaflow", reason="metaflow is not installed: scripts/test-python --metaflow")

FLOW = """
import os, time
from metaflow import FlowSpec, Parameter, card, current, retry, step, track_resources

class TrackedFlow(FlowSpec):
    fail = Parameter("fail", default=0)

    @card
    @track_resources(interval=0.1)
    @step
    def start(self):
        time.sleep(0.5)
        self.parts = [1, 2, 3]
        self.next(self.part, foreach="parts")

    @retry(times=1, minutes_between_retries=0)
    @track_resources(interval=0.1, artifact_name="used", create_card=False)
    @step
    def part(self):
        data = bytearray(self.input << 24)
        time.sleep(0.3)
        if self.input == 2 and current.retry_count == 0:
            raise ValueError("again")
        self.size = len(data)
        self.next(self.join)

    @track_resources
    @step
    def join(self, inputs):
        self.merge_artifacts(inputs, exclude=["size", "used"])
        self.next(self.end)

    @track_resources(interval=0.1)
    @step
    def end(self):
        time.sleep(0.2)
        if self.fail:
            raise RuntimeError("<b>as asked</b>")

if __name__ == "__main__":
    TrackedFlow()
"""
READ = """
import json, pickle, sys
from metaflow import Flow, namespace
from metaflow.cards import get_cards
namespace(None)
run = Flow("TrackedFlow").latest_run
found = {"successful": run.successful, "steps": {}}
for step in run:
    for task in step:
        for name in ("used", "resource_tracker_data"):
            if name in task and not (name == "resource_tracker_data" and step.id == "part"):
                found["steps"].setdefault(step.id, []).append(task[name].data)
for step in ("start", "end"):
    cards = [one for one in get_cards(run[step].task) if one.type == "tracked_resources"]
    found[step] = [one.get() for one in cards]
print(json.dumps(found))
"""


@pytest.fixture
def flow(tmp_path, monkeypatch):
    for name, value in (("USERNAME", "pytest"), ("HOME", str(tmp_path)), ("METAFLOW_DEFAULT_METADATA", "local"),
                        ("METAFLOW_DATASTORE_SYSROOT_LOCAL", str(tmp_path)), ("TACHO_KEEPER_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(name, value)
    (tmp_path / "flow.py").write_text(FLOW)

    def run(*words, code=None, script="flow.py"):
        done = subprocess.run([sys.executable, *(["-c", code] if code else [script, *words])], cwd=tmp_path,
                              capture_output=True, text=True, timeout=240, check=False)
        done.told = done.stdout + done.stderr
        return done
    return run


def test_flow(flow):
    done = flow("run")
    assert done.returncode == 0, done.told
    assert "[@track_resources]" not in done.told
    found = json.loads(flow(code=READ).stdout)
    assert found["successful"]
    assert {step: len(records) for step, records in found["steps"].items()} == {"start": 1, "part": 3, "join": 1, "end": 1}
    for step, records in found["steps"].items():
        for record in records:
            assert record["step_failed"] is False and record["historical_stats"] == [], step
            assert record["tracker"]["metadata"]["resource_tracker"]["implementation"] == "tacho"
            assert len(record["tracker"]["process_metrics"]) >= 1
    assert found["steps"]["part"][0]["tracker"]["metadata"]["interval"] == 0.1
    assert len({record["tracker"]["metadata"]["pid"] for record in found["steps"]["part"]}) == 3
    assert len(found["start"]) == len(found["end"]) == 1
    page = found["start"][0]
    assert len(page) > 100_000 and "from <code>Metaflow</code>" in page and "Finished" in page
    assert "<link" not in page and " src=\"http" not in page

    failed = flow("run", "--fail", "1")
    assert failed.returncode != 0 and "as asked" in failed.told
    found = json.loads(flow(code=READ).stdout)
    assert not found["successful"]
    assert found["steps"]["end"][0]["step_failed"] is True
    assert len(found["steps"]["start"][0]["historical_stats"]) == 1
    assert "process_memory_mib" in found["steps"]["start"][0]["historical_stats"][0]
    assert len(found["end"]) == 1 and "Failed" in found["end"][0]


def test_with_option_and_trouble(flow, tmp_path, monkeypatch):
    (tmp_path / "plain.py").write_text(textwrap.dedent("""
        from metaflow import FlowSpec, step
        class PlainFlow(FlowSpec):
            @step
            def start(self):
                self.next(self.end)
            @step
            def end(self):
                pass
        if __name__ == "__main__":
            PlainFlow()
        """))
    assert flow("run", "--with", "track_resources:interval=0.5,artifact_name=x", script="plain.py").returncode == 0
    read = "from metaflow import Flow, namespace\nimport json\nnamespace(None)\nprint(json.dumps(Flow('PlainFlow').latest_run['end'].task['x'].data))"
    record = json.loads(flow(code=read).stdout)
    assert record["tracker"]["metadata"]["interval"] == 0.5
    # A program that starts and fails: the step goes on, the record says why, the card shows it.
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "tacho").write_text("#!/bin/sh\necho 'tacho: no <b>luck</b>' >&2\nexit 125\n")
    (tmp_path / "bad" / "tacho").chmod(0o755)
    monkeypatch.setenv("TACHO_BIN", str(tmp_path / "bad"))
    done = flow("run", "--with", "track_resources:artifact_name=x,interval=-3", script="plain.py")
    assert done.returncode == 0 and "not recorded" in done.told
    monkeypatch.delenv("TACHO_BIN")
    error = json.loads(flow(code=read).stdout)["error"]
    assert set(error) == {"error_type", "error_message", "traceback"} and "luck" in error["error_message"]
    page = flow(code="from metaflow import Flow, namespace\nfrom metaflow.cards import get_cards\nnamespace(None)\n"
                     "print(get_cards(Flow('PlainFlow').latest_run['end'].task)[0].get())").stdout
    assert "&lt;b&gt;luck" in page and "<b>luck" not in page


def test_what_travels(flow):
    done = flow("package", "save", "code.tgz")
    assert done.returncode == 0, done.told
    import tarfile
    folder = os.environ["HOME"]
    with tarfile.open(os.path.join(folder, "code.tgz")) as archive:
        members = {member.name: member for member in archive}
    program = [member for name, member in members.items() if name.endswith("bin/tacho")]
    assert len(program) == 1 and program[0].mode & 0o111
    at = program[0].name[:-len("bin/tacho")]
    for name in ("tacho/__init__.py", "tacho/resource_tracker/tracker.py", "metaflow_extensions/tacho/plugins/mfextinit_tacho.py"):
        assert at + name in members, sorted(members)[:50]
