"""Every test has a store of its own, and leaves no process behind."""
import glob
import gzip
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest_plugins = ["pytester"]


def until(what, seconds=20):
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)


def marked(mark):
    """Agents and programs that a test started."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(folder + "/environ", "rb") as file:
                marked_so = mark.encode() in file.read()
            with open(folder + "/comm", encoding="utf-8", errors="replace") as file:
                if marked_so and file.read().startswith("tacho"):
                    found.append(int(folder[6:]))
        except OSError:
            pass
    return found


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    mark = "mark-" + uuid.uuid4().hex
    monkeypatch.setenv("TACHO_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TACHO_NO_CLOUD", "1")
    monkeypatch.setenv("TACHO_KEEPER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TACHO_TEST_MARK", mark)
    for name in ("TACHO_RUN", "TACHO_DISABLE", "SENTINEL_API_TOKEN", "SENTINEL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    import tacho._errors

    monkeypatch.setattr(tacho._errors, "_told", False)
    yield
    left = [] if until(lambda: not marked(mark), 5) else marked(mark)
    for pid in left:
        os.kill(pid, 9)
    assert not left, "left behind"


@pytest.fixture
def python(tmp_path):
    """Runs a script in a fresh interpreter; returns the CompletedProcess."""
    def run(script, *options, **keywords):
        path = tmp_path / f"script{uuid.uuid4().hex[:6]}.py"
        path.write_text(textwrap.dedent(script))
        keywords.setdefault("timeout", 60)
        keywords.setdefault("check", True)
        return subprocess.run([sys.executable, *options, str(path)], capture_output=True, text=True, **keywords)
    return run


class Server:
    """Answers with what it is given, and remembers what it was asked: method, path, unpacked body, headers."""

    def __init__(self, answer):
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                asked.append((self.command, self.path, body, dict(self.headers)))
                status, said = answer(self.path)
                data = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_POST = do_PUT = do_GET

            def log_message(self, *words):
                pass
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def serve():
    servers = []

    def start(answer):
        servers.append(Server(answer))
        return servers[-1]
    yield start
    for one in servers:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def measured():
    """A tracker of the drop-in that has ended."""
    from tacho.resource_tracker import ResourceTracker

    with ResourceTracker(interval=0.05) as t:
        t.wait_for_samples(2)
    return t


@pytest.fixture
def ingest(serve, monkeypatch):
    """A stand-in of the ingest service, and of S3."""
    def answer(path):
        if path.endswith("/runs"):
            return 201, {"run_id": "r1", "upload_uri_prefix": "s3://b/p/",
                         "upload_credentials": {"access_key": "a", "secret_key": "s", "session_token": "t", "region": "x",
                                                "expires_at": "2099-01-01T00:00:00Z"}}
        return 200, {"ok": True}

    server = serve(answer)
    monkeypatch.setenv("SENTINEL_API_URL", server.url)
    monkeypatch.setenv("TACHO_S3_ENDPOINT", server.url)
    return server
