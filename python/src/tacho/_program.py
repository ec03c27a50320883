"""Where the programs of tacho are, and how they are asked."""
from __future__ import annotations

import os
import sys

from ._errors import ProgramNotFound, TachoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple

_HINT = "install the wheel of tacho for this platform, or set TACHO_BIN to the program or its folder"
_MACHINES = {62: "x86_64", 183: "aarch64", 40: "arm", 3: "x86", 243: "riscv64", 21: "ppc64le", 22: "s390x"}
_found: Dict[Tuple[str, Optional[str], Optional[str]], str] = {}


def _candidates(name: str) -> Iterator[str]:
    named = os.environ.get("TACHO_BIN")
    if named:
        yield os.path.join(named, name) if os.path.isdir(named) else (
            named if name == "tacho" else os.path.join(os.path.dirname(named), name))
    # Where pip puts scripts, without sysconfig, which is slow to import. What came with this package is its own: of Debian's
    # interpreter in /usr that is /usr/local, of pip install --user ~/.local.
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    library = os.path.dirname(os.path.dirname(parent))
    if os.path.basename(parent) in ("site-packages", "dist-packages") and os.path.basename(library) in ("lib", "lib64"):
        yield os.path.join(os.path.dirname(library), "bin", name)
    for prefix in (sys.prefix, sys.exec_prefix):
        yield os.path.join(prefix, "bin", name)
    if sys.executable:
        yield os.path.join(os.path.dirname(sys.executable), name)
    yield os.path.join(parent, "bin", name)
    yield os.path.join(sys.base_prefix, "bin", name)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield os.path.join(folder, name)


def _why_not(path: str) -> str:
    """Why a file cannot be executed here; empty when nothing speaks against it."""
    if not os.access(path, os.X_OK):
        return "it is not executable: chmod +x it, or its file system is mounted noexec"
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return ""  # it may be executed without being read
    if head[:4] == b"\x7fELF":
        machine = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
        known = _MACHINES.get(machine)
        if known and known != os.uname().machine and known in ("x86_64", "aarch64"):
            return f"it is for {known}, this machine is {os.uname().machine}"
    elif head[:2] == b"MZ" or head[:4] in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return f"it is for another system than {sys.platform}"
    return ""


def find_program(name: str = "tacho") -> str:
    """The path of a program of tacho: $TACHO_BIN, beside the interpreter, beside the package, PATH.

    Raises ProgramNotFound; its text names what was found and why it does not do.
    """
    key = (name, os.environ.get("TACHO_BIN"), os.environ.get("PATH"))
    known = _found.get(key)
    if known is not None and os.access(known, os.X_OK):
        return known
    unfit: List[Tuple[str, str]] = []
    for path in _candidates(name):
        if not os.path.isfile(path):
            continue
        why = _why_not(path)
        if not why:
            _found[key] = os.path.abspath(path)
            return _found[key]
        if path not in [seen for seen, _ in unfit]:
            unfit.append((path, why))
    if unfit:
        raise ProgramNotFound("; ".join(f"{path} cannot be used: {why}" for path, why in unfit) + f"; {_HINT}")
    raise ProgramNotFound(f"there is no program {name}; {_HINT}")


def is_disabled() -> bool:
    """TACHO_DISABLE: record nothing, disturb nothing."""
    return os.environ.get("TACHO_DISABLE", "").strip().lower() not in ("", "0", "false", "no", "off")


def ask(*words: str, ok: Sequence[int] = (0,), data: Optional[bytes] = None, errors: str = "replace") -> str:
    """What the program prints for these words. TachoError with its text when it ends with another status.

    `errors`: what becomes of bytes that are not UTF-8.
    """
    import subprocess

    program = find_program()
    try:
        done = subprocess.run([program, *words], input=data, stdin=None if data is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise ProgramNotFound(f"{program} cannot be executed: {error.strerror}; {_HINT}") from error
    if done.returncode not in ok:
        raise Refused(done.returncode, plain(done.stderr.decode("utf-8", "replace")))
    return done.stdout.decode("utf-8", errors)


def ask_json(*words: str, ok: Sequence[int] = (0,)) -> Any:
    import json

    return json.loads(ask(*words, ok=ok))


class Refused(TachoError):
    """The program did not do it; `status` is its exit status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text or f"tacho ended with {status}")
        self.status = status


def plain(text: str) -> str:
    """The program's messages without its name before each line."""
    return "\n".join(line[7:] if line.startswith("tacho: ") else line for line in text.strip().splitlines())


def become(words: Sequence[str], called: str = "tacho") -> NoReturn:
    """The program takes the place of this process; `called` is the name that it sees itself called by."""
    try:
        program = find_program()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(program, [called, *words])
    except ProgramNotFound as error:
        print(f"tacho: {error}", file=sys.stderr)
    except OSError as error:
        print(f"tacho: {error.filename or 'tacho'} cannot be executed: {error.strerror}", file=sys.stderr)
    sys.exit(126)


def resource_tracker_command() -> None:
    """The console script resource-tracker: the program under that name."""
    become(sys.argv[1:], "resource-tracker")
