"""What every HTTP double shares: a threaded server, a fault engine and a log of what was seen.

Faults are a JSON list of rules. Each request goes through the rules in order; the first that matches acts on it:

    {"match": {"method": "PUT",          any method when absent
               "path": "/bucket/.*",     regular expression for the whole path (without query), any when absent
               "nth": 2,                 the n-th request of those that match method and path; a list of numbers
                                         is allowed; every one when absent
               "from": 3, "to": 5},      or a range of them, both ends included
     "action": {...}}

An action has any of these, and may have several:

    "delay_s": 2.0               sleep before answering
    "status": 503                answer this instead of doing the work; with "code": "SlowDown" (how a code looks in the
                                 body is the double's own), "message", "headers": {"Retry-After": "1"}, "body": "<html>"
                                 (sent as it is), "extra": {"Region": "eu-west-1"} (more fields beside the code)
    "reset": "start"             RST before the body was read
    "reset": "body"              RST after half of the body was read
    "reset": "answer"            RST after the work was done and before the answer: the answer is lost
    "half_close": true           do the work, send half of the answer, close
    "slow_s": 0.5                do the work, send the answer one byte at a time with this pause (slow loris)
    "skew_s": 3600               the double's clock is this far ahead for this request
    "do": {...}                  anything that the double itself understands, handed to its answer()

A double derives from Handler, gives answer() and perhaps error_body(), and calls serve(). Requests under /__ are for the
tests and never reach the rules:

    POST /__faults   a new list of rules; the counts start again
    GET  /__log      what was seen, a JSON list;  POST /__log empties it
    GET  /__ping     204

Thread-safe: every connection has a thread, shared state is behind Double.lock.
"""
import argparse
import email.utils
import http.server
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time


class Rules:
    """The rules with their counters."""

    def __init__(self, rules=()):
        self.lock = threading.Lock()
        self.replace(rules)

    def replace(self, rules):
        checked = [self._check(rule) for rule in rules]
        with self.lock:
            self.rules = checked
            self.seen = [0] * len(checked)

    @staticmethod
    def _check(rule):
        unknown = set(rule) - {"match", "action"} | set(rule.get("match", {})) - {"method", "path", "nth", "from", "to"}
        unknown |= set(rule["action"]) - {"delay_s", "status", "code", "message", "headers", "body", "extra", "reset",
                                          "half_close", "slow_s", "skew_s", "do"}
        if unknown:
            raise ValueError(f"unknown words in a fault rule: {sorted(unknown)}")
        if rule["action"].get("reset", "start") not in ("start", "body", "answer"):
            raise ValueError("reset is start, body or answer")
        return rule

    def pick(self, method, path):
        """The action for this request, {} when none. Every rule counts the requests that fit its method and path."""
        chosen = None
        with self.lock:
            for number, rule in enumerate(self.rules):
                match = rule.get("match", {})
                if match.get("method", method) != method or not re.fullmatch(match.get("path", ".*"), path):
                    continue
                self.seen[number] += 1
                count, nth = self.seen[number], match.get("nth")
                if nth is not None and count not in (nth if isinstance(nth, list) else [nth]):
                    continue
                if not match.get("from", 1) <= count <= match.get("to", count):
                    continue
                if chosen is None:
                    chosen = rule["action"]
        return chosen or {}


class Double:
    """State of a double: rules, log, clock. Handler.double is the one object of a process."""

    def __init__(self, rules=(), log_path=None):
        self.rules = Rules(rules)
        self.lock = threading.RLock()
        self.log = []
        self.log_file = open(log_path, "a", encoding="utf-8") if log_path else None

    def note(self, entry):
        with self.lock:
            self.log.append(entry)
            if self.log_file:
                self.log_file.write(json.dumps(entry) + "\n")
                self.log_file.flush()


class Answer:
    """What a request is answered with. note: what the log shall say beside it."""

    def __init__(self, status, body=b"", headers=None, content_type="application/octet-stream", note=None):
        self.status = status
        self.body = body.encode() if isinstance(body, str) else body
        self.headers = dict(headers or {})
        self.content_type = content_type
        self.note = note


def json_answer(status, value, headers=None):
    return Answer(status, json.dumps(value), headers, "application/json")


class Reset(Exception):
    """Cut the connection with RST."""


class Handler(http.server.BaseHTTPRequestHandler):
    double = None                  # set by serve()
    connect_tls = None             # TLS context: CONNECT as a proxy does, and be the server behind it as well
    via_proxy = False              # the client takes us for a proxy
    protocol_version = "HTTP/1.1"  # connections are kept
    timeout = 60

    # --- for a double to give ---
    def answer(self, body):
        """The answer to a request: self.command, self.path, self.headers and self.action (the fault, {} when none)."""
        raise NotImplementedError

    def control(self, body):
        """Answer to a request under /__ that is not one of the common ones; None when it is not known."""

    def error_body(self, action):
        """Body and content type of an injected error."""
        return json.dumps({"detail": action.get("message", action.get("code", "")), **action.get("extra", {})}), "application/json"

    # --- common ---
    def now(self):
        """The double's time in seconds, off by the fault's skew."""
        return time.time() + self.action.get("skew_s", 0)

    def route(self):
        return self.path.partition("?")[0]

    def do_CONNECT(self):
        """A tunnel to ourselves: so a test can use the address of a real service without a change in the client."""
        if self.connect_tls is None:
            return self.send_error(405)
        self.double.note({"time": time.time(), "method": "CONNECT", "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}})
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.connection = self.request = self.connect_tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), http.server.socketserver._SocketWriter(self.connection)
        self.via_proxy, self.close_connection = True, False

    def handle_request(self):
        self.action = {}
        if self.path.startswith("http://"):
            self.via_proxy, self.path = True, "/" + self.path[7:].partition("/")[2]
        if self.path.startswith("/__"):
            return self._send(self._control(self._read(1.0)))
        self.action = action = self.double.rules.pick(self.command, self.route())
        entry = {"time": time.time(), "method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                 "fault": action, "client_port": self.client_address[1], "via_proxy": self.via_proxy}
        # Noted before the answer leaves, so that a test which has the answer finds it in the log.
        try:
            answer = self._work(action, entry)
        except Reset:
            entry["reset"] = True
            self.double.note(entry)
            return self._reset()
        except (BrokenPipeError, ConnectionResetError):
            entry["client_left"] = True
            self.double.note(entry)
            self.close_connection = True
            return None
        self.double.note(entry)
        try:
            self._send(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _work(self, action, entry):
        if action.get("reset") == "start":
            raise Reset
        body = self._read(0.5 if action.get("reset") == "body" else 1.0)
        entry["body_bytes"] = len(body)
        if action.get("reset") == "body":
            raise Reset
        time.sleep(action.get("delay_s", 0))
        answer = self._fault_answer() if "status" in action else self.answer(body)
        entry.update(status=answer.status, note=answer.note)
        if action.get("reset") == "answer":
            raise Reset
        return answer

    def _fault_answer(self):
        action = self.action
        if "body" in action:
            return Answer(action["status"], action["body"], action.get("headers"), action.get("headers", {}).get("Content-Type", "text/html"))
        body, content_type = self.error_body(action)
        return Answer(action["status"], body, action.get("headers"), content_type, action.get("code"))

    def _read(self, share):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.close_connection = True
            return b""
        length = int(int(self.headers.get("Content-Length") or 0) * share)
        body = self.rfile.read(length) if length else b""
        if len(body) < length:
            raise ConnectionResetError
        return body

    def _control(self, body):
        route, double = self.route(), self.double
        if route == "/__ping":
            return Answer(204)
        if route == "/__faults" and self.command == "POST":
            double.rules.replace(json.loads(body))
            return Answer(204)
        if route == "/__log":
            with double.lock:
                if self.command == "POST":
                    double.log.clear()
                    return Answer(204)
                return json_answer(200, double.log)
        return self.control(body) or Answer(404, "no such control\n", content_type="text/plain")

    def _send(self, answer):
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('Odd',))[0]}"]
        headers = {"Date": email.utils.formatdate(self.now(), usegmt=True), "Server": "double", **answer.headers}
        if answer.status not in (204, 304):
            headers.setdefault("Content-Type", answer.content_type)
            headers.setdefault("Content-Length", str(len(answer.body)))
        data = "\r\n".join(lines + [f"{k}: {v}" for k, v in headers.items()]).encode("latin-1") + b"\r\n\r\n"
        if self.command != "HEAD" and answer.status not in (204, 304):
            data += answer.body
        if self.action.get("half_close"):
            # An answer without a body is cut in its headers.
            self.wfile.write(data[:len(data) - max(1, len(answer.body) // 2 or len(data) // 2)])
            self.close_connection = True
            return
        if "slow_s" in self.action:
            for at in range(len(data)):
                self.wfile.write(data[at:at + 1])
                time.sleep(self.action["slow_s"])
            return
        self.wfile.write(data)
        if headers.get("Connection") == "close":
            self.close_connection = True

    def _reset(self):
        self.close_connection = True
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())  # not shutdown(): that would send FIN first
        except OSError:
            pass

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_PATCH = handle_request

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # beyond it a connection waits for a second

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that leaves is no error of ours
            super().handle_error(request, client_address)

    def shutdown_request(self, request):
        if request.fileno() >= 0:
            super().shutdown_request(request)


def arguments(description, config=False):
    """The options that every double has, and --config for those with settings; add to the parser, then parse."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=0, help="0: the kernel picks one")
    if config:
        parser.add_argument("--config", help="file with the settings (JSON)")
    parser.add_argument("--faults", help="file with the rules (JSON)")
    parser.add_argument("--log", help="file to write a JSON line a request to")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"), help="speak TLS")
    parser.add_argument("--connect-tls", nargs=2, metavar=("CERT", "KEY"), help="be a proxy too, and any https server behind it")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin does, so that nobody is left behind")
    return parser


def config_of(options):
    if not options.config:
        return {}
    with open(options.config, encoding="utf-8") as file:
        return json.load(file)


def rules_of(options):
    if not options.faults:
        return []
    with open(options.faults, encoding="utf-8") as file:
        return json.load(file)


def tls_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def serve(handler, double, options):
    """Prints the port and serves for ever."""
    handler.double = double
    server = Server(("127.0.0.1", options.port), handler)
    if options.connect_tls:
        handler.connect_tls = tls_context(*options.connect_tls)
    if options.tls:
        server.socket = tls_context(*options.tls).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)
    if options.until_eof:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
