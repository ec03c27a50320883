#!/usr/bin/env python3
"""Makes the wheel of the Python package from python/src and built programs: build_wheel.py --programs DIR --out DIR.

The standard library alone; the same input gives the same bytes (SOURCE_DATE_EPOCH, else 1980). It is also the PEP 517
backend of pyproject.toml, so that `pip install ./python` works where TACHO_PROGRAMS names the folder of the programs.
Prints the path of the wheel.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import struct
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("tacho", "tacho-deliver", "tacho-gpu")  # with tacho-query it would have more than 8 MB
# A shell that records is tacho under another name. A wheel holds no symbolic links, so that a script says the name: place below the prefix, way to bin/.
SHELLS = {f"{place}{name}": way for name in ("bash", "sh") for place, way in (("bin/tacho-", ""), ("libexec/tacho/shell/", "../../../bin/"))}
SHELL = """#!/bin/sh
# A shell whose commands are recorded; without tacho, the shell alone.
here=$0
[ ! -L "$0" ] || here=$(readlink -f -- "$0")
name=${here##*/}
tacho=${here%/*}/WAYtacho
[ -x "$tacho" ] || exec "/bin/${name#tacho-}" "$@"
exec "$tacho" "tacho-${name#tacho-}" "$@"
"""
EXTRAS = {"pandas": ["pandas"], "polars": ["polars"], "arrow": ["pyarrow"], "notebook": ["ipython"],
          "metaflow": ["metaflow"]}
MACHINES = {62: "x86_64", 183: "aarch64"}
PT_INTERP = 3


def version():
    """The one of CMakeLists.txt; in a source tree without it, what the package says."""
    cmake = HERE.parent / "CMakeLists.txt"
    if cmake.is_file():
        return re.search(r"project\(tacho VERSION ([\d.]+)", cmake.read_text(encoding="utf-8")).group(1)
    return re.search(r'__version__ = "(.+)"', (HERE / "src/tacho/_version.py").read_text(encoding="utf-8")).group(1)


def elf_facts(path):
    """(machine, needs a loader) of a 64-bit little-endian program."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit(f"{path} is no 64-bit Linux program")
    machine = MACHINES.get(struct.unpack_from("<H", data, 18)[0])
    if machine is None:
        raise SystemExit(f"{path} is for a machine that wheels are not made for")
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, offset + i * size)[0] for i in range(count)]
    return machine, PT_INTERP in kinds


def platform_tag(program):
    """A static program runs on any libc; one that needs a loader runs where it was built."""
    machine, dynamic = elf_facts(program)
    if dynamic:
        return f"linux_{machine}"
    return f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


def metadata(dist, number):
    lines = ["Metadata-Version: 2.1", f"Name: {dist}", f"Version: {number}",
             "Summary: Records what a process uses: CPU, memory, disk, network and GPU",
             "License: Apache-2.0", "Requires-Python: >=3.9", "Classifier: Programming Language :: Python :: 3",
             "Classifier: Operating System :: POSIX :: Linux", "Classifier: Framework :: Pytest", "Classifier: Typing :: Typed"]
    for extra, needs in sorted(EXTRAS.items()):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need} ; extra == \"{extra}\"" for need in needs]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def sources(number):
    """What goes to site-packages: name, bytes. Sources alone: tools and editors leave caches and copies beside them."""
    root = HERE / "src"
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or not name.endswith((".py", "/py.typed")) or any(part.startswith(".") for part in name.split("/")):
            continue
        data = path.read_bytes()
        if name == "tacho/_version.py":
            data = re.sub(rb'__version__ = ".*"', f'__version__ = "{number}"'.encode(), data)
        yield name, data


def wheel_files(dist, number, programs, tag):
    """(name, bytes, mode) of everything but RECORD."""
    info, data = f"{dist}-{number}.dist-info", f"{dist}-{number}.data"
    files = [(name, text, 0o644) for name, text in sources(number)]
    packages = sorted({name.split("/")[0] for name, _, _ in files})
    for name in PROGRAMS:
        path = programs / name
        if path.is_file():
            files.append((f"{data}/scripts/{name}", path.read_bytes(), 0o755))
    for name, way in SHELLS.items():
        scheme = name.replace("bin/", "scripts/") if name.startswith("bin/") else f"data/{name}"
        files.append((f"{data}/{scheme}", SHELL.replace("WAY", way).encode(), 0o755))
    texts = {"METADATA": metadata(dist, number),
             "WHEEL": "Wheel-Version: 1.0\nGenerator: tacho build_wheel\nRoot-Is-Purelib: false\n"
                      + "".join(f"Tag: py3-none-{one}\n" for one in tag.split(".")),
             "entry_points.txt": "[console_scripts]\nresource-tracker = tacho._program:resource_tracker_command\n\n"
                                 "[pytest11]\ntacho = tacho.pytest_plugin\n",
             "top_level.txt": "".join(f"{name}\n" for name in packages)}
    files += [(f"{info}/{name}", text.encode(), 0o644) for name, text in texts.items()]
    licence = HERE.parent / "LICENSE"
    if licence.is_file():
        files.append((f"{info}/LICENSE", licence.read_bytes(), 0o644))
    return sorted(files), info


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def make(programs, out, tag=None):
    """Writes the wheel; returns its path."""
    programs, out = pathlib.Path(programs), pathlib.Path(out)
    if not (programs / "tacho").is_file():
        raise SystemExit(f"there is no tacho in {programs}: build it first (cmake --build), or name another folder with "
                         "--programs or TACHO_PROGRAMS")
    dist, number = re.sub(r"[-_.]+", "_", os.environ.get("TACHO_DIST") or "tacho"), version()
    tag = tag or platform_tag(programs / "tacho")
    files, info = wheel_files(dist, number, programs, tag)
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data, _ in files) + f"{info}/RECORD,,\n"
    stamp = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), 315532800))[:6]
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{dist}-{number}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, mode in [*files, (f"{info}/RECORD", record.encode(), 0o644)]:
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, compresslevel=9)
    return path


def built_programs():
    named = os.environ.get("TACHO_PROGRAMS")
    if named:
        return pathlib.Path(named)
    for preset in ("static", "release", "agent", "test", "dev"):
        folder = HERE.parent / "build" / preset / "bin"
        if (folder / "tacho").is_file():
            return folder
    return HERE.parent / "build" / "release" / "bin"


# PEP 517
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make(built_programs(), wheel_directory).name


def get_requires_for_build_wheel(config_settings=None):
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", default=None, metavar="DIR", help="folder of tacho, tacho-deliver and tacho-gpu")
    parser.add_argument("--out", default=str(HERE.parent / "build" / "dist"), metavar="DIR")
    parser.add_argument("--tag", help="platform tag, instead of what the program itself says")
    options = parser.parse_args()
    print(make(options.programs or built_programs(), options.out, options.tag))


if __name__ == "__main__":
    sys.exit(main())
