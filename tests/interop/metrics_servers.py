"""Real receivers of metrics on loopback: Prometheus, VictoriaMetrics and node_exporter of Debian, and an OpenTelemetry Collector
built from the Go module proxy. Each can be stopped and started again on the same port and data, and tells what it has."""
import calendar
import http.client
import json
import os
import re
import signal
import sys
import urllib.parse
import urllib.request

from common import ROOT, WORK, debian, free_port, fresh, run, start, stop, wait_port

sys.path.insert(0, str(ROOT / "tests/doubles"))
import faults  # noqa: E402

COLLECTOR = "0.150.0"


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Server:
    """One program with a port. stored(run) is {(name, label=value…): {ms: value}} of a run's series, and how many came twice."""
    path = "/api/v1/write"

    def __init__(self, name, command, version):
        self.name, self.command, self.version, self.process = name, command, version, None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = start(*self.command(self.port), log=f"metrics-{self.name}.out")
        wait_port(self.port, self.process)
        return self

    def stop(self, sig=signal.SIGTERM):
        stop(self.process, sig, 30)


def key_of(labels):
    return (labels["__name__"], *(f"{k}={labels[k]}" for k in ("direction", "mode") if k in labels))


class Prometheus(Server):
    def __init__(self, name, window):
        debian("prometheus")
        folder = fresh(f"metrics-{name}")
        (folder / "prometheus.yml").write_text("global: {}\n" + (f"storage: {{tsdb: {{out_of_order_time_window: {window}}}}}\n" if window else ""))
        super().__init__(name, lambda port: ("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                             f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver"),
                         run("prometheus", "--version").split()[2])

    def stored(self, selector):
        query = urllib.parse.urlencode({"query": f"{{{selector}}}[4h]"})
        found = {}
        for one in json.loads(get(f"{self.url}/api/v1/query?{query}"))["data"]["result"]:
            found[key_of(one["metric"])] = {round(t * 1000): float(value) for t, value in one["values"]}
        return found, 0


class Victoria(Server):
    def __init__(self, name="victoria"):
        debian("victoria-metrics")
        folder = fresh(f"metrics-{name}")
        version = re.search(r"v?(\d+\.\d+\.\d+)", run("victoria-metrics", "-version", rc=None) + run("dpkg-query", "-W", "-f=${Version}", "victoria-metrics"))
        super().__init__(name, lambda port: ("victoria-metrics", f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={folder}",
                                             "-search.latencyOffset=0s", "-retentionPeriod=1"), version[1])

    def stored(self, selector):
        get(f"{self.url}/internal/force_flush")  # what came within the last second is not shown yet
        query = urllib.parse.urlencode({"match[]": f"{{{selector}}}"})
        found, twice = {}, 0
        for line in get(f"{self.url}/api/v1/export?{query}").splitlines():
            one = json.loads(line)
            samples = found.setdefault(key_of(one["metric"]), {})
            for ms, value in zip(one["timestamps"], one["values"]):
                if value is None:  # the end of a series
                    continue
                if samples.get(ms, value) != value:
                    raise RuntimeError(f"{one['metric']} has two values at {ms}")
                twice += ms in samples
                samples[ms] = value
        return found, twice


class Exporter(Server):
    def __init__(self):
        debian("prometheus-node-exporter")
        self.folder = fresh("metrics-textfiles")
        super().__init__("node-exporter", lambda port: ("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}",
                                                        "--collector.disable-defaults", "--collector.textfile",
                                                        f"--collector.textfile.directory={self.folder}"),
                         run("prometheus-node-exporter", "--version").split()[2])


class Collector(Server):
    """Its debug exporter prints every point."""
    path = ""

    def __init__(self):
        folder = fresh("metrics-collector")
        self.port = free_port()
        (folder / "config.yaml").write_text(
            f"receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:PORT'}}}}}}}}\nexporters: {{debug: {{verbosity: detailed}}}}\n"
            "service: {telemetry: {metrics: {level: none}}, pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}\n")
        program = self.build()
        self.log = WORK / "metrics-collector.out"
        self.log.unlink(missing_ok=True)

        def command(port):
            (folder / "now.yaml").write_text((folder / "config.yaml").read_text().replace("PORT", str(port)))
            return program, "--config", f"{folder}/now.yaml"
        super().__init__("collector", command, COLLECTOR)

    @staticmethod
    def build():
        program = WORK / "bin/otelcol-tacho"
        if program.exists():
            return program
        folder = fresh("metrics-collector-build")
        (folder / "builder.yaml").write_text(
            f"dist: {{name: otelcol-tacho, output_path: {folder}/dist, version: {COLLECTOR}}}\n"
            f"receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v{COLLECTOR}}}]\n"
            f"exporters: [{{gomod: go.opentelemetry.io/collector/exporter/debugexporter v{COLLECTOR}}}]\n"
            "providers: [{gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider v1.56.0}]\n"
            "conf_resolver: {default_uri_scheme: file}\n")
        print("# building the Collector (some minutes)", flush=True)
        run("nice", "-n", "10", "go", "run", f"go.opentelemetry.io/collector/cmd/builder@v{COLLECTOR}", "--config", folder / "builder.yaml",
            cwd=folder, env={**os.environ, "GOFLAGS": "-buildvcs=false -p=1"}, timeout=3600)
        program.parent.mkdir(exist_ok=True)
        os.replace(folder / "dist/otelcol-tacho", program)
        return program

    def points(self, run_id, metric):
        """[(ns, value)] of a metric of one run, as they came, by what the debug exporter wrote."""
        found, of_run, name, ns = [], False, None, None
        for line in self.log.read_text(errors="replace").splitlines():
            line = line.strip()
            if line.startswith("ResourceMetrics #"):
                of_run = False
            elif line.startswith("-> tacho.run.id: Str("):
                of_run = line == f"-> tacho.run.id: Str({run_id})"
            elif line.startswith("-> Name: "):
                name = line[9:]
            elif line.startswith("Timestamp: "):
                # 2026-11-18 13:00:00.123 +0000 UTC
                date, clock = line.split()[1:3]
                whole, _, part = clock.partition(".")
                ns = calendar.timegm(tuple(int(x) for x in date.split("-") + whole.split(":"))) * 10 ** 9 + int((part + "0" * 9)[:9])
            elif line.startswith("Value: ") and of_run and name == metric:
                found.append((ns, float(line[7:])))
        return found


class Relay(faults.Handler):
    """Between tacho and a real server: makes the faults of its rules, and otherwise changes nothing."""
    target = None

    def answer(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.target.port, timeout=30)
        try:
            connection.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() != "host"})
            answer = connection.getresponse()
            return faults.Answer(answer.status, answer.read(), content_type=answer.headers.get("Content-Type", "text/plain"))
        finally:
            connection.close()

    def error_body(self, action):
        return action.get("message", "by the relay\n"), "text/plain"
