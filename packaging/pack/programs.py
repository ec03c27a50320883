"""The programs of a package: without any shared library, but for tacho-gpu, which is for an old glibc."""
import os
import struct

from . import common
from .common import ARCHITECTURES, PROGRAMS, ROOT, WORK, Failure, run, say

STATIC = tuple(name for name in PROGRAMS if name != "tacho-gpu")


def elf(path):
    """(machine, loader, number of shared libraries that it needs) of a 64-bit program."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise Failure(f"{path} is no 64-bit Linux program")
    machine = struct.unpack_from("<H", data, 18)[0]
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    loader, needed = "", 0
    for i in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if kind == 3:  # PT_INTERP
            loader = data[at:at + length].rstrip(b"\0").decode()
        elif kind == 2:  # PT_DYNAMIC: of its entries those that are DT_NEEDED
            needed = sum(struct.unpack_from("<Q", data, entry)[0] == 1 for entry in range(at, at + length, 16))
    return machine, loader, needed


def check(folder, arch):
    """The programs are there, for this machine, and static where they must be."""
    for name in PROGRAMS:
        path = folder / name
        if not path.is_file():
            raise Failure(f"there is no {name} in {folder}: build it first, or leave --programs out")
        machine, loader, needed = elf(path)
        if machine != ARCHITECTURES[arch]["elf"]:
            raise Failure(f"{path} is not for {arch}: give --arch, or the folder of other programs")
        if name in STATIC and (loader or needed):
            say(f"note: {path} needs shared libraries: this package runs only where they are")


def newest(folders):
    return max((path.stat().st_mtime for folder in folders for path in (folder.rglob("*") if folder.is_dir() else [folder]) if path.is_file()), default=0)


def libraries(arch):
    """libcurl and OpenSSL as archives; what is cross-compiled also a sysroot."""
    out, extra = WORK / f"libs-{arch}", []
    if arch != common.host_architecture():
        if arch != "arm64":
            raise Failure(f"packages for {arch} are made on {arch} alone")
        common.need("aarch64-linux-gnu-g++")
        sysroot = WORK / f"sysroot-{arch}"
        if not (sysroot / "versions").is_file() or newest([ROOT / "packaging/sysroot"]) > (sysroot / "versions").stat().st_mtime:
            say(f"libraries for {arch}: packaging/sysroot")
            run(ROOT / "packaging/sysroot", sysroot)
        extra = [arch, sysroot]
    if not (out / "versions").is_file() or newest([ROOT / "packaging/static-libs"]) > (out / "versions").stat().st_mtime:
        say(f"libcurl and OpenSSL for {arch}: packaging/static-libs (a minute or two)")
        run(ROOT / "packaging/static-libs", out, *extra)
        os.utime(out / "versions")
    return out


def build(arch):
    """Returns the folder of the programs."""
    out, libs = WORK / arch, libraries(arch)
    if " " in str(ROOT):
        raise Failure(f"packages are not made in a folder with a blank in its name: {ROOT}")
    flags = f"-ffile-prefix-map={ROOT}=."
    env = {"TACHO_SYSROOT": str(WORK / f"sysroot-{arch}")}
    toolchain = [f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/packaging/arm64.cmake"] if arch != common.host_architecture() else []
    common.need("ninja")
    say(f"programs for {arch}: cmake --preset static")
    run("cmake", "--preset", "static", "-B", out, *toolchain, f"-DTACHO_CURL={libs}", f"-DCMAKE_CXX_FLAGS={flags}",
        "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none -s", env=env)
    run("cmake", "--build", out, "--target", *STATIC, env=env)
    helper, made_of = out / "bin/tacho-gpu", [ROOT / "src", ROOT / "packaging/gpu-helper", ROOT / "packaging/zig.txt", ROOT / "CMakeLists.txt"]
    if not helper.is_file() or newest(made_of) > helper.stat().st_mtime:
        say(f"tacho-gpu for {arch}: packaging/gpu-helper")
        run(ROOT / "packaging/gpu-helper", helper, arch)
    check(out / "bin", arch)
    for name in STATIC:
        _, loader, needed = elf(out / "bin" / name)
        if loader or needed:
            raise Failure(f"{out}/bin/{name} is not static")
    return out / "bin"


def print_with(folder, arch, *words):
    """What the packaged tacho prints; that of another machine by qemu."""
    before = [] if arch == common.host_architecture() else [common.need("qemu-aarch64-static")]
    return run(*before, folder / "tacho", *words, env={"HOME": "/nonexistent"})
