"""A small OpenID provider on loopback: discovery, its public key, and tokens signed by it. What AssumeRoleWithWebIdentity of a
real token service needs, and nothing more."""
import base64
import http.server
import json
import subprocess
import threading
import time

from common import debian, run

CLIENT = "tacho"


def _coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider:
    def __init__(self, folder):
        debian("openssl")
        self.key = folder / "identity.pem"
        run("openssl", "genrsa", "-out", self.key, "2048")
        modulus = run("openssl", "rsa", "-in", self.key, "-noout", "-modulus").strip().split("=")[1]
        self.jwk = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": _coded(bytes.fromhex(modulus)), "e": "AQAB"}
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                answer = {"/.well-known/openid-configuration": provider.description(), "/keys": {"keys": [provider.jwk]}}.get(self.path)
                body = json.dumps(answer or {}).encode()
                self.send_response(200 if answer else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def description(self):
        return {"issuer": self.url, "jwks_uri": self.url + "/keys", "authorization_endpoint": self.url + "/a", "token_endpoint": self.url + "/t",
                "userinfo_endpoint": self.url + "/u", "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"]}

    def token(self, life_s=3600):
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "azp": CLIENT, "sub": "job", "iat": now, "exp": now + life_s}
        text = ".".join(_coded(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT", "kid": "1"}, claims))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.key)], input=text.encode(), stdout=subprocess.PIPE, check=True)
        return text + "." + _coded(signed.stdout)
