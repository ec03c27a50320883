"""deb and rpm in bare roots: installed, upgraded from an older version, run and removed."""
import json
import pathlib
import shutil

from . import common, programs
from .common import ROOT, WORK, Failure, run, say, version

OLDER = "0.0.1"


def expect(holds, what):
    if not holds:
        raise Failure(what)


def copy_tree(place):
    """What a commit would have, in another folder."""
    place.mkdir(parents=True)
    for name in run("git", "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        if name and (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name, follow_symlinks=False)


def older(bin_folder, arch, folder):
    """{".deb": …, ".rpm": …} of an older version. The bill of materials has the version in its name, so that an upgrade has a file to take away."""
    place = folder / "older"
    copy_tree(place)
    lists = place / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace(f"project(tacho VERSION {version()}", f"project(tacho VERSION {OLDER}"))
    printed = run(place / "scripts/package", "deb", "rpm", "--programs", bin_folder, "--arch", arch, "--out", folder / "old", cwd=place)
    return {pathlib.Path(line).suffix: pathlib.Path(line) for line in printed.splitlines()}


def users_file(root):
    """What no package may touch, whatever is installed or removed beside it."""
    path = root / "etc/tacho/tacho.toml"
    path.parent.mkdir(parents=True)
    path.write_text("interval = \"2s\"\n")
    return path


def bills(root):
    return sorted(path.name for path in (root / "usr/share/doc/tacho").glob("*.spdx.json"))


def in_root(root, *command, user=None):
    """Runs a command in a bare root with a /proc of its own; its stdout."""
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", 'mkdir -p "$0/proc" && mount -t proc proc "$0/proc" && exec "$@"', root,
             "chroot", *([f"--userspec={user}"] if user else []), root, *command]
    return run(*words, env={"HOME": "/tmp", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TACHO_STORE": "/tmp/runs"})


def facts_of(text, arch):
    facts = json.loads(text)
    expect((facts["version"], facts["arch"], facts["build"]) == (version(), arch, "static"), f"tacho version --json says {text}")
    expect(facts["beside"] == {"tacho-deliver": True, "tacho-gpu": True}, f"not all programs stand beside each other: {text}")


def listing(root):
    """Names, kinds and sizes of a root, without what processes leave."""
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(("proc", "tmp/", "var/lib/dpkg/", "var/lib/rpm/", "var/log/", "dev/", "sys/", "usr/lib/sysimage/")):
            found[name] = "link" if path.is_symlink() else "folder" if path.is_dir() else path.stat().st_size
    return found


def minbase():
    """A bare Debian, made once."""
    root = WORK / "minbase"
    if not (root / "made").is_file():
        say("debootstrap --variant=minbase (a minute)")
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "bookworm", root)
        (root / "made").touch()
    return root


def deb_installs(path, folder):
    root = folder / "debian"
    run("cp", "-a", minbase(), root)
    before = listing(root)
    shutil.copy2(path, root / "tmp/tacho.deb")
    control = sorted(name.strip("./") for name in run("sh", "-c", 'dpkg-deb --ctrl-tarfile "$0" | tar -t', path).split() if name != "./")
    expect(control == ["control", "md5sums"], f"the control part of the deb: {control}")
    in_root(root, "dpkg", "-i", "/tmp/tacho.deb")
    expect(in_root(root, "dpkg", "-V", "tacho") == "", "files differ from md5sums")
    facts_of(in_root(root, "tacho", "version", "--json"), common.host_architecture())
    in_root(root, "tacho", "run", "-q", "--", "true", user="65534:65534")
    in_root(root, "resource-tracker", "--version")
    expect(in_root(root, "tacho-sh", "-c", "echo recorded") == "recorded\n", "tacho-sh is no shell")
    expect(in_root(root, "sh", "-c", 'eval "$(tacho hook snakemake)" && bash -c "echo $PATH"').startswith("/usr/libexec/tacho/shell:"), "the folder of shells")
    said = in_root(root, "tacho", "query", "--csv", "SELECT count(*) FROM runs")
    expect(said == "count(*)\n3\n", f"tacho query: {said}")
    in_root(root, "dpkg", "-r", "tacho")
    after = listing(root)
    expect(before == after, f"left behind by dpkg -r: {sorted(set(after) ^ set(before))[:5]}")


def deb_upgrades(old, path, folder):
    root = folder / "debian-older"
    run("cp", "-a", minbase(), root)
    mine = users_file(root)
    before = listing(root)
    for package_file in (old, path):
        shutil.copy2(package_file, root / "tmp")
        in_root(root, "dpkg", "-i", f"/tmp/{package_file.name}")
        expect(in_root(root, "dpkg-query", "-W", "-f", "${Status} ${Version}", "tacho") == f"install ok installed {package_file.name.split('_')[1]}", f"dpkg -i {package_file.name}")
    expect(bills(root) == [f"tacho-{version()}-{common.host_architecture()}.spdx.json"], f"files of the older version stay: {bills(root)}")
    expect(in_root(root, "dpkg", "-V", "tacho") == "", "files differ from md5sums after the upgrade")
    in_root(root, "tacho", "run", "-q", "--", "true", user="65534:65534")
    in_root(root, "dpkg", "-P", "tacho")
    expect(before == listing(root) and mine.is_file(), f"left behind or taken away by upgrade and removal: {sorted(set(listing(root)) ^ set(before))[:5]}")


def rpm_installs(path, arch, folder):
    expect(run("rpm", "-qp", "--scripts", "--triggers", path).strip() == "", "the rpm has scripts")
    expect(run("rpm", "-qp", "--qf", "%{PAYLOADCOMPRESSOR}", path) == "gzip", "the payload is not gzip's")
    expect(all(line.startswith("rpmlib(") for line in run("rpm", "-qp", "--requires", path).split("\n") if line), "the rpm needs other packages")
    root = rpm_root(folder / f"rpm-{arch}")
    before = listing(root)
    run("rpm", "--root", root, *foreign(arch), "-i", path)
    rpm_holds(root, arch)
    run("rpm", "--root", root, "-e", "tacho")
    expect(not left_by_rpm(root, before), f"left behind by rpm -e: {left_by_rpm(root, before)[:5]}")


def rpm_root(root):
    root.mkdir()
    run("rpm", "--root", root, "--initdb")
    return root


def foreign(arch):
    return [] if arch == common.host_architecture() else ["--ignorearch"]


def rpm_holds(root, arch):
    """What is installed is this version, whole."""
    expect(run("rpm", "--root", root, "-q", "--qf", "%{VERSION}\n", "tacho") == f"{version()}\n", "another version, or two of them, after rpm")
    expect(run("rpm", "--root", root, "-V", "tacho").strip() == "", "rpm -V")
    facts_of(programs.print_with(root / "usr/bin", arch, "version", "--json"), arch)


def left_by_rpm(root, before):
    return sorted(name for name, kind in listing(root).items() if name not in before and (kind != "folder" or "tacho" in name))


def rpm_upgrades(old, path, arch, folder):
    root = rpm_root(folder / f"rpm-older-{arch}")
    mine = users_file(root)
    before = listing(root)
    run("rpm", "--root", root, *foreign(arch), "-i", old)
    expect(bills(root) == [f"tacho-{OLDER}-{arch}.spdx.json"], f"the older version is not there: {bills(root)}")
    run("rpm", "--root", root, *foreign(arch), "-U", path)
    rpm_holds(root, arch)
    expect(bills(root) == [f"tacho-{version()}-{arch}.spdx.json"], f"files of the older version stay: {bills(root)}")
    run("rpm", "--root", root, "-e", "tacho")
    expect(not left_by_rpm(root, before) and mine.is_file(), f"left behind by upgrade and removal: {left_by_rpm(root, before)[:5]}")
