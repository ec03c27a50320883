"""build_wheel.py: what is in the wheel, and that it is the same each time."""
import importlib.util
import os
import pathlib
import struct
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "build_wheel.py"


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("build_wheel", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(folder, machine=62, interpreter=False):
    """A header with one program segment."""
    folder.mkdir(exist_ok=True)
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", head, 18, machine)
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, 56, 1)
    (folder / "tacho").write_bytes(bytes(head) + struct.pack("<I", 3 if interpreter else 1) + bytes(52))
    (folder / "tacho-gpu").write_bytes(b"x")
    return folder


def test_contents(build, tmp_path, monkeypatch):
    first = build.make(program(tmp_path / "a"), tmp_path / "out1")
    os.utime(tmp_path / "a" / "tacho", (0, 0))
    second = build.make(tmp_path / "a", tmp_path / "out2")
    assert first.read_bytes() == second.read_bytes()
    assert first.name == f"tacho-{build.version()}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
    archive = zipfile.ZipFile(first)
    names = archive.namelist()
    data, info = f"tacho-{build.version()}.data/scripts", f"tacho-{build.version()}.dist-info"
    assert {f"{data}/tacho", f"{data}/tacho-gpu", "tacho/__init__.py", "tacho/py.typed", f"{info}/RECORD"} <= set(names)
    assert archive.getinfo(f"{data}/tacho").external_attr >> 16 == 0o100755
    for name in ("scripts/tacho-bash", "scripts/tacho-sh", "data/libexec/tacho/shell/bash", "data/libexec/tacho/shell/sh"):
        assert archive.getinfo(f"{data[:-8]}/{name}").external_attr >> 16 == 0o100755
    assert archive.getinfo("tacho/__init__.py").external_attr >> 16 == 0o100644
    assert not any(name.endswith(".pyc") for name in names)
    metadata = archive.read(f"{info}/METADATA").decode()
    assert "\nName: tacho\n" in metadata and "\nRequires-Python: >=3.9\n" in metadata
    for line in metadata.splitlines():
        assert not line.startswith("Requires-Dist") or "; extra ==" in line
    for extra in ("pandas", "polars", "arrow", "notebook", "metaflow"):
        assert f"Provides-Extra: {extra}" in metadata
    assert "Root-Is-Purelib: false" in archive.read(f"{info}/WHEEL").decode()
    points = archive.read(f"{info}/entry_points.txt").decode()
    assert "tacho = tacho.pytest_plugin" in points and "resource-tracker = " in points
    assert archive.read(f"{info}/top_level.txt").decode().splitlines() == ["metaflow_extensions", "tacho"]
    assert "metaflow_extensions/__init__.py" not in names and "metaflow_extensions/tacho/plugins/mfextinit_tacho.py" in names
    record = archive.read(f"{info}/RECORD").decode()
    assert len(record.splitlines()) == len(names)
    monkeypatch.setenv("TACHO_DIST", "tacho-agent")
    assert build.make(tmp_path / "a", tmp_path / "out3").name.startswith("tacho_agent-")


def test_platforms(build, tmp_path):
    assert build.platform_tag(program(tmp_path / "a", interpreter=True) / "tacho") == "linux_x86_64"
    assert "manylinux2014_aarch64" in build.platform_tag(program(tmp_path / "b", 183) / "tacho")
    (tmp_path / "b" / "tacho").write_text("#!/bin/sh")
    with pytest.raises(SystemExit):
        build.platform_tag(tmp_path / "b" / "tacho")
    with pytest.raises(SystemExit, match="build it first"):
        build.make(tmp_path / "none", tmp_path)


def test_what_tools_leave_stays_out(build, tmp_path, monkeypatch):
    for name in ("tacho/__init__.py", "tacho/py.typed", ".mypy_cache/a.py", "tacho/.ipynb_checkpoints/b.py", "tacho/c.py.orig",
                 "tacho/__pycache__/d.cpython-311.pyc", "notes.txt"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text("")
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert [name for name, _ in build.sources("1")] == ["tacho/__init__.py", "tacho/py.typed"]
