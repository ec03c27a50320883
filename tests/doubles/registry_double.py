#!/usr/bin/env python3
"""A small OCI registry (distribution API v2) to be broken: one image with an index, a manifest and a configuration, behind a bearer token,
basic authentication or nothing. Used by tests in Python: start(…) returns a server with .address, .requests and .close()."""
import base64
import hashlib
import http.server
import json
import threading
import time
import urllib.parse


def digest_of(body):
    return "sha256:" + hashlib.sha256(body).hexdigest()


class Registry:
    def __init__(self, repository="team/train", tag="v1", entry_point=("/entry",), arguments=("default",), auth=None, delay_s=0.0, damage=False,
                 platforms=("amd64", "arm64")):
        self.auth, self.delay_s, self.damage = auth, delay_s, damage  # auth: None, "bearer" or "basic", for user "me" and password "pw"
        self.requests = []
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": list(entry_point), "Cmd": list(arguments)}}).encode()
        manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                               "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(config), "size": len(config)},
                               "layers": []}).encode()
        index = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [
            {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest_of(manifest), "size": len(manifest),
             "platform": {"os": "linux", "architecture": name}} for name in platforms]}).encode()
        base = f"/v2/{repository}"
        self.files = {f"{base}/manifests/{tag}": index, f"{base}/manifests/{digest_of(manifest)}": manifest, f"{base}/blobs/{digest_of(config)}": config}
        self.digest = digest_of(index)
        self.files[f"{base}/manifests/{self.digest}"] = index
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    registry.serve(self)
                except (BrokenPipeError, ConnectionResetError):  # a client that leaves is no error of ours
                    self.close_connection = True

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        self.image = f"{self.address}/{repository}:{tag}"
        threading.Thread(target=lambda: self.server.serve_forever(poll_interval=0.05), daemon=True).start()

    def serve(self, handler):
        self.requests.append((handler.path, handler.headers.get("Authorization", "")))
        time.sleep(self.delay_s)
        path, _, query = handler.path.partition("?")
        given = handler.headers.get("Authorization", "")
        login = "Basic " + base64.b64encode(b"me:pw").decode()
        if path == "/token":
            fine = given == login and urllib.parse.parse_qs(query).get("scope", [""])[0].startswith("repository:")
            return self.answer(handler, 200 if fine else 401, json.dumps({"token": "good"}).encode() if fine else b"{}")
        wanted = {"bearer": "Bearer good", "basic": login}.get(self.auth)
        if wanted and given != wanted:
            challenge = f'Bearer realm="http://{self.address}/token",service="double"' if self.auth == "bearer" else 'Basic realm="double"'
            return self.answer(handler, 401, b"{}", ("WWW-Authenticate", challenge))
        body = self.files.get(path)
        if body is not None and self.damage and "/blobs/" in path:
            body = body.replace(b"/entry", b"/wrong")
        return self.answer(handler, 200 if body is not None else 404, body or b"{}")

    @staticmethod
    def answer(handler, status, body, *headers):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
