"""The R source package: r/ as R CMD build would pack it, without R and without a clock."""
import datetime
import fnmatch
import os
import re

from . import archives
from .archives import Entry
from .common import ROOT, Failure, epoch, version, write

NEVER = (".git*", "*.Rcheck", "*.tar.gz", ".Rhistory", ".RData", ".Rproj.user", "*.Rproj", "*~", ".DS_Store", "__pycache__")


def description(text):
    """DESCRIPTION with the program's version and what R CMD build adds."""
    if not re.search(r"^Version:", text, re.M) or not re.search(r"^Package: tacho\s*$", text, re.M):
        raise Failure("r/DESCRIPTION lacks Package: tacho or Version:")
    text = re.sub(r"^Version:.*$", f"Version: {version()}", text, flags=re.M).rstrip("\n") + "\n"
    person = re.search(r'person\(\s*(?:given\s*=\s*)?"([^"]*)"\s*,\s*(?:family\s*=\s*)?(?:"([^"]*)"|NULL)?', text)
    mail = re.search(r'email\s*=\s*"([^"]*)"', text) or re.search(r'"([^"\s]+@[^"\s]+)"', text)
    name = " ".join(part for part in person.groups() if part) if person else ""
    added = {"NeedsCompilation": "no", "Packaged": datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC; tacho")}
    if name:
        roles = re.search(r"role\s*=\s*c\(([^)]*)\)", text)
        listed = ", ".join(re.findall(r'"(\w+)"', roles.group(1))) if roles else "aut, cre"
        added["Author"] = f"{name} [{listed}]"
        if mail:
            added["Maintainer"] = f"{name} <{mail.group(1)}>"
    for key, value in added.items():
        if key == "Packaged" or not re.search(rf"^{key}:", text, re.M):
            text = re.sub(rf"^{key}:.*\n", "", text, flags=re.M) + f"{key}: {value}\n"
    return text


def make(out):
    root = ROOT / "r"
    ignore = [re.compile(line, re.I) for line in (root / ".Rbuildignore").read_text().split("\n") if line] if (root / ".Rbuildignore").is_file() else []
    entries = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        parts = [name[:end] for end in [i for i, letter in enumerate(name) if letter == "/"] + [len(name)]]
        hidden = any(fnmatch.fnmatch(part.rsplit("/", 1)[-1], pattern) for part in parts for pattern in NEVER)
        if not path.is_file() or hidden or any(rule.search(part) for rule in ignore for part in parts):
            continue
        if os.path.basename(name) == ".Rbuildignore":
            continue
        data = path.read_bytes()
        if data[:4] == b"\x7fELF":
            raise Failure(f"r/{name} is a program: the R package has none")
        if name == "DESCRIPTION":
            data = description(data.decode()).encode()
        entries.append(Entry(f"tacho/{name}", data, 0o755 if name in ("configure", "cleanup") else 0o644))
    return write(out / f"tacho_{version()}.tar.gz", archives.gz(archives.tar(entries, epoch())))
