"""What every part of scripts/interop needs: checks that are counted, programs that end with the script, free ports, and a
place outside the tracked tree for what is installed. A part is called as NAME.py BUILD_DIR WORK_DIR."""
import atexit
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/test").resolve()
WORK = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/interop").resolve()
BIN = BUILD / "bin"
passed = failed = 0
started = []


def say(text):
    print(f"# {text}", flush=True)


def check(name, ok, why=""):
    """One check, counted. Returns ok, so that what depends on it can be left out."""
    global passed, failed
    passed, failed = (passed + 1, failed) if ok else (passed, failed + 1)
    print(f"{'ok' if ok else 'FAILED'}  {name}{'' if ok or not why else ': ' + str(why)}", flush=True)
    return bool(ok)


def case(function, *args):
    """Runs one function full of checks; an exception is a failed check."""
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001: whatever it is, the other cases go on
        traceback.print_exc()
        check(f"{function.__name__}{args or ''}", False, repr(error))


def finish():
    stop_all()
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(0 if failed == 0 and passed > 0 else 1)


def run(*command, rc=0, timeout=600, **more):
    """A command to its end; its output as text. Another exit status than rc is an exception with all that it said."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                          check=False, **more)
    if rc is not None and done.returncode != rc:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def start(*command, log, **more):
    """A program in the background, ended with this script, its output in WORK/log."""
    out = open(WORK / log, "ab")
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **more)
    started.append(process)
    return process


def stop(process, sig=signal.SIGTERM, wait_s=15):
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process in started:
        started.remove(process)


@atexit.register
def stop_all():
    for process in list(started)[::-1]:
        stop(process)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_port(port, process=None, timeout_s=60):
    until(lambda: port_is_open(port) or (process is not None and process.poll() is not None), timeout_s, f"port {port}")
    if not port_is_open(port):
        raise RuntimeError(f"the program for port {port} ended with {process.poll()}")


def port_is_open(port):
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def until(condition, timeout_s=30, what="condition"):
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come true in {timeout_s} s")
        time.sleep(0.05)


def fresh(name):
    """An empty folder below WORK."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def debian(*packages):
    """Installs what is missing."""
    missing = [name for name in packages if "ok installed" not in run("dpkg-query", "-W", "-f=${Status}", name, rc=None)]
    if missing:
        say(f"installing {' '.join(missing)}")
        root = [] if os.geteuid() == 0 else ["sudo"]
        run(*root, "apt-get", "update", "-qq", rc=None)
        run(*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, timeout=1200)


def venv(name, *packages):
    """A Python of its own with these packages from PyPI; returns its interpreter."""
    folder = WORK / f"venv-{name}"
    python = folder / "bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder)
    run(python, "-m", "pip", "install", "-q", *packages, timeout=1200)
    return python


def go_install(package, version, name=None):
    """A Go program from the module proxy, built once into WORK/bin; returns its path."""
    target = WORK / "bin" / (name or package.rsplit("/", 1)[-1])
    if not target.exists():
        say(f"building {package}@{version}")
        env = {**os.environ, "GOBIN": str(WORK / "bin"), "GOFLAGS": "-buildvcs=false"}
        run("nice", "-n", "10", "go", "install", f"{package}@{version}", env=env, timeout=3600)
    return target
