"""The fake driver of NVIDIA's GPUs (tests/fake_nvml) for a Case: a machine is a few lines of text."""
import os

from support import BUILD

LIBRARY = os.path.join(BUILD, "lib", "libfake_nvml.so")
MIB = 1 << 20


def machine(test, *lines):
    """Describes the machine and returns the environment that shows it to tacho; may be called again while tacho runs."""
    if not os.path.exists(LIBRARY):
        test.fail(f"{LIBRARY} is missing: build it first")
    test.write("machine.new", "\n".join(lines) + "\n")
    os.rename(test.path("machine.new"), test.path("machine"))
    return {"TACHO_NVML_LIBRARY": LIBRARY, "FAKE_NVML": test.path("machine")}
