"""tacho.resource_tracker and the services that it speaks to: prices, S3, the ingest service."""
import gzip
import json
import os
import time

import pytest

from tacho.resource_tracker import ResourceTracker, keeper, s3_upload, sentinel_api, streaming


def test_keeper(serve, monkeypatch):
    prices = [{"allocation": "ondemand", "region_id": "r", "operating_system": "Linux", "price": 0.5},
              {"allocation": "spot", "region_id": "r", "operating_system": "linux", "price": 0.1}]
    server = serve(lambda path: (200, prices if "prices" in path else [{"server_id": "small"}]))
    monkeypatch.setenv("TACHO_KEEPER_URL", server.url)
    assert keeper.get_instance_price("aws", "r", "t3.micro") == 0.5
    assert keeper.get_instance_price("aws", "other", "t3.micro") is None
    found = keeper.get_recommended_cloud_servers(2, 2560, gpu=1, vram=300, n=3, vendor=["aws", "gcp"])
    assert found == [{"server_id": "small"}]
    query = server.asked[-1][1]
    for part in ("vcpus_min=2", "memory_min=2.5", "gpu_min=1", "gpu_memory_total=0.3", "limit=3", "order_by=min_price_ondemand",
                 "order_dir=asc", "vendor=aws&vendor=gcp"):
        assert part in query, query
    monkeypatch.setenv("TACHO_KEEPER_URL", "http://127.0.0.1:9")
    assert keeper.keeper_request("/healthcheck") is None


def test_signature():
    """The example of AWS's own documentation."""
    key = s3_upload._derive_signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"
    assert s3_upload._parse_s3_uri("s3://b/a/c") == ("b", "a/c")
    for bad in ("http://b/a", "s3://b", "s3:///a"):
        with pytest.raises(ValueError):
            s3_upload._parse_s3_uri(bad)


def test_put(serve, monkeypatch, tmp_path):
    server = serve(lambda path: (200, {}))
    monkeypatch.setenv("TACHO_S3_ENDPOINT", server.url)
    keys = {"access_key": "AK", "secret_key": "SK", "session_token": "T", "region": "eu-west-1"}
    s3_upload.put_bytes_with_sts(s3_uri="s3://bucket/a b/0001.csv.gz", body=b"x", **keys)
    (tmp_path / "f").write_bytes(b"y")
    s3_upload.put_object_with_sts(s3_uri="s3://bucket/k", file_path=str(tmp_path / "f"), **keys)
    method, path, body, headers = server.asked[0]
    assert (method, path, body) == ("PUT", "/bucket/a%20b/0001.csv.gz", b"x")
    assert "Credential=AK/" in headers["Authorization"] and "eu-west-1/s3/aws4_request" in headers["Authorization"]
    assert server.asked[1][2] == b"y"


def test_s3_refuses(serve, monkeypatch):
    server = serve(lambda path: (403, b"<Error><Code>AccessDenied</Code></Error>"))
    monkeypatch.setenv("TACHO_S3_ENDPOINT", server.url)
    with pytest.raises(RuntimeError, match="403.*AccessDenied"):
        s3_upload.put_bytes_with_sts(s3_uri="s3://b/k", body=b"", access_key="a", secret_key="s", session_token="t", region="x")


def body_of(asked):
    return json.loads(asked[2])


def test_sentinel_calls(ingest, monkeypatch):
    monkeypatch.setenv("SENTINEL_API_URL", ingest.url + "/base/")
    sentinel_api.register_run("tok", {"job_name": "j", "tags": {"a": "b"}}, host_info={"host_vcpus": 2}, cloud_info={"x": None})
    method, path, _, headers = ingest.asked[0]
    assert (method, path) == ("POST", "/base/runs") and headers["Authorization"] == "Bearer tok"
    assert body_of(ingest.asked[0]) == {"job_name": "j", "tags": {"a": "b"}, "host_vcpus": 2}
    for command in (["a", "b c"], "a 'b c'"):
        sentinel_api.register_run("tok", {"command": command})
        assert body_of(ingest.asked[-1]) == {"command": '["a", "b c"]'}  # a text that holds the array
    for status in ("failed", sentinel_api.RunStatus.failed):
        sentinel_api.finish_run("tok", "r 1", exit_code=3, run_status=status, data_source="inline", data_csv="a\n")
        assert ingest.asked[-1][1] == "/base/runs/r%201/finish" and ingest.asked[-1][3]["Content-Encoding"] == "gzip"
        assert body_of(ingest.asked[-1]) == {"data_source": "inline", "run_status": "failed", "exit_code": 3, "data_csv": "a\n"}
    sentinel_api.finish_run("tok", "r", data_uris=["s3://b/k"])
    assert "Content-Encoding" not in ingest.asked[-1][3] and body_of(ingest.asked[-1])["data_uris"] == ["s3://b/k"]
    sentinel_api.refresh_credentials("tok", "r")
    assert ingest.asked[-1][1:3] == ("/base/runs/r/refresh-credentials", b"") and ingest.asked[-1][3]["Content-Length"] == "0"
    with pytest.raises(ValueError):
        sentinel_api.finish_run("tok", "r1")


def test_sentinel_refuses(serve, monkeypatch):
    refused = serve(lambda path: (422, {"detail": []}))
    monkeypatch.setenv("SENTINEL_API_URL", refused.url)
    with pytest.raises(sentinel_api.SentinelAPIError) as error:
        sentinel_api.register_run("tok")
    assert error.value.status_code == 422 and "detail" in error.value.body
    with pytest.raises(sentinel_api.SentinelAPIError):
        sentinel_api.finish_run("tok", "r", data_csv="a\n")
    packed = [asked[3].get("Content-Encoding") for asked in refused.asked[1:]]
    assert packed == ["gzip", None]  # some services do not unpack


def test_streaming(ingest, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("timestamp,a\r\n1,2\r\n")
    manager = streaming.StreamingManager("tok", csv_path=str(rows), upload_interval=60, metadata={"job_name": "x"})
    manager.start()
    assert manager.is_alive and manager.run_id == "r1" and manager._seq == 0
    manager._upload_batch()
    assert manager._seq == 1 and manager._csv_offset == rows.stat().st_size
    with rows.open("a") as file:
        file.write("3,4\r\n5,")  # the last line is still being written
    manager.stop(0, "finished")
    assert manager.uploaded_uris == ["s3://b/p/0001.csv.gz", "s3://b/p/0002.csv.gz"]
    puts = [gzip.decompress(body) for method, _, body, _ in ingest.asked if method == "PUT"]
    assert puts == [b"timestamp,a\r\n1,2\r\n", b"timestamp,a\r\n3,4\r\n"]
    assert body_of(ingest.asked[-1])["data_uris"] == manager.uploaded_uris


def test_last_batch_is_refused(ingest, monkeypatch, tmp_path):
    """What S3 does not take goes with the last word: no row is lost."""
    rows = tmp_path / "rows.csv"
    rows.write_text("timestamp,a\n1,2\n")
    manager = streaming.StreamingManager("tok", csv_path=str(rows), upload_interval=60)
    manager.start()
    manager._upload_batch()

    def refuse(**names):
        raise RuntimeError("no")
    monkeypatch.setattr(streaming, "put_bytes_with_sts", refuse)
    with rows.open("a") as file:
        file.write("3,4\n")
    manager._upload_batch()
    assert (manager._seq, manager._csv_offset) == (1, len("timestamp,a\n1,2\n"))
    manager.stop()
    assert body_of(ingest.asked[-1])["data_csv"] == rows.read_text()


def test_short_credentials(monkeypatch, tmp_path):
    """Those about to expire are renewed at once, and not again and again."""
    def keys(seconds):
        return {"access_key": "a", "secret_key": "s", "session_token": "t", "region": "x", "expires_at": time.time() + seconds}
    renewed = []
    monkeypatch.setattr(streaming, "register_run", lambda *words, **names: {"run_id": 7, "upload_uri_prefix": "s3://b/p", "upload_credentials": keys(10)})
    monkeypatch.setattr(streaming, "refresh_credentials", lambda *words: renewed.append(words) or {"upload_credentials": keys(20)})
    monkeypatch.setattr(streaming, "finish_run", lambda *words, **names: {})
    manager = streaming.StreamingManager("tok", upload_interval=0.05)
    manager.start()
    time.sleep(0.5)
    manager.stop()
    assert renewed == [("tok", "7")]


def test_answers_that_lack_something(monkeypatch):
    for answer, missing in (({}, "run_id"), ({"run_id": "r", "upload_credentials": {"access_key": "a"}}, "expires_at")):
        monkeypatch.setattr(streaming, "register_run", lambda *words, answer=answer, **names: answer)
        with pytest.raises(KeyError, match=missing):
            streaming.StreamingManager("tok").start()
    finished = []
    monkeypatch.setattr(streaming, "register_run", lambda *words, **names: {"run_id": "r"})
    monkeypatch.setattr(streaming, "finish_run", lambda *words, **names: finished.append(names))
    manager = streaming.StreamingManager("tok")
    manager.start()
    manager.stop(exit_code=None)
    assert finished[0]["data_source"] is sentinel_api.DataSource.inline and finished[0]["data_csv"] == ""


def test_new_bytes(tmp_path):
    path = tmp_path / "x"
    assert streaming._read_new_bytes(str(path), 3) == (b"", 3)
    path.write_bytes(b"ab\ncd")
    assert streaming._read_new_bytes(str(path), 0) == (b"ab\ncd", 5) and streaming._read_new_bytes(str(path), 5) == (b"", 5)
    assert streaming._read_new_bytes(str(path), 0, until=b"\n") == (b"ab\n", 3)
    with pytest.raises(ValueError, match="not found"):
        streaming._read_new_bytes(str(path), 3, b"\n")
    manager = streaming.StreamingManager("tok", csv_path=str(path))
    path.write_bytes(b"no line")
    with pytest.raises(ValueError, match="no header line"):
        manager._upload_batch()
    assert streaming._parse_expires_at("1970-01-01T01:00:00+01:00") == streaming._parse_expires_at("1970-01-01T00:00:00Z") == 0.0


def test_streamed_run(ingest, monkeypatch):
    monkeypatch.setenv("SENTINEL_API_KEY", "tok")
    metadata = {"job_name": "x"}
    with ResourceTracker(interval=0.05, streaming_metadata=metadata) as t:
        t.wait_for_samples(1)
        path = t._combined_csv_filepath
    posts = [(path, json.loads(body)) for _, path, body, _ in ingest.asked]
    assert [path for path, _ in posts] == ["/runs", "/runs/r1/finish"]
    assert posts[0][1]["job_name"] == "x" and posts[0][1]["host_vcpus"] == os.cpu_count()
    assert posts[1][1]["data_source"] == "inline" and posts[1][1]["data_csv"].startswith("timestamp,system_processes,")
    assert posts[1][1]["data_csv"].count("\r\n") == t.n_samples + 1 == t._combined_csv_rows_written + 1
    assert t.sentinel_result == {"ok": True} and t._streaming is None and not os.path.exists(path)


def test_service_is_not_there(monkeypatch, caplog):
    monkeypatch.setenv("SENTINEL_API_URL", "http://127.0.0.1:9")
    with ResourceTracker(interval=0.05, sentinel_token="tok", discover_cloud=False) as t:
        t.wait_for_samples(1)
    assert t._streaming is None and t.sentinel_result is None and t.n_samples >= 1
    assert "not registered" in caplog.text
