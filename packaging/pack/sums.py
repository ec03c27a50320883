"""SHA256SUMS of a folder of packages."""
import re

from . import archives
from .common import write

OURS = re.compile(r"tacho[-_][\w.+~-]*\.(tar\.gz|zip|deb|rpm|whl|oci\.tar|spdx\.json)|[A-Za-z0-9_.]+-[\w.]+-py3-none-[\w.]+\.whl")


def update(out):
    files = sorted(path for path in out.iterdir() if path.is_file() and OURS.fullmatch(path.name))
    write(out / "SHA256SUMS", "".join(f"{archives.sha256(path.read_bytes())}  {path.name}\n" for path in files).encode())
