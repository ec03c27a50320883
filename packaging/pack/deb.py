"""The Debian package: files alone, nothing runs at its installation."""
import datetime
import email.utils
import hashlib
import tempfile
import textwrap
from pathlib import Path

from . import archives
from .archives import Entry
from .common import ROOT, epoch, run, version
from .tree import common_tree, packed_manual

MAINTAINER = "The tacho authors <tacho@tacho.invalid>"
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tacho
Comment: What is linked in, with its versions and licences, is listed in {sbom}.

Files: *
Copyright: {year} The tacho authors
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0, and beside this file in LICENSE.
"""


def today():
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc)


def changelog(text):
    """CHANGELOG.md as the one entry of a Debian changelog, which readers of that form take."""
    lines = []
    for line in text.rstrip("\n").split("\n"):
        indent = " " * (2 + len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line.strip(), 79, initial_indent=indent, subsequent_indent=indent + ("  " if line.lstrip().startswith("- ") else ""), break_long_words=False, break_on_hyphens=False) or [""]
    told = "\n".join(lines)
    return f"tacho ({version()}) unstable; urgency=medium\n\n{told}\n\n -- {MAINTAINER}  {email.utils.format_datetime(today())}\n"


def debian_tree(programs, arch):
    entries = []
    for entry in map(packed_manual, common_tree(programs, arch)):
        if entry.name.startswith("share/zsh/"):
            entry = Entry("share/zsh/vendor-completions/_tacho", entry.data)  # where Debian's zsh looks
        elif entry.name.endswith(".spdx.json"):
            sbom = entry.name.rsplit("/", 1)[-1]
        entries.append(entry)
    entries.append(Entry("share/doc/tacho/copyright", COPYRIGHT.format(sbom=sbom, year=today().year).encode()))
    entries.append(Entry("share/doc/tacho/changelog.gz", archives.gz(changelog((ROOT / "CHANGELOG.md").read_text()).encode())))
    return [Entry(f"usr/{entry.name}", entry.data, entry.mode, entry.link) for entry in entries]


def control(entries, arch):
    size = sum((len(entry.data) + 1023) // 1024 for entry in entries if entry.data is not None)
    return f"""Package: tacho
Version: {version()}
Architecture: {arch}
Maintainer: {MAINTAINER}
Installed-Size: {size}
Suggests: libc6 (>= 2.17)
Section: utils
Priority: optional
Multi-Arch: foreign
Description: records what a job uses: CPU, memory, disk, network and GPU
 tacho runs or follows a command and records what its whole process tree and
 the machine use, tick by tick, without getting in its way. The programs need
 no shared library; tacho-gpu alone, which reads NVIDIA's driver where there
 is one, needs glibc.
"""


def make(programs, arch, out):
    entries = debian_tree(programs, arch)
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {entry.name}\n" for entry in sorted(entries, key=lambda one: one.name) if entry.data is not None)
    path = out / f"tacho_{version()}_{arch}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tacho"
        root.mkdir(mode=0o755)
        archives.unpack(entries + [Entry("DEBIAN/control", control(entries, arch).encode()), Entry("DEBIAN/md5sums", sums.encode())], root)
        for made in [root, *root.rglob("*")]:
            if made.is_dir():
                made.chmod(0o755)
        run("find", root, "-exec", "touch", "-h", "-d", f"@{epoch()}", "{}", "+")
        run("dpkg-deb", "--root-owner-group", "--uniform-compression", "-Zxz", "--threads-max=1", "--build", root, Path(folder) / "out.deb")
        (Path(folder) / "out.deb").chmod(0o644)
        path.write_bytes((Path(folder) / "out.deb").read_bytes())
    return path
