"""What the drop-in says of GPUs, over the driver of the tests (tests/fake_nvml)."""
import os

import pytest

from tacho.resource_tracker import ResourceTracker, _recording, server_info

MIB = 1 << 20


@pytest.fixture
def gpus(monkeypatch, tmp_path):
    """Two GPUs, and an nvidia-smi that tells when it is called."""
    library = os.environ.get("TACHO_TEST_NVML", "")
    if not os.path.exists(library):
        pytest.skip("TACHO_TEST_NVML does not name the driver of the tests")
    machine, program = tmp_path / "machine", tmp_path / "nvidia-smi"
    machine.write_text("".join(f"device name=H200 util=50 total={total * MIB} used={10 * MIB}\n" for total in (1000, 3000)))
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
    program.chmod(0o755)
    for name, value in (("TACHO_NVML_LIBRARY", library), ("FAKE_NVML", str(machine)), ("PATH", f"{tmp_path}:{os.environ['PATH']}")):
        monkeypatch.setenv(name, value)
    for module in (server_info, _recording):
        monkeypatch.setattr(module, "has_gpu", lambda: True)
    yield
    assert not (tmp_path / "called").exists()


def test_facts(gpus):
    assert server_info.get_gpu_info() == {"count": 2, "memory_mib": 4000, "gpu_names": ["H200", "H200"]}
    facts = server_info.get_server_info()
    assert {name: facts[name] for name in facts if "gpu" in name} == {
        "gpu_count": 2, "gpu_names": ["H200", "H200"], "gpu_name": "H200", "gpu_memory_mib": 4000}


def test_the_search_is_not_the_jobs(gpus):
    for _ in range(3):
        with ResourceTracker(interval=0.02, discover_cloud=False) as t:
            t.wait_for_samples(15)
        assert set(t.process_metrics["children"]) == {0}
        assert t.server_info["gpu_count"] == 2


def test_names_of_a_mixed_machine(monkeypatch, tmp_path):
    for at, model in (("0000:3b:00.0", "A10"), ("0000:1a:00.0", "H200"), ("0000:5e:00.0", "A10")):
        (tmp_path / at).mkdir()
        (tmp_path / at / "information").write_text(f"Model: \t\t NVIDIA {model}\nIRQ:   \t\t 62\n")
    monkeypatch.setattr(server_info, "_NVIDIA", str(tmp_path))
    monkeypatch.setattr(server_info, "has_gpu", lambda: True)
    monkeypatch.setattr(server_info._question, "answer", lambda: {"host_gpu_count": 3, "host_gpu_memory_mib": 9, "host_gpu_model": "A10"})
    facts = server_info.get_server_info()
    assert facts["gpu_names"] == ["NVIDIA H200", "NVIDIA A10", "NVIDIA A10"] and facts["gpu_name"] == "NVIDIA A10"
    monkeypatch.setattr(server_info._question, "answer", lambda: {})
    assert server_info.get_gpu_info() == {"count": 0, "memory_mib": 0, "gpu_names": []}
