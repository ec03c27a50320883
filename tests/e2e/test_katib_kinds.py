"""The other kinds and extras: PrometheusMetric over real HTTP, event files, resources, steps, flags, the configuration file."""
import http.server
import json
import os
import signal
import ssl
import struct
import subprocess
import threading
import time
import unittest

import support
from grpc_double import GrpcDouble
from katib_pod import KATIB, PodCase, free_port, sleep_until_row

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Endpoint:
    """Serves one page after the other, the last for ever, and notes the requests."""

    def __init__(self, pages, content_type="text/plain; version=0.0.4", tls=None, status=200):
        outer = self
        self.pages, self.seen, self.status = list(pages), [], status

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.seen.append((self.path, dict(self.headers)))
                if self.path == "/moved":
                    self.send_response(302)
                    self.send_header("Location", "/metrics")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                page = (outer.pages.pop(0) if len(outer.pages) > 1 else outer.pages[0]).encode()
                self.send_response(outer.status)
                self.send_header("Content-Type", content_type)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for at in range(0, len(page), 7):
                    part = page[at:at + 7]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a collector that was killed
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Prometheus(PodCase):
    weight = 10

    def endpoint(self, *args, **keywords):
        endpoint = Endpoint(*args, **keywords)
        self.addCleanup(endpoint.close)
        return endpoint

    def scraper(self, port, *extra, metrics="accuracy", **keywords):
        return self.collector("--kind", "PrometheusMetric", "--http-port", port, "--scrape-interval", "200ms", *extra,
                              metrics=metrics, path=self.shared, log_format=None, **keywords)

    def test_text(self):
        self.db()
        endpoint = self.endpoint([f"# HELP accuracy x\naccuracy {i}\nloss{{run=\"a\"}} {9 - i}\n" for i in (1, 2, 3)])
        self.trainer("sleep 2", redirect=False)
        self.ends(self.scraper(endpoint.port, metrics='accuracy;loss{run="a"}'), 0)
        self.assertEqual([(name, value) for _, name, value in self.rows() if name == "accuracy"],
                         [("accuracy", "1"), ("accuracy", "2"), ("accuracy", "3"), ("accuracy", "3")])  # the last seen sample, too
        self.assertEqual([value for _, name, value in self.rows() if name == 'loss{run="a"}'], ["8", "7", "6", "6"])
        self.assertIn("application/openmetrics-text", endpoint.seen[0][1]["Accept"])

    def test_openmetrics_with_time_stamps(self):
        self.db()
        endpoint = self.endpoint([f"# TYPE steps counter\nsteps_total {i} {1700000000 + i}.5\naccuracy 0.{i} {1700000000 + i}.25\n# EOF\n"
                                  for i in (1, 2)], OPENMETRICS)
        self.trainer("sleep 1.5", redirect=False)
        self.ends(self.scraper(endpoint.port, metrics="accuracy;steps"), 0)
        self.assertEqual(self.rows(), [("2023-11-14T22:13:21.25Z", "accuracy", "0.1"), ("2023-11-14T22:13:21.5Z", "steps", "1"),
                                       ("2023-11-14T22:13:22.25Z", "accuracy", "0.2"), ("2023-11-14T22:13:22.5Z", "steps", "2")])

    def test_headers_and_redirect(self):
        self.db()
        endpoint = self.endpoint(["accuracy 1\n"])
        self.trainer("sleep 1", redirect=False)
        self.ends(self.scraper(endpoint.port, "--http-path", "/moved", "--http-header", "Host: trainer.example",
                               "--http-header", "X-Token: secret"), 0)
        path, headers = endpoint.seen[1]
        self.assertEqual((path, headers["Host"], headers["X-Token"]), ("/metrics", "trainer.example", "secret"))
        self.assertEqual({row[2] for row in self.rows()}, {"1"})

    def test_https(self):
        key, cert = self.path("key.pem"), self.path("cert.pem")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                               "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], capture_output=True, check=False)
        if made.returncode != 0:
            self.skipTest("no openssl program")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cert, key)
        self.db()
        endpoint = self.endpoint(["accuracy 1\n"], tls=tls)
        for name, extra, value in (("trial-open", [], "1"), ("trial-ca", ["--http-ca", cert], "1"),
                                   ("trial-other", ["--http-ca", "/etc/ssl/certs/ca-certificates.crt"], "unavailable")):
            with self.subTest(name):
                self.trial = name
                for file in os.listdir(self.shared):
                    os.unlink(os.path.join(self.shared, file))
                self.trainer("sleep 1", redirect=False)
                self.ends(self.scraper(endpoint.port, "--http-scheme", "HTTPS", *extra), 0)
                self.assertEqual({row[2] for row in self.rows()}, {value})

    def test_endpoint_comes_late_and_goes_with_the_trainer(self):
        self.db()
        script = ("import http.server,time\nstart=time.time()\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(s):\n"
                  "  b=b'accuracy 0.7\\n'\n  s.send_response(200);s.send_header('Content-Length',str(len(b)));s.end_headers();s.wfile.write(b)\n"
                  " def log_message(s,*a):pass\ntime.sleep(1)\ns=http.server.HTTPServer(('127.0.0.1',PORT),H)\ns.timeout=0.2\n"
                  "while time.time()<start+2.5: s.handle_request()\n")
        port = free_port()
        self.write("train.py", script.replace("PORT", str(port)))
        self.trainer(f"python3 {self.path('train.py')}", redirect=False)
        collector = self.scraper(port)
        self.ends(collector, 0)
        self.assertEqual({row[2] for row in self.rows()}, {"0.7"})

    def test_never_seen_is_unavailable(self):
        self.db()
        endpoint = self.endpoint(["loss 1\n"])
        self.trainer("sleep 1", redirect=False)
        self.ends(self.scraper(endpoint.port, metrics="accuracy;loss"), 0)
        self.assertEqual({row[1:] for row in self.rows()}, {("accuracy", "unavailable"), ("loss", "1")})
        self.assertEqual([row[1] for row in self.rows()].count("accuracy"), 1)

    def test_early_stop(self):
        self.db()
        service = GrpcDouble()
        self.addCleanup(service.close)
        endpoint = self.endpoint([f"accuracy 0.{i}\n" for i in range(1, 5)])
        trainer = self.trainer("sleep 1000", redirect=False, early=True)
        self.ends(self.scraper(endpoint.port, "-stop-rule", "accuracy;0.5;less;3", "-s-earlystop", f"127.0.0.1:{service.port}"), 0)
        self.assertEqual(trainer.wait(10), 0)
        self.assertEqual(service.calls, [self.trial])
        self.assertGreaterEqual(len(self.rows()), 3)

    def test_killed_and_started_again(self):
        self.db()
        endpoint = self.endpoint([f"accuracy {i}\n" for i in range(1, 1000)])
        self.trainer("sleep 4", redirect=False)
        collector = self.scraper(endpoint.port)
        for _ in range(5):
            time.sleep(0.3)
            found = support.children_of(collector.pid)
            if not found:  # the trainer has ended, and so has the collector
                break
            os.kill(found[0][0], signal.SIGKILL)
            collector.wait(20)
            collector = self.scraper(endpoint.port)
        self.ends(collector, 0)
        values = [row[2] for row in self.rows()]
        self.assertGreater(len(values), 5)
        self.assertEqual(len(values), len(set(values)))

    def test_stock_webhook_without_a_folder(self):
        """No -path, no marker: the end of the process is the end of training."""
        self.db()
        endpoint = self.endpoint(["accuracy 1\n"])
        self.enter("sleep", "1")
        collector = self.collector("--http-port", endpoint.port, path="", log_format=None, metrics="accuracy")
        self.ends(collector, 0)
        self.assertEqual({row[2] for row in self.rows()}, {"1"})

    def test_not_200(self):
        self.db()
        endpoint = self.endpoint(["accuracy 1\n"], status=503)
        self.trainer("sleep 1", redirect=False)
        collector = self.scraper(endpoint.port)
        self.ends(collector, 0)
        self.assertEqual([row[2] for row in self.rows()], ["unavailable"])
        self.assertEqual(self.errors(collector).count("503"), 1)


class Others(PodCase):
    def test_json_and_steps(self):
        self.db()
        line = json.dumps({"accuracy": "0.5", "step": 3, "epoch": 1, "timestamp": "2026-11-15T09:30:00Z"})
        self.trainer(f"echo '{line}'")
        self.ends(self.collector("--report-steps", log_format="JSON", metrics="accuracy"), 0)
        self.assertEqual(self.rows(), [("2026-11-15T09:30:00Z", "accuracy", "0.5"), ("2026-11-15T09:30:00Z", "accuracy@step", "3"),
                                       ("2026-11-15T09:30:00Z", "accuracy@epoch", "1")])

    def test_bad_json_line_fails_if_told(self):
        self.db()
        self.trainer("echo '{\"accuracy\": \"1\"}'; echo nonsense")
        self.trainer_log = self.write("shared/metrics.log", '{"accuracy": "1"}\nnonsense\n')
        self.ends(self.collector("--bad-line", "fail", log_format="JSON", metrics="accuracy"), 255)
        self.assertEqual(self.rows(), [])

    def test_event_files(self):
        self.db()
        folder = os.path.join(self.shared, "tfevent")
        os.mkdir(folder)

        def crc(data):
            table = [0] * 256
            for i in range(256):
                value = i
                for _ in range(8):
                    value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
                table[i] = value
            value = 0xFFFFFFFF
            for byte in data:
                value = table[(value ^ byte) & 255] ^ value >> 8
            value ^= 0xFFFFFFFF
            return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF

        def record(payload):
            size = struct.pack("<Q", len(payload))
            return size + struct.pack("<I", crc(size)) + payload + struct.pack("<I", crc(payload))

        def event(step, tag, value):
            inner = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
            summary = b"\x0a" + bytes([len(inner)]) + inner
            return record(b"\x09" + struct.pack("<d", 1700000000.5 + step) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary)

        self.trainer("sleep 1.5", redirect=False)
        marker_in = self.shared
        self.shared = folder
        collector = self.collector(path=folder, log_format=None, metrics="accuracy")
        with open(os.path.join(folder, "events.out.tfevents.1.host"), "wb") as file:
            for step in (1, 2):
                file.write(event(step, "accuracy", 0.5 * step))
                file.flush()
                time.sleep(0.3)
        self.assertTrue(sleep_until_row(self, 2), self.errors(collector))
        self.assertEqual([row[2] for row in self.rows()], ["0.5", "1.0"])
        # The marker is in the other folder: this trainer left none here.
        self.ends(collector, 255)
        self.shared = marker_in

    def test_resources(self):
        self.db()
        self.trainer("(echo accuracy=1; timeout 3 sh -c 'while true; do :; done'; true)")
        collector = self.collector("--resources", "--resource-interval", "1s", "-stop-rule", "tacho_wall_seconds;1000;greater;0", metrics="accuracy")
        self.ends(collector, 0)
        self.assertNotIn("can never be met", self.errors(collector))
        rows = {}
        for _, name, value in self.rows():
            rows.setdefault(name, []).append(float(value))
        self.assertEqual(rows.pop("accuracy"), [1.0])
        self.assertLessEqual({"tacho_cpu_cores", "tacho_cpu_seconds", "tacho_memory_mib", "tacho_memory_peak_mib", "tacho_wall_seconds"}, set(rows))
        self.assertGreater(max(rows["tacho_cpu_cores"]), 0.1)
        self.assertGreater(rows["tacho_wall_seconds"][-1], 2)
        self.assertEqual(rows["tacho_cpu_seconds"], sorted(rows["tacho_cpu_seconds"]))
        for value in rows["tacho_memory_mib"]:
            self.assertGreater(value, 0)

    def test_resource_as_objective(self):
        self.db()
        # By the launcher, which tells all that was used: nothing of the last second is missing.
        self.enter(KATIB + "-exec", "--dir", self.shared, "--file", self.log, "--", "sh", "-c",
                   "echo loss=1; timeout 2.5 sh -c 'while true; do :; done'; true")
        self.ends(self.collector("--resource-interval", "1s", metrics="tacho_cpu_seconds;loss"), 0)
        rows = self.rows()
        self.assertEqual({row[1] for row in rows}, {"tacho_cpu_seconds", "loss"})
        with open(os.path.join(self.shared, ".tacho-usage"), encoding="ascii") as file:
            used_s = int(file.read().split()[2]) / 1e6
        self.assertAlmostEqual([float(row[2]) for row in rows if row[1] != "loss"][-1], used_s, delta=0.001)

    def test_unavailable_with_resources(self):
        self.db()
        self.trainer("(sleep 2.5)")
        self.ends(self.collector("--resources", "--resource-interval", "1s"), 0)
        self.assertEqual([row[1:] for row in self.rows() if not row[1].startswith("tacho_")], [("accuracy", "unavailable")])

    def test_configuration_file(self):
        self.db()
        config = self.write("collect.toml", f't = "other"\nm = ["accuracy"]\n"s-db" = "127.0.0.1:{self.port}"\npath = "{self.log}"\n'
                                            'format = "TEXT"\np = "100ms"\nreport = "200ms"\n')
        self.trainer("echo accuracy=1")
        collector = self.enter(KATIB, "collect", "--config", config, "-t", self.trial)
        self.assertEqual(collector.wait(20), 0, collector.stderr.read())
        self.assertEqual([row[1:] for row in self.rows()], [("accuracy", "1")])


class Flags(support.Case):
    def collect(self, *words, program=KATIB, env=None):
        if not os.path.exists(KATIB):
            self.skipTest("tacho-katib is not built")
        return subprocess.run([program, *(["collect"] if program == KATIB else []), *words], capture_output=True, text=True,
                              env=self.environment(env), timeout=60)

    def test_bad_flags_end_with_2(self):
        good = ["-t", "a", "-m", "x", "-s-db", "127.0.0.1:1", "-path", "/nowhere/x.log"]
        for words, part in (
                (["-nonsense"], "nonsense"), (["-t"], "value"), (["-p", "soon", *good], "soon"), (["-timeout", "5parsecs", *good], "5parsecs"),
                ([*good, "-format", "XML"], "XML"), (["-t", "a", "-s-db", "x:1", "-path", "p", "-format", "TEXT"], "-m"),
                (["-m", "a", "-s-db", "x:1", "-path", "p", "-format", "TEXT"], "-t"), (["-m", "a", "-t", "b", "-path", "p", "-format", "TEXT"], "-s-db"),
                ([*good, "-format", "TEXT", "-f", "([a-z]+"], "([a-z]+"), ([*good, "-format", "TEXT", "-f", "([a-z]+)=.*"], "([a-z]+)=.*"),
                ([*good, "-format", "TEXT", "-stop-rule", "x;y"], "x;y"), ([*good, "-format", "TEXT", "-stop-rule", "x;abc;less;1"], "abc"),
                ([*good, "-format", "TEXT", "-stop-rule", "x;1;below;1"], "below"), ([*good, "--kind", "Carrier-Pigeon"], "Carrier-Pigeon"),
                ([*good, "stray"], "stray"), ([*good, "--profile", "best"], "best"), (["--config", "/nowhere.toml", *good], "/nowhere.toml"),
                ([*good, "-format", "TEXT", "--tls=true", "--tls-ca", "/nowhere/ca.pem"], "/nowhere/ca.pem"),
                ([*good, "-format", "TEXT", "--tls=true", "--tls-ca", __file__], __file__),
                ([*good, "-format", "TEXT", "--auth-token-file", "/nowhere/token"], "/nowhere/token"),
                ([*good, "--kind", "PrometheusMetric", "--http-scheme", "HTTPS", "--http-ca", "/nowhere/ca.pem"], "/nowhere/ca.pem")):
            with self.subTest(words):
                done = self.collect(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(part, done.stderr.splitlines()[-1])
                self.assertIn("-s-db", done.stderr)

    def test_help_and_others(self):
        for word in ("-h", "-help", "--help"):
            done = self.collect(word)
            self.assertEqual((done.returncode, done.stdout.startswith("Examples:")), (0, True))
        self.assertIn("\nUsage: tacho-katib collect ", done.stdout)
        done = self.collect("--kind", "None")
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing to collect", done.stdout)
        self.assertEqual(self.collect("--ready", env={"TACHO_LAUNCHER_DIR": self.dir}).returncode, 1)
        self.write("exec", "", 0o755)
        self.assertEqual(self.collect("--ready", env={"TACHO_LAUNCHER_DIR": self.dir}).returncode, 0)
        version = subprocess.run([KATIB, "--version"], capture_output=True, text=True, check=True)
        self.assertTrue(version.stdout.startswith("tacho-katib "))

    def test_ready_fast(self):
        """The work before the first wait, in system calls: no library is loaded but glibc, no connection is made."""
        if not support.can("strace", "-V"):
            self.skipTest("no strace")
        if support.SANITIZED:
            self.skipTest("a sanitizer loads libraries of its own")
        trace = self.path("trace")
        self.collect  # the program must be there
        process = subprocess.Popen(["strace", "-f", "-o", trace, KATIB, "collect", "-t", "a", "-m", "x", "-s-db", "127.0.0.1:1", "-path",
                                    self.path("x.log"), "-format", "TEXT", "-timeout", "1s"], env=self.environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait(60)
        lines = self.read("trace").splitlines()
        self.assertFalse([line for line in lines if "connect(" in line])
        self.assertLess(len([line for line in lines if "openat(" in line and ".so" in line and "ENOENT" not in line]), 6)


if __name__ == "__main__":
    unittest.main()
