"""packaging/homebrew/tacho.rb: the checksum of a tar file behind its address."""
import re

from . import archives
from .common import ROOT, say, version, write

FORMULA = ROOT / "packaging/homebrew/tacho.rb"


def filled(text, tar):
    """The formula with this file's checksum and this version."""
    text = re.sub(r'^(  version ")[^"]*"', rf'\g<1>{version()}"', text, flags=re.M)
    platform = re.fullmatch(r"tacho-[\d.]+-(\w+-\w+)\.tar\.gz", tar.name).group(1)
    pattern = rf'(url "[^"\n]*-{platform}\.tar\.gz"\n\s*sha256 ")[0-9a-f]*"'
    return re.sub(pattern, rf'\g<1>{archives.sha256(tar.read_bytes())}"', text)


def fill(tar):
    before = FORMULA.read_text()
    after = filled(before, tar)
    if after != before:
        write(FORMULA, after.encode())
        say(f"{FORMULA.relative_to(ROOT)} has the checksum of {tar.name}")
