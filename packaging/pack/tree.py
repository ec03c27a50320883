"""What is in tar, deb and rpm alike."""
from . import archives, sbom
from .archives import Entry
from .common import PROGRAMS, ROOT
from .programs import print_with

COMPLETIONS = {"completion-bash": "share/bash-completion/completions/tacho", "completion-zsh": "share/zsh/site-functions/_tacho",
               "completion-fish": "share/fish/vendor_completions.d/tacho.fish"}


def other_names():
    """What tacho is called by to be something else: a tracker, or a shell that records, beside it and in a folder to put into PATH."""
    entries = [Entry("bin/resource-tracker", link="tacho")]
    for name in ("bash", "sh"):
        entries += [Entry(f"bin/tacho-{name}", link="tacho"), Entry(f"libexec/tacho/shell/{name}", link="../../../bin/tacho")]
    return entries


def manual(programs, arch):
    """One page; the other names of programs lead to it."""
    page = Entry("share/man/man1/tacho.1", print_with(programs, arch, "docs", "man").encode())
    others = (*PROGRAMS, "resource-tracker", "tacho-bash", "tacho-sh")
    return [page, *(Entry(f"share/man/man1/{name}.1", link="tacho.1") for name in others if name != "tacho")]


def packed_manual(entry):
    """As deb and rpm have pages: by gzip."""
    if not entry.name.startswith("share/man/"):
        return entry
    if entry.link is not None:
        return Entry(entry.name + ".gz", link=entry.link + ".gz")
    return Entry(entry.name + ".gz", archives.gz(entry.data))


def common_tree(programs, arch):
    """Entries below a prefix: bin/, libexec/, share/."""
    entries = [Entry(f"bin/{name}", (programs / name).read_bytes(), 0o755) for name in PROGRAMS]
    entries += other_names()
    entries += manual(programs, arch)
    entries += [Entry(name, print_with(programs, arch, "docs", what).encode()) for what, name in COMPLETIONS.items()]
    for name in ("LICENSE", "README.md", "packaging/tacho.toml"):
        entries.append(Entry(f"share/doc/tacho/{name.rsplit('/', 1)[-1]}", (ROOT / name).read_bytes()))
    for name, mode in (("README.md", 0o644), ("taskprolog", 0o755), ("epilogslurmctld", 0o755)):
        entries.append(Entry(f"share/doc/tacho/slurm/{name}", (ROOT / "packaging/slurm" / name).read_bytes(), mode))
    entries.append(Entry(f"share/doc/tacho/{sbom.name(arch)}", sbom.text(programs, arch)))
    return entries
