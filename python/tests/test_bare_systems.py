"""Bad surroundings that are the system's: a filter on system calls, nothing that can be written to, no name, no /tmp."""
import os
import subprocess
import sys

import pytest

FILTER = """
import ctypes, struct, sys
def forbid(calls, errno):
    lines = [(0x20, 0, 0, 0)]  # the number of the call
    for at, call in enumerate(calls):
        lines.append((0x15, len(calls) - at, 0, call))
    lines += [(0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x00050000 | errno)]
    code = b"".join(struct.pack("<HBBI", *line) for line in lines)
    text = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("<H6xQ", len(lines), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        sys.exit(77)
"""


@pytest.mark.parametrize("errno", [1, 38])
def test_filter_on_system_calls(python, errno):
    """Without pidfd_open and pidfd_send_signal, refused (old container engines) or unknown (old kernels), for us and for the agent."""
    done = python(FILTER + f"""
forbid([434, 424], {errno})
import os
try:
    os.pidfd_open(os.getpid())
    sys.exit("the filter has a hole")
except (OSError, AttributeError):
    pass
import tacho
with tacho.track(interval=0.05, strict=True) as t:
    tacho.run(["sh", "-c", "sleep 0.2"])
assert t.run.state == "finished" and len(t.run) >= 2, t.run.info
assert tacho.load("last~1").state == "finished"
print("ok")
""", check=False)
    if done.returncode == 77:
        pytest.skip("no filter can be set here")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def in_own_mounts(shell, tmp_path, script):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs mounts of its own")
    path = tmp_path / "x.py"
    path.write_text(script)
    env = {**os.environ, "HOME": "/root"}
    env.pop("TACHO_STORE")
    (tmp_path / "place").mkdir()
    return subprocess.run(["unshare", "-m", "sh", "-ec", f"{shell}\nexec '{sys.executable}' -B -W always '{path}'"], env=env, cwd="/",
                          capture_output=True, text=True, timeout=60, check=False)


def test_read_only_root_with_a_store(tmp_path):
    """Nothing else can be written to; there is no /tmp to fall back to, and none is needed."""
    done = in_own_mounts(f"mount -t tmpfs none '{tmp_path}/place'; export TACHO_STORE='{tmp_path}/place/store'; mount -o remount,bind,ro /", tmp_path, """
import os, tacho
for place in ("/", "/tmp", os.path.expanduser("~")):
    try:
        os.mkdir(place + "/x")
        raise SystemExit("not read-only")
    except OSError:
        pass
with tacho.track(strict=True) as t:
    assert tacho.mark("a")
assert len(t.run) == 1 and t.run.state == "finished" and t.run.report().startswith("<!")
print("ok")
""")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_nothing_can_be_written(tmp_path):
    """The block runs; one warning says what is missing."""
    done = in_own_mounts("mount -o remount,bind,ro /; mount -o remount,bind,ro /dev/shm || :", tmp_path, """
import tacho
for _ in range(2):
    with tacho.track(export=False) as t:
        assert t.run is None and not t.running and not tacho.mark("a")
done = tacho.run(["sh", "-c", "exit 3"])
assert done.returncode == 3 and done.run is None
print("ok")
""")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert done.stderr.count("TachoWarning") == 1 and "store=" in done.stderr, done.stderr
