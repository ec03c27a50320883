"""The doubles of the ingestion service and of S3 in the test's own process, and what to ask them afterwards."""
import gzip
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "doubles"))
import faults  # noqa: E402
import s3_double  # noqa: E402
import sentinel_double  # noqa: E402


class Running:
    """A double on a port of its own, in threads."""

    def __init__(self, handler, double):
        kind = type("Bound", (handler,), {"double": double})
        self.double = double
        self.server = faults.Server(("127.0.0.1", 0), kind)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=lambda: self.server.serve_forever(poll_interval=0.05), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Service:
    """The service with its bucket."""

    def __init__(self, config=None, s3_config=None):
        self.s3 = s3_double.S3({"credentials": {}, **(s3_config or {})})
        self.s3_server = Running(s3_double.Handler, self.s3)
        self.api = sentinel_double.Sentinel(config or {}, s3=self._take)
        self.api_server = Running(sentinel_double.Handler, self.api)

    def _take(self, credentials):
        self.s3.config = {**self.s3.config, "credentials": {**self.s3.config["credentials"], **credentials}}

    def close(self):
        self.api_server.close()
        self.s3_server.close()

    def environment(self, **more):
        return {"SENTINEL_API_TOKEN": "token", "SENTINEL_API_URL": self.api_server.url + self.api.config["base_path"],
                "TACHO_S3_ENDPOINT": self.s3_server.url + self.s3.config.get("base_path", ""), **more}

    def api_faults(self, *rules):
        self.api.rules.replace(rules)

    def s3_faults(self, *rules):
        self.s3.rules.replace(rules)

    def runs(self):
        return self.api.runs

    def finished(self):
        return [run for run in self.api.runs.values() if run["finish"]]

    def object(self, uri):
        parsed = urllib.parse.urlsplit(uri)
        assert parsed.scheme == "s3", uri
        return gzip.decompress(self.s3.objects[f"{parsed.netloc}{uri[len('s3://') + len(parsed.netloc):]}"]["body"]).decode()

    def rows(self, run):
        """The rows that the finish call of a run stands for, in order."""
        finish = run["finish"]
        if finish["data_source"] != "s3":
            return finish["data_csv"].splitlines()[1:]
        rows = []
        for uri in finish["data_uris"]:
            rows += self.object(uri).splitlines()[1:]
        return rows

    def calls(self, ending):
        return [entry for entry in self.api.log if entry["path"].endswith(ending)]
