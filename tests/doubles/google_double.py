"""What Google's machines and token server answer: the metadata server and the OAuth 2.0 token endpoint, with real checks: the
Metadata-Flavor header both ways, RS256 signatures, claims, expiry. A part of bigquery_double.py, which has the command line.

    metadata   {"instance/id": "123", …}: values by path; a path that is not named is 404. "token": true lets it give tokens;
               "preempted": "FALSE" for the long poll (POST /__metadata changes values and wakes the waiting ones)
    accounts   {"client email": {"n": "hex modulus", "e": 65537, "kid": "…"}}
    users      {"refresh token": {"client_id": "…", "client_secret": "…"}}
    token_life_s  how long a token lives (3600)
"""
import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.parse

from faults import Answer, json_answer

DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")  # of SHA-256, PKCS #1 v1.5


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_rs256(signed, signature, n, e):
    size = (n.bit_length() + 7) // 8
    if len(signature) != size:
        return False
    block = pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big")
    tail = DIGEST_INFO + hashlib.sha256(signed).digest()
    return block == b"\x00\x01" + b"\xff" * (size - len(tail) - 3) + b"\x00" + tail


class Google:
    """Tokens that were given out, and who may ask for them."""

    def __init__(self, config):
        self.config = config
        self.changed = threading.Condition()
        self.etag = 1
        self.tokens = {}      # token: (source, scopes, until)
        self.complaints = []  # what was wrong with refused questions

    def give(self, source, scopes):
        token = "ya29." + secrets.token_urlsafe(24)
        life = self.config.get("token_life_s", 3600)
        self.tokens[token] = (source, scopes, time.time() + life)
        return json_answer(200, {"access_token": token, "expires_in": life, "token_type": "Bearer"})

    def is_good(self, header):
        kind, _, token = (header or "").partition(" ")
        if kind != "Bearer" or token not in self.tokens:
            return False
        _, scopes, until = self.tokens[token]
        return time.time() < until and any(scope.endswith("/auth/bigquery") for scope in scopes)

    def complain(self, text, error="invalid_grant", status=400):
        self.complaints.append(text)
        return json_answer(status, {"error": error, "error_description": text})

    # --- token endpoint ---
    def token(self, handler, body):
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode(), strict_parsing=True).items()}
        if handler.headers.get("Content-Type") != "application/x-www-form-urlencoded":
            return self.complain("the body must be a form", "invalid_request")
        if form.get("grant_type") == "refresh_token":
            user = self.config.get("users", {}).get(form.get("refresh_token"))
            if user is None or any(form.get(name) != user[name] for name in ("client_id", "client_secret")):
                return self.complain("unknown user", "invalid_client", 401)
            return self.give("user", ["https://www.googleapis.com/auth/bigquery"])
        if form.get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return self.jwt(handler, form.get("assertion", ""))
        return self.complain("grant_type", "unsupported_grant_type")

    def jwt(self, handler, assertion):
        try:
            head, claims, signature = assertion.split(".")
            header, claim = json.loads(from_base64url(head)), json.loads(from_base64url(claims))
        except (ValueError, TypeError):
            return self.complain("no JWT")
        account = self.config.get("accounts", {}).get(claim.get("iss"))
        if "=" in assertion or header.get("alg") != "RS256" or header.get("typ") != "JWT" or account is None or header.get("kid") != account["kid"]:
            return self.complain(f"header or issuer: {header} {claim}")
        if not verify_rs256(f"{head}.{claims}".encode(), from_base64url(signature), int(account["n"], 16), account.get("e", 65537)):
            return self.complain("Invalid JWT Signature.")
        now = time.time()
        here = f"http://{handler.headers['Host']}{handler.route()}"
        if claim.get("aud") not in (here, self.config.get("audience")):
            return self.complain(f"aud is {claim.get('aud')}, not {here}")
        if claim["exp"] - claim["iat"] != 3600 or not now - 60 < claim["iat"] <= now - 5 or not claim.get("scope"):
            return self.complain(f"iat, exp or scope: {claim}")
        return self.give(claim["iss"], claim["scope"].split(" "))

    # --- metadata server ---
    def metadata(self, handler):
        flavor = {"Metadata-Flavor": self.config.get("flavor", "Google"), "Server": "Metadata Server for VM"}
        values = self.config.get("metadata")
        path, _, query = handler.path.removeprefix("/computeMetadata/v1/").partition("?")
        if handler.headers.get("Metadata-Flavor") != "Google" or handler.command != "GET" or values is None:
            return Answer(403, "Missing Metadata-Flavor:Google header.", flavor, "text/html")
        options = {name: part[0] for name, part in urllib.parse.parse_qs(query).items()}
        if path == "instance/service-accounts/default/token" and values.get("token"):
            answer = self.give("metadata", options.get("scopes", "").split(","))
            answer.headers.update(flavor)
            return answer
        with self.changed:
            if options.get("wait_for_change") == "true" and options.get("last_etag") == str(self.etag):
                self.changed.wait(min(float(options.get("timeout_sec", 60)), 30))
            value = values.get(path)
            flavor["ETag"] = str(self.etag)
        return Answer(200 if isinstance(value, str) else 404, value if isinstance(value, str) else "", flavor, "application/text")

    def change(self, values):
        with self.changed:
            self.config.setdefault("metadata", {}).update(values)
            self.etag += 1
            self.changed.notify_all()
