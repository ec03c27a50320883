"""%load_ext tacho, in IPython and in a real kernel."""
import pytest

IPython = pytest.importorskip("IPython")


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext tacho")
    yield shell
    InteractiveShell.clear_instance()


def test_cell(shell, capsys):
    shell.run_cell("%%tacho --name work --interval 50ms\nx = sum(range(10))\nx")
    assert shell.user_ns["x"] == 45 and shell.user_ns["_tacho"].info["metadata"]["job_name"] == "work"
    out = capsys.readouterr().out
    assert "tacho: finished" in out and "45" in out


def test_line_and_quiet(shell, capsys):
    shell.run_cell("%tacho y = 3")
    assert shell.user_ns["y"] == 3 and "tacho: finished" in capsys.readouterr().out
    shell.run_cell("%tacho --quiet z = '--name'")
    assert shell.user_ns["z"] == "--name" and capsys.readouterr().out == ""


def test_exception_is_shown(shell, capsys):
    shell.run_cell("%%tacho\n1/0")
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out and shell.user_ns["_tacho"].state == "finished"


def test_store(shell):
    import os
    shell.run_cell("%%tacho --store --quiet\npass")
    assert shell.user_ns["_tacho"].folder.startswith(os.environ["TACHO_STORE"])


def test_bad_option(shell, capsys):
    shell.run_cell("%%tacho --nope\npass")
    assert "unknown option --nope" in str(capsys.readouterr())
    shell.run_cell("%%tacho --interval=0\npass")
    assert "UsageError: not a duration" in str(capsys.readouterr())


def test_kernel():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%load_ext tacho"),
                                           nbformat.v4.new_code_cell("%%tacho\nx = bytearray(10**7)"),
                                           nbformat.v4.new_code_cell("%%tacho\nimport asyncio\nawait asyncio.sleep(0)")])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", allow_errors=True).execute()
    data = [output.get("data", {}) for output in book.cells[1].outputs]
    assert any("<svg" in one.get("text/html", "") for one in data), book.cells[1].outputs
    assert "with tacho.track()" in str(book.cells[2].outputs)  # the kernel's loop runs the magic: there is none for the cell
