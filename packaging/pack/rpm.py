"""The RPM package: files alone, no script, a payload that the rpm of RHEL 7 can read."""
import tempfile
from pathlib import Path

from . import archives
from .archives import Entry
from .common import ARCHITECTURES, epoch, run, version
from .tree import common_tree, packed_manual

SPEC = """Name: tacho
Version: {version}
Release: 1
Summary: Records what a job uses: CPU, memory, disk, network and GPU
License: Apache-2.0
AutoReqProv: no

%description
tacho runs or follows a command and records what its whole process tree and
the machine use, tick by tick, without getting in its way. The programs need
no shared library; tacho-gpu alone, which reads NVIDIA's driver where there
is one, needs glibc.

%install
mkdir -p %{{buildroot}}
cp -a {tree}/. %{{buildroot}}/

%files
%defattr(-,root,root)
{files}
"""


def rpm_tree(programs, arch):
    for entry in map(packed_manual, common_tree(programs, arch)):
        yield Entry(f"usr/{entry.name}", entry.data, entry.mode, entry.link)


def own_folders(entries):
    """Those that go with the package."""
    return [f"%dir /{folder}" for folder in sorted(archives.parents(entry.name for entry in entries)) if "tacho" in folder.split("/")]


def make(programs, arch, out):
    entries = sorted(rpm_tree(programs, arch), key=lambda entry: entry.name)
    machine = ARCHITECTURES[arch]["rpm"]
    path = out / f"tacho-{version()}-1.{machine}.rpm"
    # A fixed place: rpm notes some of its folders. One packager at a time has it.
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "tree").mkdir()
        archives.unpack(entries, top / "tree")
        run("find", top / "tree", "-exec", "touch", "-h", "-d", f"@{epoch()}", "{}", "+")
        marks = {"usr/share/doc/tacho/": "%doc ", "usr/share/man/": "%doc "}
        lines = [next((mark for start, mark in marks.items() if entry.name.startswith(start)), "") + "/" + entry.name for entry in entries]
        (top / "tacho.spec").write_text(SPEC.format(version=version(), tree=top / "tree", files="\n".join([*own_folders(entries), *lines])))
        settings = {"_topdir": top, "_rpmdir": top, "_rpmfilename": "out.rpm", "_dbpath": top / "db", "_tmppath": top, "_builddir": top, "buildroot": top / "root",
                    "_binary_payload": "w9.gzdio", "_source_payload": "w9.gzdio", "_build_id_links": "none", "debug_package": "%{nil}",
                    "__os_install_post": "%{nil}", "__brp_compress": "%{nil}", "use_source_date_epoch_as_buildtime": 1,
                    "clamp_mtime_to_source_date_epoch": 1, "source_date_epoch_from_changelog": 0, "_buildhost": "tacho", "_binary_filedigest_algorithm": 8,
                    "optflags": "-O2", "_docdir": "/usr/share/doc"}
        words = [word for key, value in settings.items() for word in ("--define", f"{key} {value}")]
        run("rpmbuild", "-bb", "--quiet", f"--target={machine}-linux", *words, top / "tacho.spec", env={"HOME": str(top)})
        path.write_bytes((top / "out.rpm").read_bytes())
        path.chmod(0o644)
    return path
