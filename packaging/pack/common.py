"""What all kinds share: the tree's facts, how commands are run, and how a step fails."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "package"
ARCHITECTURES = {
    "amd64": {"machine": "x86_64", "elf": 62, "rpm": "x86_64"},
    "arm64": {"machine": "aarch64", "elf": 183, "rpm": "aarch64"},
}
PROGRAMS = ("tacho", "tacho-deliver", "tacho-gpu", "tacho-query")
# Tools that are no part of every Debian, and the packages that have them.
DEBIAN = {"dpkg-deb": "dpkg", "rpmbuild": "rpm", "rpm": "rpm", "rpm2cpio": "rpm2cpio", "cmake": "cmake", "ninja": "ninja-build", "g++": "g++",
          "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "qemu-aarch64-static": "qemu-user-static", "debootstrap": "debootstrap",
          "readelf": "binutils", "dpkg-query": "dpkg", "skopeo": "skopeo", "ruby": "ruby", "dpkg-parsechangelog": "dpkg-dev",
          "cpio": "cpio", "R": "r-base-core"}


class Failure(Exception):
    """A step that failed; its text says what to do."""


def say(*words):
    print("package:", *words, file=sys.stderr, flush=True)


def need(tool):
    found = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if not found:
        raise Failure(f"{tool} is missing: install Debian's package {DEBIAN.get(tool, tool)} (scripts/install-deps package has all)")
    return found


def run(*command, cwd=ROOT, env=None, quiet=True, **more):
    """Runs a command to its end; its output is shown when it fails. Returns its stdout."""
    need(str(command[0])) if "/" not in str(command[0]) else None
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**environment(), **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None, text=True, errors="replace", check=False, **more)
    if done.returncode != 0:
        tail = "\n".join(((done.stdout or "") + (done.stderr or "")).splitlines()[-30:])
        raise Failure(f"{' '.join(str(word) for word in command)[:300]} ended with {done.returncode}\n{tail}")
    return done.stdout


def version():
    return re.search(r"^project\(tacho VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def epoch():
    """SOURCE_DATE_EPOCH, else the time of the last commit, else that of CHANGELOG.md."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given:
        if not re.fullmatch(r"\d{1,11}", given):
            raise Failure(f"SOURCE_DATE_EPOCH is no number of seconds: {given!r}")
        return int(given)
    # Of this tree alone: an unpacked copy inside another repository has no commit of its own.
    done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False) \
        if (ROOT / ".git").exists() and shutil.which("git") else None
    if done is not None and done.returncode == 0 and done.stdout.strip():
        return int(done.stdout)
    return int((ROOT / "CHANGELOG.md").stat().st_mtime)


def environment():
    """What every command sees: nothing that would change bytes."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "GZIP", "XZ_OPT", "TAR_OPTIONS", "PYTHONPATH", "TACHO_DIST_TAG",
                            "CCACHE_BASEDIR")  # it rewrites the names of files, which __FILE__ then tells
            and not name.startswith(("LC_", "DPKG_"))}
    return {**kept, "TZ": "UTC", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "SOURCE_DATE_EPOCH": str(epoch()), "PYTHONDONTWRITEBYTECODE": "1"}


def host_architecture():
    machine = os.uname().machine
    for name, facts in ARCHITECTURES.items():
        if facts["machine"] == machine:
            return name
    raise Failure(f"packages are made on x86_64 and aarch64, not on {machine}")


def write(path, data):
    """A whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    os.chmod(new, 0o644)
    os.replace(new, path)
    return path
