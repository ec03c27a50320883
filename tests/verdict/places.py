"""Surroundings in which a burner is bound by one thing: cgroups with a limit, a slow disk, a peer behind a slow link. Each is a context that
raises NotHere with the reason where this machine cannot make it, and leaves nothing behind."""
import contextlib
import os
import pathlib
import shutil
import subprocess

CGROUPS = pathlib.Path("/sys/fs/cgroup")
SMALL_BYTES = 48 << 20


class NotHere(Exception):
    pass


def call(*words):
    """A command of the machine's administrator; NotHere with what it said."""
    if shutil.which(words[0]) is None:
        raise NotHere(f"{words[0]} is not installed")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        said = done.stdout.strip().splitlines() or [f"status {done.returncode}"]
        raise NotHere(f"{' '.join(words[:3])}: {said[0]}")
    return done.stdout.strip()


class Place:
    """Where and how tacho is started."""

    def __init__(self, folder, enter=None, env=None, figures=None):
        self.folder, self.enter, self.env = folder, enter, env or {}
        self.figures = figures or (lambda: {})  # the kernel's own counters of this place


@contextlib.contextmanager
def anywhere(folder):
    yield Place(folder)


@contextlib.contextmanager
def limited(folder, controller, v1, v2):
    """A cgroup with one limit, for tacho and the job together: of version 1 where the controller is mounted so, else of version 2."""
    parent = CGROUPS / controller
    settings = v1
    if not parent.is_dir():
        parent, settings = CGROUPS, v2
        enabled = (parent / "cgroup.subtree_control").read_text().split() if (parent / "cgroup.subtree_control").exists() else []
        if {"blkio": "io"}.get(controller, controller) not in enabled:
            raise NotHere(f"no cgroup controller {controller} to be used")
    group = parent / f"tacho-verdict-{os.getpid()}"
    try:
        group.mkdir()
        for name, value in settings:
            (group / name).write_text(value)
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise NotHere(f"{controller}: {error.strerror}") from error

    def enter():
        (group / "cgroup.procs").write_text("0")

    def figures():
        """cpu.stat and what else has numbers by name."""
        found = {}
        for name in ("cpu.stat", "memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                for line in (group / name).read_text().splitlines():
                    key, _, value = line.partition(" ")
                    found[key] = float(value)
        return found
    try:
        yield Place(folder, enter, figures=figures)
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def quota(folder):
    return limited(folder, "cpu", [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")], [("cpu.max", "50000 100000")])


def small_memory(folder):
    return limited(folder, "memory", [("memory.limit_in_bytes", str(SMALL_BYTES))], [("memory.max", str(SMALL_BYTES))])


@contextlib.contextmanager
def small_memory_with_swap(folder):
    """Where the machine has no swap, a file of 256 MiB is it for as long as this takes."""
    with contextlib.ExitStack() as undo:
        if len(pathlib.Path("/proc/swaps").read_text().splitlines()) < 2:
            path = f"{folder}/swap"
            undo.callback(pathlib.Path(path).unlink, missing_ok=True)
            call("dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=256", "status=none")
            os.chmod(path, 0o600)
            call("mkswap", path)
            call("swapon", path)
            undo.callback(subprocess.run, ["swapoff", path], check=False)
        place = undo.enter_context(small_memory(folder))
        own = place.figures
        place.figures = lambda: {**own(), **swapped_pages()}
        yield place


def swapped_pages():
    lines = (line.split() for line in pathlib.Path("/proc/vmstat").read_text().splitlines())
    return {name: float(value) for name, value in lines if name in ("pswpin", "pswpout")}


def disk_of(path):
    device = os.stat(path).st_dev
    whole = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (whole / "partition").exists():
        whole = whole.parent
    if not (whole / "dev").exists():
        raise NotHere(f"{path} is on no disk")
    return (whole / "dev").read_text().strip()


def throttled_disk(folder):
    disk = disk_of(folder)
    return limited(folder, "blkio", [("blkio.throttle.read_bps_device", f"{disk} {4 << 20}")], [("io.max", f"{disk} rbps={4 << 20}")])


def delayed(loop, undo):
    """The device over a loop device that takes 10 ms for every request."""
    name = f"tacho-verdict-{os.getpid()}"
    call("dmsetup", "create", name, "--table", f"0 {(256 << 20) // 512} delay {loop} 0 10")
    undo.callback(subprocess.run, ["dmsetup", "remove", "--retry", name], check=False)
    return f"/dev/mapper/{name}"


def throttled(loop, undo):
    """The loop device itself, which the kernel holds to 40 writes a second, its own journal's included."""
    limit = CGROUPS / "blkio/blkio.throttle.write_iops_device"
    number = pathlib.Path("/sys/block", os.path.basename(loop), "dev").read_text().strip()
    try:
        limit.write_text(f"{number} 40")
    except OSError as error:
        raise NotHere(f"{limit}: {error.strerror}") from error
    undo.callback(limit.write_text, f"{number} 0")
    return loop


@contextlib.contextmanager
def slow_disk(folder):
    """A file system on a slow device: dm-delay where the kernel has it, else a loop device that is held back."""
    image, mount = f"{folder}/slow.img", f"{folder}/slow"
    with contextlib.ExitStack() as undo:
        subprocess.run(["truncate", "-s", "256M", image], check=True)
        undo.callback(os.unlink, image)
        loop = call("losetup", "--find", "--show", image)
        undo.callback(subprocess.run, ["losetup", "-d", loop], check=False)
        call("mkfs.ext4", "-q", loop)
        try:
            device = delayed(loop, undo)
        except NotHere:
            device = throttled(loop, undo)
        os.mkdir(mount)
        undo.callback(os.rmdir, mount)
        call("mount", device, mount)
        undo.callback(subprocess.run, ["umount", mount], check=False)
        yield Place(mount)


@contextlib.contextmanager
def far_peer(folder, burner):
    """A peer in a network namespace of its own, behind a link with 50 ms of delay; where the kernel cannot delay, one of 1 Mbit/s that is always full."""
    name, near, far = f"tv{os.getpid()}", f"tva{os.getpid() % 100000}", f"tvb{os.getpid() % 100000}"
    with contextlib.ExitStack() as undo:
        call("ip", "netns", "add", name)
        undo.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
        call("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
        call("ip", "addr", "add", "10.213.117.1/30", "dev", near)
        call("ip", "link", "set", near, "up")
        call("ip", "-n", name, "addr", "add", "10.213.117.2/30", "dev", far)
        call("ip", "-n", name, "link", "set", far, "up")
        kind = "serve"
        try:
            call("tc", "qdisc", "add", "dev", near, "root", "netem", "delay", "50ms")
        except NotHere:
            call("tc", "-n", name, "qdisc", "add", "dev", far, "root", "tbf", "rate", "1mbit", "burst", "3000", "latency", "200ms")
            kind = "flood"
        env = {"TACHO_PEER": "10.213.117.2"}
        server = subprocess.Popen(["ip", "netns", "exec", name, burner, kind, "600"], env={**os.environ, **env}, stdout=subprocess.DEVNULL)
        undo.callback(server.wait)
        undo.callback(server.kill)
        yield Place(folder, env=env)
