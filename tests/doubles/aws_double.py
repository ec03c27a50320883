#!/usr/bin/env python3
"""The services that hand out AWS credentials, all at one address: the EC2 instance metadata service (v2, and v1 when it is
allowed), the container endpoint, STS: AssumeRoleWithWebIdentity, and AssumeRole signed with the keys AK1/SK1, and the portal of
SSO: GetRoleCredentials, and CreateToken with a refresh token, which gives the token of GetRoleCredentials. Tokens are to be echoed exactly.

    POST /__config  {"imds_v1": true, "imds_v2": true, "role": "my-role", "container_token": "…", "web_token": "…",
                     "role_arn": "…", "external_id": "…", "expiration": "2026-…Z", "sso": {"token": "…", "role": "…", "account": "…", "refresh": "…"}}
"""
import json
import time
import urllib.parse

import faults
import sigv4_check
from faults import Answer, json_answer

IMDS_TOKEN = "imds+token=="


class Handler(faults.Handler):
    def control(self, body):
        if self.route() == "/__config" and self.command == "POST":
            self.double.config = json.loads(body)
            return Answer(204)
        return None

    def credentials(self, source):
        return {"Code": "Success", "AccessKeyId": f"AK-{source}", "SecretAccessKey": f"SK-{source}", "Token": f"T-{source}",
                "Expiration": self.double.config.get("expiration", "2099-01-01T00:00:00Z")}

    def answer(self, body):
        config, route = self.double.config, self.route()
        if route.startswith("/latest/"):
            return self.imds(config, route)
        if route == "/container":
            if self.headers.get("Authorization", "") != config.get("container_token", ""):
                return Answer(401)
            return json_answer(200, self.credentials("container"))
        if route == "/sso/federation/credentials" and self.command == "GET":
            return self.sso(config.get("sso", {}), dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, strict_parsing=True)))
        if route == "/oidc/token" and self.command == "POST":
            return self.oidc(config.get("sso", {}), json.loads(body))
        if route == "/sts/" and self.command == "POST":
            return self.sts(config, body, dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True)))
        return Answer(404)

    def imds(self, config, route):
        if route == "/latest/api/token":
            if not config.get("imds_v2") or self.command != "PUT" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
                return Answer(403)
            return Answer(200, IMDS_TOKEN, content_type="text/plain")
        token = self.headers.get("X-aws-ec2-metadata-token")
        if token != (IMDS_TOKEN if config.get("imds_v2") else None) and not (token is None and config.get("imds_v1")):
            return Answer(401)
        base, role = "/latest/meta-data/iam/security-credentials/", config.get("role")
        if role and route == base:
            return Answer(200, role + "\n", content_type="text/plain")
        if role and route == base + urllib.parse.quote(role, safe=""):
            return json_answer(200, self.credentials("instance"))
        return Answer(404, "<html>404</html>")

    def sts(self, config, body, form):
        good = {"Version": "2011-06-15", "RoleArn": config.get("role_arn")}
        if form.get("Action") == "AssumeRole":
            good["ExternalId"] = config.get("external_id")
            keys = {"AK1": {"secret_key": "SK1", "session_token": "", "expires": None}}
            try:
                sigv4_check.check_signature("POST", self.path, self.headers.items(), keys, None, time.time(), "sts")
                sigv4_check.check_body(body, {name.lower(): value for name, value in self.headers.items()}, False)
            except sigv4_check.Refused as refused:
                return self.sts_refusal(refused.code)
        else:
            good.update({"Action": "AssumeRoleWithWebIdentity", "WebIdentityToken": config.get("web_token")})
        if any(form.get(name) != value for name, value in good.items()) or not form.get("RoleSessionName"):
            return self.sts_refusal("AccessDenied")
        given = self.credentials("sts")
        inside = "".join(f"<{name}>{given[key]}</{name}>" for name, key in
                         (("AccessKeyId", "AccessKeyId"), ("SecretAccessKey", "SecretAccessKey"), ("SessionToken", "Token"), ("Expiration", "Expiration")))
        return Answer(200, f"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>{inside}</Credentials>"
                           "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>", content_type="text/xml")

    def sso(self, expected, query):
        if self.headers.get("x-amz-sso_bearer_token") != expected.get("token"):
            return json_answer(401, {"message": "Session token not found or invalid"})
        if query != {"role_name": expected.get("role"), "account_id": expected.get("account")}:
            return json_answer(403, {"message": "No access"})
        return json_answer(200, {"roleCredentials": {"accessKeyId": "AK-sso", "secretAccessKey": "SK-sso", "sessionToken": "T-sso",
                                                     "expiration": 1794735000000}})

    @staticmethod
    def oidc(expected, asked):
        if asked != {"clientId": "C", "clientSecret": "CS", "grantType": "refresh_token", "refreshToken": expected.get("refresh")}:
            return json_answer(400, {"error": "invalid_grant", "error_description": "Invalid refresh token provided"})
        return json_answer(200, {"accessToken": expected["token"], "expiresIn": 3600, "refreshToken": "next", "tokenType": "Bearer"})

    @staticmethod
    def sts_refusal(code):
        return Answer(403, f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code></Error></ErrorResponse>", content_type="text/xml")


def main():
    options = faults.arguments("Hands out AWS credentials.").parse_args()
    double = faults.Double(faults.rules_of(options), options.log)
    double.config = {}
    faults.serve(Handler, double, options)


if __name__ == "__main__":
    main()
