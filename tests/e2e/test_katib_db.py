"""tacho-katib db and log from outside: flags, messages, exit codes, signals, TLS. What the calls do is tested in src/katib/db and,
with other people's clients, by scripts/interop katib."""
import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import unittest

from support import BUILD, LIMIT_S, SANITIZED, Case, until

KATIB = os.path.join(BUILD, "bin", "tacho-katib")
ROWS = [("2026-11-15 09:30:01.500000", "loss", "0.5"), ("2026-11-15 09:30:00.000000", "accuracy", "0.25"), ("2026-11-15 09:30:02.000000", "loss", "\x1b[31mred")]


@unittest.skipUnless(os.path.exists(KATIB), "tacho-katib is not built")
class KatibDb(Case):
    def katib(self, *args, **keywords):
        return self.tacho(*args, program=KATIB, **keywords)

    def serve(self, *args, env=None):
        """A running service; returns (process, its port)."""
        process = self.spawn("db", "--listen", "127.0.0.1:0", *args, program=KATIB, env=env)
        line = process.stderr.readline()
        found = re.search(r"serving on 127\.0\.0\.1:(\d+), storing in (.*)", line)
        self.assertTrue(found, line + ("" if process.poll() is None else process.stderr.read()))
        self.stored_in = found[2]
        return process, int(found[1])

    def fill(self, file, trial="trial"):
        with sqlite3.connect(file) as store:
            store.executemany("INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES (?, ?, ?, ?)", [(trial, *row) for row in ROWS])
        store.close()

    def test_flags(self):
        for words in (["--nonsense"], ["word"], ["--listen"], ["--listen", "nowhere"], ["--listen", "127.0.0.1:65537"], ["--listen", "127.0.0.1:http"], ["--connect-timeout", "soon"], ["--tls"],
                      ["--tls-cert", "x"], ["--store", "mysql://db/katib"], ["--store", "a", "--store-url-file", "b"]):
            done = self.katib("db", *words)
            self.assertEqual(done.rc, 2, (words, done))
            self.assertIn("tacho-katib db: ", done.err)
        self.serve("--store=" + self.path("katib.db"), env={"DB_NAME": "mysql"})  # what is said stands before what is set
        self.assertEqual(self.katib("db", env={"DB_NAME": "mysql"}).rc, 2)
        for word in ("-h", "--help", "-help"):
            done = self.katib("db", word)
            self.assertEqual((done.rc, done.err), (0, ""))
            self.assertIn("--listen", done.out)
        for words in ([], ["--json"], ["trial", "--nonsense"], ["trial", "--since", "soon"], ["trial", "--server", "a:1", "--store", "b"]):
            self.assertEqual(self.katib("log", *words).rc, 2, words)

    def test_default_file_is_shared_with_log(self):
        process, _ = self.serve()
        file = self.path("state", "tacho", "katib.db")
        self.assertIn(file, self.stored_in)
        self.fill(file)
        done = self.katib("log", "trial", "--json")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual([row["value"] for row in json.loads(done.out)], ["0.25", "0.5", "\x1b[31mred"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT_S), 0)
        self.assertEqual(json.loads(self.katib("log", "--metric", "accuracy", "--json", "trial").out),
                         [{"time_stamp": "2026-11-15T09:30:00Z", "name": "accuracy", "value": "0.25"}])

    def test_log_of_a_server(self):
        file = self.path("katib.db")
        _, port = self.serve("-store", file)
        self.fill(file)
        server = ["--server", f"127.0.0.1:{port}"]
        done = self.katib("log", "trial", *server, env={"http_proxy": "http://127.0.0.1:1"})
        self.assertEqual(done.rc, 0, done)
        lines = done.out.splitlines()
        self.assertEqual(lines[0].split(), ["TIME", "METRIC", "VALUE"])
        self.assertEqual(lines[1].split(), ["2026-11-15T09:30:00Z", "accuracy", "0.25"])
        self.assertNotIn("\x1b", done.out)
        done = self.katib("log", "trial", *server, "--since", "2026-11-15T09:30:01.5Z", "--until", "2026-11-15T10:30:02+01:00", "--json")
        self.assertEqual([row["name"] for row in json.loads(done.out)], ["loss", "loss"])
        done = self.katib("log", "nobody", *server, "--json")
        self.assertEqual((done.rc, json.loads(done.out)), (0, []))
        self.assertIn("nothing is stored for nobody", done.err)

    def test_messages(self):
        process, port = self.serve("--store", self.path("katib.db"))
        done = self.katib("db", "--listen", f"127.0.0.1:{port}", "--store", self.path("other.db"))
        self.assertEqual(done.rc, 1)
        self.assertIn("is the port taken", done.err)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT_S), 0)
        done = self.katib("log", "trial", "--server", f"127.0.0.1:{port}", "--timeout", "20s")
        self.assertEqual(done.rc, 1)
        self.assertIn("UNAVAILABLE", done.err)
        for words, part in ((["--store", self.path("no", "such", "file")], "does the folder exist"), (["--store", self.write("text", "x" * 4096)], "no SQLite database")):
            done = self.katib("db", "--listen", "127.0.0.1:0", *words)
            self.assertEqual(done.rc, 1)
            self.assertIn(part, done.err)
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.assertEqual(self.katib("log", "trial", "--store", self.path("missing.db")).rc, 1)
        self.assertFalse(os.path.exists(self.path("missing.db")))

    def test_passwords_are_not_shown(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"postgres://me:geheim@127.0.0.1:{taken.getsockname()[1]}/katib"
            done = self.katib("db", "--listen", "127.0.0.1:0", "--store", url, "--connect-timeout", "0s")
            self.assertEqual(done.rc, 1)
            self.assertNotIn("geheim", done.err)
            self.assertIn("--store-url-file", done.err)
            done = self.katib("db", "--listen", "127.0.0.1:0", "--store-url-file", self.write("url", url + "\n", 0o600), "--connect-timeout", "0s")
            self.assertEqual(done.rc, 1)
            self.assertIn("postgres://me@127.0.0.1", done.err)
            self.assertNotIn("geheim", done.err)

    def test_waiting_for_postgres_ends_on_term(self):
        process = self.spawn("db", "--listen", "127.0.0.1:0", program=KATIB, env={"DB_NAME": "postgres", "KATIB_POSTGRESQL_DB_HOST": "127.0.0.1",
                                                                                "KATIB_POSTGRESQL_DB_PORT": "1"})
        self.assertIn("trying again", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT_S), 0)

    def test_kill_leaves_a_whole_database(self):
        file = self.path("katib.db")
        process, _ = self.serve("--store", file)
        self.fill(file)
        process.kill()
        process.wait()
        self.serve("--store", file)
        self.assertEqual(len(json.loads(self.katib("log", "trial", "--store", file, "--json").out)), 3)

    def test_more_connections_than_descriptors(self):
        """Once without a descriptor, gRPC's own listener took nobody any more, for good."""
        for at_start in (True,) if SANITIZED else (True, False):  # a sanitizer needs descriptors for its own look at memory
            file = self.path(f"katib-{at_start}.db")
            words = ["db", "--listen", "127.0.0.1:0", "--store", file]
            process = (self.spawn("-c", 'ulimit -n 80; exec "$@"', "sh", KATIB, *words, program="/bin/sh") if at_start
                       else self.spawn(*words, program=KATIB))
            port = int(re.search(r"serving on 127\.0\.0\.1:(\d+)", process.stderr.readline())[1])
            if not at_start:
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (80, 80))
            self.fill(file)
            many = []
            self.addCleanup(lambda them=many: [one.close() for one in them])
            for _ in range(150):
                many.append(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S))
            self.assertIn("no descriptor is left", process.stderr.readline())
            for one in many:
                one.close()
            done = self.katib("log", "trial", "--server", f"127.0.0.1:{port}", "--timeout", "20s", "--json")
            self.assertEqual((done.rc, len(json.loads(done.out or "[]"))), (0, 3), done)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT_S), 0)

    def test_who_says_nothing_and_who_reads_nothing_is_let_go(self):
        """While it serves and while it ends: gRPC alone waits for one that does not read for ever."""
        process, port = self.serve("--store", self.path("katib.db"))
        settings = b"\0\0\0\4\0\0\0\0\0"  # each is to be acknowledged
        silent, *deaf = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for client in deaf:
            self.addCleanup(client.close)
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
            client.settimeout(0.5)
            with contextlib.suppress(OSError):
                for _ in range(10_000):
                    client.sendall(settings * 2_000)
        with silent, contextlib.suppress(ConnectionResetError):
            silent.settimeout(LIMIT_S)
            while silent.recv(65536):
                pass
        process.send_signal(signal.SIGTERM)
        for client in deaf:
            look = select.poll()
            look.register(client, 0)
            self.assertTrue(look.poll(60_000), "it is kept")
        self.assertEqual(process.wait(LIMIT_S), 0)

    @unittest.skipIf(SANITIZED, "a sanitizer's heap tells nothing")
    def test_what_a_client_makes_it_hold_is_bounded(self):
        """A header without an end: gRPC keeps each field of it, fourteen times as large as it was sent."""
        process, port = self.serve("--store", self.path("katib.db"), "--memory", "48M")

        def frame(kind, flags, stream, body):
            return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body
        fields = frame(9, 0, 1, b"\0\1a\1b" * 3000)  # CONTINUATION, of fields that are not to be indexed
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as hostile:
            hostile.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 0, 1, b"\x83\x86\x44\1/"))
            with self.assertRaises(OSError):
                for _ in range(3000):  # 54 MiB
                    hostile.sendall(fields)
        self.assertIn("more than 48 MiB of memory are in use", process.stderr.readline())
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak_kib = int(re.search(r"VmHWM:\s*(\d+)", file.read())[1])
        self.assertLess(peak_kib, 500 << 10)
        self.assertEqual(self.katib("log", "nobody", "--server", f"127.0.0.1:{port}", "--timeout", "20s").rc, 0)
        self.assertEqual(self.katib("db", "--memory", "much").rc, 2)

    def test_names_and_families(self):
        for listen, hosts in (("localhost:0", ["127.0.0.1"]), ("0.0.0.0:0", ["127.0.0.1", "localhost"]), (":0", ["127.0.0.1"]), ("[::]:0", ["127.0.0.1"])):
            process = self.spawn("db", "--listen", listen, "--store", self.path("katib.db"), program=KATIB)
            port = int(re.search(r":(\d+), storing", process.stderr.readline())[1])
            for host in hosts:
                self.assertEqual(self.katib("log", "nobody", "--server", f"{host}:{port}", "--timeout", "20s").rc, 0, (listen, host))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT_S), 0)
        done = self.katib("db", "--listen", "no-such-host.invalid:0", "--store", self.path("katib.db"))
        self.assertEqual(done.rc, 1)
        self.assertIn("no-such-host.invalid", done.err)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_tls(self):
        def certificate(name):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                            "-addext", f"subjectAltName=DNS:{name}", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".pem")],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return ["--tls-cert", self.path(name + ".pem"), "--tls-key", self.path(name + ".key")]
        file = self.path("katib.db")
        client = certificate("client.test")
        process, port = self.serve("--store", file, *certificate("manager.test"), "--tls-ca", self.path("client.test.pem"))
        self.fill(file)
        ask = ["log", "trial", "--server", f"127.0.0.1:{port}", "--timeout", "10s", "--json"]
        trusted = ["--tls", "--tls-ca", self.path("manager.test.pem")]
        named = ["--tls-server-name", "manager.test"]
        self.assertEqual(len(json.loads(self.katib(*ask, *trusted, *named, *client).out)), 3)
        for words in ([], ["--tls"], [*trusted, *named], [*trusted, *client], [*trusted, "--tls-server-name", "other.test", *client]):
            self.assertEqual(self.katib(*ask, *words).rc, 1, words)
        process.send_signal(signal.SIGTERM)
        self.assertTrue(until(lambda: process.poll() == 0))
