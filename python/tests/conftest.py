"""Every test has a store of its own, and leaves no process behind."""
import glob
import os
import subprocess
import sys
import textwrap
import time
import uuid

import pytest

pytest_plugins = ["pytester"]


def until(what, seconds=20):
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)


def marked(mark):
    """Agents and programs that a test started."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(folder + "/environ", "rb") as file:
                marked_so = mark.encode() in file.read()
            with open(folder + "/comm", encoding="utf-8", errors="replace") as file:
                if marked_so and file.read().startswith("tacho"):
                    found.append(int(folder[6:]))
        except OSError:
            pass
    return found


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    mark = "mark-" + uuid.uuid4().hex
    monkeypatch.setenv("TACHO_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TACHO_NO_CLOUD", "1")
    monkeypatch.setenv("TACHO_TEST_MARK", mark)
    for name in ("TACHO_RUN", "TACHO_DISABLE", "SENTINEL_API_TOKEN", "SENTINEL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    import tacho._errors

    monkeypatch.setattr(tacho._errors, "_told", False)
    yield
    left = [] if until(lambda: not marked(mark), 5) else marked(mark)
    for pid in left:
        os.kill(pid, 9)
    assert not left, "left behind"


@pytest.fixture
def python(tmp_path):
    """Runs a script in a fresh interpreter; returns the CompletedProcess."""
    def run(script, *options, **keywords):
        path = tmp_path / f"script{uuid.uuid4().hex[:6]}.py"
        path.write_text(textwrap.dedent(script))
        keywords.setdefault("timeout", 60)
        keywords.setdefault("check", True)
        return subprocess.run([sys.executable, *options, str(path)], capture_output=True, text=True, **keywords)
    return run
