"""The pytest plugin, by pytest's own tester."""
import json
import os
import xml.etree.ElementTree as xml

import pytest

PLUGIN = ("-p", "tacho.pytest_plugin")


@pytest.fixture
def run(pytester):
    def go(source, *options):
        pytester.makepyfile(source)
        from importlib.metadata import PackageNotFoundError, distribution
        try:
            distribution("tacho")
            plugin = ()
        except PackageNotFoundError:
            plugin = PLUGIN
        return pytester.runpytest_subprocess(*plugin, *options)
    return go


def test_limits(run):
    result = run("""
        import pytest
        @pytest.mark.tacho(memory_growth="50MiB", memory_peak="10GB", time="60s", cpu_time=50, cpu_mean=64,
                           disk_read="100GB", disk_written="100GB", interval=0.05)
        def test_ok():
            pass
        @pytest.mark.tacho(memory_growth="50MiB")
        def test_grows():
            x = bytearray(100 << 20)
        @pytest.mark.tacho(memory_peak="1MiB", time="1ms")
        def test_two():
            import time; time.sleep(0.05)
        @pytest.mark.tacho(memory_peak="1MiB")
        def test_own_failure():
            assert 0, "mine"
        def test_unmarked():
            pass
        """)
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*tacho: memory_growth * MiB > 50 MiB"])
    result.stdout.fnmatch_lines(["*tacho: memory_peak * MiB > 1 MiB; time * s > 0.001 s"])
    result.stdout.fnmatch_lines(["*LimitExceeded*"])
    assert "AssertionError: mine" in result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED *::test_two - tacho: memory_*"])
    assert "hookexec" not in result.stdout.str()  # nothing in the test has raised it: no traceback of pytest's own


def test_earlier_peak_is_not_the_tests(run):
    result = run("""
        import pytest
        def test_before():
            x = bytearray(300 << 20)
        @pytest.mark.tacho(memory_peak="250MiB", memory_growth="20MiB")
        def test_small():
            pass
        """)
    result.assert_outcomes(passed=2)


def test_misspelt(run):
    result = run("import pytest\n@pytest.mark.tacho(memory_peek=1)\ndef test_a():\n    pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "did you mean memory_peak?" in result.stderr.str() + result.stdout.str()
    for bad in ("memory_peak='x'", "time=0", "'5MiB'", "interval=0"):
        assert run(f"import pytest\n@pytest.mark.tacho({bad})\ndef test_a():\n    pass\n").ret == pytest.ExitCode.USAGE_ERROR
    assert run("def test_a():\n    pass\n", "--tacho", "--tacho-interval", "never").ret == pytest.ExitCode.USAGE_ERROR


def test_not_measurable(run):
    source = "import pytest\n@pytest.mark.tacho(gpu_memory_peak='1GB')\ndef test_a():\n    pass\n"
    result = run(source)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*not judged: gpu_memory_peak*"])
    run(source, "--tacho-strict").assert_outcomes(failed=1)


def test_json_and_junit(run, pytester):
    result = run("def test_a():\n    pass\ndef test_b():\n    assert 0\n", "--tacho", "--tacho-json", "out.json", "--junitxml", "j.xml",
                 "--tacho-interval", "50ms")
    result.assert_outcomes(passed=1, failed=1)
    lines = json.loads((pytester.path / "out.json").read_text())
    assert [(line["nodeid"].split("::")[1], line["outcome"]) for line in lines] == [("test_a", "passed"), ("test_b", "failed")]
    assert {"nodeid", "outcome", "seconds", "cpu_seconds", "memory_peak_mib", "memory_growth_mib"} <= set(lines[0])
    names = {node.get("name") for node in xml.parse(pytester.path / "j.xml").iter("property")}
    assert {"tacho_memory_peak_mib", "tacho_seconds"} <= names and not any(name.startswith("_") for name in names)


def test_fixture(run):
    run("""
        import os
        def test_a(tacho_run):
            assert tacho_run.running and tacho_run.pid == os.getpid()
            tacho_run.mark("x")
            assert tacho_run.run.state == "running"
        """).assert_outcomes(passed=1)


def test_unused_and_off(run):
    run("def test_a():\n    import os\n    assert 'TACHO_RUN' not in os.environ\n").assert_outcomes(passed=1)


def test_with_workers(run, pytester):
    pytest.importorskip("xdist")
    run("import pytest\n@pytest.mark.parametrize('i', range(4))\n@pytest.mark.tacho(memory_peak='10GB')\ndef test_a(i):\n    pass\n",
        "-n", "2", "--tacho-json", "out.json").assert_outcomes(passed=4)
    assert len(json.loads((pytester.path / "out.json").read_text())) == 4


def test_disabled(run, monkeypatch):
    monkeypatch.setenv("TACHO_DISABLE", "1")
    run("import pytest\n@pytest.mark.tacho(memory_peak='1B')\ndef test_a():\n    pass\n").assert_outcomes(passed=1, warnings=1)


def test_json_that_cannot_be_written(pytester, tmp_path):
    pytester.makepyfile("def test_a():\n    pass\n")
    result = pytester.runpytest_subprocess("--tacho", f"--tacho-json={tmp_path}/none/a.json")
    assert result.ret == 4 and "none/a.json: No such file" in result.stderr.str()
    if os.path.exists("/dev/full"):
        result = pytester.runpytest_subprocess("--tacho", "--tacho-json=/dev/full")
        result.assert_outcomes(passed=1)
        assert result.ret == 0 and "No space left" in result.stderr.str()
