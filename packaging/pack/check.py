"""scripts/package --check: every package is made in two folders, compared, installed, run and removed."""
import contextlib
import csv
import filecmp
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from . import archives, common, formula, installs, programs
from .common import ARCHITECTURES, PROGRAMS, ROOT, WORK, Failure, need, run, say, version
from .installs import copy_tree, expect, facts_of, in_root


AGENT_KIB = 6 * 1024
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"


def package(tree, arch, out, env=None):
    """Runs scripts/package of a tree; the paths that it printed."""
    printed = run(tree / "scripts/package", "all", "--arch", arch, "--out", out, cwd=tree, env=env)
    return [pathlib.Path(line) for line in printed.splitlines()]


def same_bytes(first, arch, folder):
    place = folder / "another-place" / "with-a-longer-name"
    copy_tree(place)
    # Compiled anew: what a cache keeps of the first time would be equal without proving anything.
    second = {path.name: path for path in package(place, arch, folder / "second", {"CCACHE_DISABLE": "1"})}
    for path in first:
        expect(path.name in second and filecmp.cmp(path, second[path.name], shallow=False), f"{path.name} has other bytes when made in {place}")
    for name in ("SHA256SUMS", f"tacho-{version()}-{arch}.spdx.json"):
        mine = [line for line in (folder / "first" / name).read_text().splitlines()]
        expect(mine == (folder / "second" / name).read_text().splitlines(), f"{name} differs")


def static_programs(folder, arch):
    for name in PROGRAMS:
        machine, loader, needed = programs.elf(folder / name)
        expect(machine == ARCHITECTURES[arch]["elf"], f"{name} is not for {arch}")
        expect((loader == "" and needed == 0) == (name in programs.STATIC), f"{name}: loader {loader!r}, {needed} libraries")
    needs = run("readelf", "-V", folder / "tacho-gpu")
    newest = max(tuple(map(int, word[6:].split("."))) for word in needs.replace(")", " ").split() if word.startswith("GLIBC_2"))
    expect(newest <= (2, 17), f"tacho-gpu needs glibc {newest}")


def tar_contents(path, folder, arch):
    with tarfile.open(path) as archive:
        archive.extractall(folder, **({"filter": "tar"} if hasattr(tarfile, "data_filter") else {}))
    top = folder / f"tacho-{version()}"
    expect(os.readlink(top / "bin/resource-tracker") == "tacho", "resource-tracker is no link to tacho")
    static_programs(top / "bin", arch)
    facts_of(programs.print_with(top / "bin", arch, "version", "--json"), arch)
    return top / "bin"


def needs_nothing(bin_folder, folder):
    """A root with nothing but the programs: no libc, no shell. That is Alpine, RHEL and Debian alike."""
    root = folder / "empty"
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    for name in PROGRAMS:
        shutil.copy2(bin_folder / name, root / "bin" / name)
    in_root(root, "/bin/tacho", "run", "-q", "-o", "/tmp/x.csv", "--", "/bin/tacho", "version")
    expect(len((root / "tmp/x.csv").read_text().splitlines()) >= 2, "no sample in an empty root")
    in_root(root, "/bin/tacho", "deliver", "--help")
    expect(in_root(root, "/bin/tacho", "query", "--csv", "SELECT count(*) FROM runs") == "count(*)\n1\n", "tacho query in an empty root")


def gpu_columns(bin_folder, folder):
    """The static agent reads NVIDIA's columns through tacho-gpu; here from the driver of the tests."""
    library, machine, rows = folder / "libfake_nvml.so", folder / "machine", folder / "gpu.csv"
    run("g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, ROOT / "tests/fake_nvml/fake_nvml.cc")
    machine.write_text(f"device name=X util=50 total={1000 << 20} used={100 << 20}\n")
    run(bin_folder / "tacho", "run", "-q", "--no-store", "-i", "100ms", "-o", rows, "--", "sleep", "1",
        env={"TACHO_NVML_LIBRARY": str(library), "FAKE_NVML": str(machine)})
    with open(rows, encoding="utf-8") as file:
        values = {(row["system_gpu_usage"], row["system_gpu_vram_mib"]) for row in csv.DictReader(file)}
    expect(("0.5000", "100.0000") in values, f"GPU columns by tacho-gpu: {values}")


def agent_is_small(bin_folder, folder):
    """The most that the agent which users get ever has resident, tick after tick. Pages of its program file count as they are asked for:
    of a file that somebody has just read the kernel maps more, by the pieces that it holds of it."""
    with open(bin_folder / "tacho", "rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    facts = json.loads(run(bin_folder / "tacho", "attach", "--detach", f"--pid={os.getpid()}", "--interval=50ms", f"--store={folder}/small", env={"TACHO_QUIET": "1"}))
    try:
        rows = pathlib.Path(facts["folder"]) / "metrics.csv"
        deadline = time.monotonic() + 30
        while len(rows.read_text().splitlines()) < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        status = pathlib.Path(f"/proc/{facts['agent_pid']}/status").read_text()
    finally:
        run(bin_folder / "tacho", "stop", facts["id"], f"--store={folder}/small")
    peak, shared, own = (int(re.search(rf"^{name}:\s+(\d+) kB", status, re.M).group(1)) for name in ("VmHWM", "RssFile", "RssAnon"))
    expect(len(rows.read_text().splitlines()) > 20, "the agent wrote no rows")
    said = f"the agent has {peak} KiB resident at most; now {own} KiB are its own, {shared} KiB pages of its file"
    expect(peak <= AGENT_KIB and own <= AGENT_KIB // 3, f"{said}: more than {AGENT_KIB}, or a third of that its own")
    say(f"        {said}")


def wheel_runs(path, folder):
    venv = folder / "venv"
    run("python3", "-m", "venv", venv)
    run(venv / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", path)
    expect(path.stat().st_size <= 8_000_000, f"the wheel has {path.stat().st_size} bytes")
    facts_of(run(venv / "bin/tacho", "version", "--json"), common.host_architecture())
    run(venv / "bin/python", "-c", "import tacho; done = tacho.run(['true']); assert done.returncode == 0 and done.run.summary()['exit_code'] == 0",
        env={"TACHO_STORE": str(folder / "store")})
    run(venv / "bin/resource-tracker", "--version")
    expect(run(venv / "libexec/tacho/shell/bash", "-c", "echo $0", env={"TACHO_STORE": str(folder / "store")}).endswith("/bash\n"), "the recording shell of the wheel")


def image_runs(path, arch, folder):
    layout, root = folder / f"layout-{arch}", folder / f"image-{arch}"
    with tarfile.open(path) as archive:
        archive.extractall(layout, **({"filter": "tar"} if hasattr(tarfile, "data_filter") else {}))
    for blob in (layout / "blobs/sha256").iterdir():
        expect(archives.sha256(blob.read_bytes()) == blob.name, f"a blob has another digest: {blob.name}")
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads((layout / "blobs/sha256" / index["manifests"][0]["digest"][7:]).read_text())
    config = json.loads((layout / "blobs/sha256" / manifest["config"]["digest"][7:]).read_text())
    expect((config["config"]["User"], config["config"]["Entrypoint"], config["architecture"]) == ("65534", ["/usr/bin/tacho"], arch), "the image's config")
    root.mkdir()
    run("tar", "-xzf", layout / "blobs/sha256" / manifest["layers"][0]["digest"][7:], "-C", root)
    if shutil.which("skopeo"):
        expect(json.loads(run("skopeo", "inspect", f"oci-archive:{path}"))["Architecture"] == arch, "skopeo")
    else:
        say("note: no skopeo: the image was looked into by this script alone")
    facts_of(programs.print_with(root / "usr/bin", arch, "version", "--json"), arch)
    if arch == common.host_architecture():
        in_root(root, "/usr/bin/tacho", "run", "-q", "--", "/usr/bin/tacho", "version", user="65534:65534")
        said = in_root(root, "/usr/bin/tacho-gpu", "--version")
    else:
        said = run(need("qemu-aarch64-static"), "-L", root, root / "usr/bin/tacho-gpu", "--version")
    expect(said == f"tacho-gpu {version()}\n", "tacho-gpu finds no loader in the image")


def emulated(bin_folder, folder):
    """What qemu can show of arm64: exit status, files, rows."""
    out = folder / "arm64.csv"
    qemu = need("qemu-aarch64-static")
    run(qemu, bin_folder / "tacho", "run", "-q", "--no-store", "-i", "100ms", "-o", out, "--", "/bin/sleep", "0.5")
    expect(len(out.read_text().splitlines()) >= 3, "no rows by the arm64 program")
    done = subprocess.run([qemu, bin_folder / "tacho", "run", "-q", "--no-store", "--", "/bin/sh", "-c", "exit 7"], check=False)
    expect(done.returncode == 7, f"the job's status by the arm64 program: {done.returncode}")
    run(qemu, bin_folder / "tacho-deliver", "discover", "--help")
    expect(run(qemu, bin_folder / "tacho-query", "--csv", f"--store={folder}/none", "SELECT 6 * 7 AS x") == "x\n42\n", "tacho-query for arm64")


def sums_hold(out):
    run("sha256sum", "-c", "--quiet", "SHA256SUMS", cwd=out)
    names = [line.split("  ")[1] for line in (out / "SHA256SUMS").read_text().splitlines()]
    expect(names == sorted(names), "SHA256SUMS is not sorted")


WORKFLOW = """on: pull_request
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - {id: t, uses: ./github-action, with: {command: make, job-name: x, args: -i 1s, baseline: b, fail-if: time > 1s, comment: true}}
      - run: echo "${{ steps.t.outputs.run-id }} ${{ steps.t.outputs.cpu-mean }}"
"""


def actionlint():
    """What reads GitHub's workflows: the machine's, else one that go builds, once."""
    found = shutil.which("actionlint")
    if found or not shutil.which("go"):
        return found
    place = WORK / "tools"
    if not (place / "actionlint").is_file():
        run("go", "install", ACTIONLINT, env={"GOBIN": str(place)})
    return place / "actionlint"


def other_files(folder):
    run("ruby", "-c", ROOT / "packaging/homebrew/tacho.rb")
    linter = actionlint()
    if linter is None:
        return say(f"note: neither actionlint nor go is here: the action was not read by it (go install {ACTIONLINT})")
    place = folder / "workflow"
    shutil.copytree(ROOT / "packaging/github-action", place / "github-action")
    (place / ".github/workflows").mkdir(parents=True)
    (place / ".github/workflows/x.yml").write_text(WORKFLOW)
    run("git", "init", "-q", place)
    run(linter, "-no-color", cwd=place)


def steps(arch, folder):
    """(name, function) of all checks of an architecture."""
    own = arch == common.host_architecture()
    made = {}

    def make():
        for path in package(ROOT, arch, folder / "first"):
            made[path.suffix if not path.name.endswith((".oci.tar", ".tar.gz")) else ".oci" if path.name.endswith(".oci.tar") else
                 ".r" if path.name.startswith("tacho_") else ".tar.gz"] = path

    yield "made", make
    yield "checksums", lambda: sums_hold(folder / "first")
    yield "tar", lambda: made.update(bin=tar_contents(made[".tar.gz"], folder / "tar", arch))
    yield "rpm", lambda: installs.rpm_installs(made[".rpm"], arch, folder)
    yield "an older version", lambda: made.update(old=installs.older(made["bin"], arch, folder))
    yield "upgrade of the rpm", lambda: installs.rpm_upgrades(made["old"][".rpm"], made[".rpm"], arch, folder)
    yield "image", lambda: image_runs(made[".oci"], arch, folder)
    if own:
        yield "memory of the agent", lambda: agent_is_small(made["bin"], folder)
        yield "nothing else is needed", lambda: needs_nothing(made["bin"], folder)
        yield "GPU columns of the static agent", lambda: gpu_columns(made["bin"], folder)
        yield "wheel", lambda: wheel_runs(made[".whl"], folder)
        yield "deb", lambda: installs.deb_installs(made[".deb"], folder)
        yield "upgrade of the deb", lambda: installs.deb_upgrades(made["old"][".deb"], made[".deb"], folder)
    else:
        yield "qemu", lambda: emulated(made["bin"], folder)
    yield "same bytes from another folder", lambda: same_bytes([path for name, path in made.items() if name.startswith(".")], arch, folder)


def everything(options):
    if os.getuid() != 0:
        raise Failure("--check installs packages in bare roots and needs root: sudo scripts/package --check")
    os.environ["SOURCE_DATE_EPOCH"] = str(common.epoch())  # that of the beginning, whatever is committed meanwhile
    before = formula.FORMULA.read_bytes()
    try:
        return examine(options)
    finally:
        formula.FORMULA.write_bytes(before)  # a check is no release


def examine(options):
    failed = 0
    for arch in [options.arch] if options.arch else sorted(ARCHITECTURES, key=lambda one: one != common.host_architecture()):
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tacho-package-")))
            folder.chmod(0o755)
            for name, step in [*steps(arch, folder), ("formula and action", lambda: other_files(folder))]:
                try:
                    step()
                    say(f"ok      {arch} {name}")
                except (Failure, OSError, KeyError, ValueError, subprocess.SubprocessError) as failure:
                    failed += 1
                    say(f"FAILED  {arch} {name}: {type(failure).__name__ if not isinstance(failure, Failure) else ''} {failure}")
                sys.stderr.flush()
    return 1 if failed else 0
