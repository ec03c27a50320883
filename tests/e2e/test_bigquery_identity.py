"""Who tacho says that it is to Google: identities and credentials."""
import json
import os
import time

from bigquery import BigQuery, service_account


class Identity(BigQuery):
    METADATA = {"instance/id": "77", "instance/hostname": "vm-77.c.project.internal", "instance/zone": "projects/1/zones/europe-west4-a", "instance/cpu-platform": "Intel X",
                "instance/scheduling/preemptible": "TRUE", "instance/machine-type": "projects/1/machineTypes/n1-standard-1", "project/project-id": "project"}

    def runtime(self, **more):
        self.deliver(self.spool(given={}, fallback={"instance_id": 5, "instance_name": "local", "cpu_platform": "model"}, **more),
                     GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        return self.cloud.rows("runtime")[0]

    def test_metadata_server(self):
        self.use(metadata=self.METADATA)
        row = self.runtime()
        self.assertEqual([row[name] for name in ("instance_id", "instance_name", "zone", "cpu_platform", "preemptible", "machine_type", "project_id")],
                         [77, "vm-77", "europe-west4-a", "Intel X", True, "n1-standard-1", "project"])

    def test_fallback_and_placeholders(self):
        row = self.runtime()  # the server refuses (403)
        self.assertEqual([row[name] for name in ("instance_id", "instance_name", "zone", "cpu_platform", "preemptible", "project_id")],
                         [5, "local", "", "model", False, "project"])

    def test_server_of_somebody_else(self):
        self.use(metadata=self.METADATA, flavor="Moogle")
        self.assertEqual(self.runtime()["instance_id"], 5)
        self.assertEqual(len(self.cloud.calls("", "GET")), len([entry for entry in self.cloud.double.log if entry["method"] == "GET"]))

    def test_server_that_fails_now_and_then(self):
        self.use(metadata=self.METADATA)
        self.cloud.fault({"status": 503, "body": ""}, ".*/instance/id", to=3)
        self.assertEqual(self.runtime()["instance_id"], 77)

    def test_server_that_fails_for_longer_is_asked_again(self):
        self.use(metadata=self.METADATA)
        self.cloud.fault({"status": 503, "body": ""}, ".*/instance/id", to=8)  # six are one question
        self.assertEqual(self.runtime()["instance_id"], 77)

    def test_dead_server_is_asked_once(self):
        spool = self.spool(given={}, fallback={"instance_id": 5})
        begun = time.monotonic()
        self.deliver(spool, GCE_METADATA_HOST="127.0.0.1:1", TACHO_NO_CLOUD=None)
        self.assertEqual(self.cloud.rows("metrics")[0]["instance_id"], 5)
        self.assertLess(time.monotonic() - begun, 20)


class Credentials(BigQuery):
    """§2.7."""

    def setUp(self):
        super().setUp()
        self.use(auth=True)
        self.key = self.path("key.json")

    def account(self, token_uri=None, **more):
        self.cloud.double.config["accounts"] = service_account(self.key, token_uri or self.cloud.server.url + "/token", **more)

    def check_secrets(self, done, *secrets):
        for secret in secrets + tuple(self.cloud.double.google.tokens):
            self.assertNotIn(secret, done.out + done.err)

    def test_service_account(self):
        self.account()
        done = self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key)
        self.assertEqual(self.cloud.double.google.complaints, [])
        self.check_secrets(done, "PRIVATE KEY")
        self.assertEqual(len(self.cloud.calls("/token", "POST")), 1)

    def test_flag_comes_first(self):
        self.account()
        self.write("other.json", "{}")
        self.deliver(self.spool(), TACHO_GOOGLE_CREDENTIALS=self.key, GOOGLE_APPLICATION_CREDENTIALS=self.path("other.json"))
        self.check()

    def test_token_uri_of_the_flag(self):
        self.account(token_uri="http://127.0.0.1:1/token")
        spool = self.spool()
        done = self.tacho("deliver", spool.folder, "--credentials", self.key, f"--token-uri={self.cloud.server.url}/token", env=self.cloud.environment())
        self.assertEqual(done.rc, 0, done)
        self.check()

    def test_gcloud_login(self):
        self.cloud.double.config["users"] = {"1//refresh": {"client_id": "id", "client_secret": "secret-of-the-client"}}
        os.makedirs(self.path(".config", "gcloud"))
        self.write(".config/gcloud/application_default_credentials.json", json.dumps(
            {"type": "authorized_user", "client_id": "id", "client_secret": "secret-of-the-client", "refresh_token": "1//refresh", "quota_project_id": "project",
             "token_uri": self.cloud.server.url + "/token"}))
        self.check_secrets(self.go(), "secret-of-the-client", "1//refresh")

    def test_a_login_that_makes_no_sense_is_nobody_else(self):
        self.cloud.double.config["metadata"] = {"token": True}
        os.makedirs(self.path(".config", "gcloud"))
        self.write(".config/gcloud/application_default_credentials.json", '{"type": "authorized_user", "client_')
        self.assertIn("application_default_credentials.json", self.deliver(self.spool(), rc=1, GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None).err)
        self.assertEqual(self.cloud.calls("default/token"), [])

    def test_access_token_file(self):
        token = json.loads(self.cloud.double.google.give("test", ["https://www.googleapis.com/auth/bigquery"]).body)["access_token"]
        self.deliver(self.spool(), TACHO_GOOGLE_ACCESS_TOKEN_FILE=self.write("token", token + "\n"))
        self.check()

    def test_metadata_server_is_last(self):
        self.cloud.double.config["metadata"] = {"token": True}
        self.go(GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertIn("auth%2Fbigquery", self.cloud.calls("default/token")[0]["path"])

    def test_kinds_that_are_not_supported(self):
        self.cloud.double.config["metadata"] = {"token": True}
        self.write("key.json", json.dumps({"type": "external_account", "audience": "x"}))
        done = self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key, GCE_METADATA_HOST=self.cloud.host, TACHO_NO_CLOUD=None)
        self.assertIn("external_account", done.err)

    def test_wrong_files(self):
        for text, word in (("nonsense", "credentials"), (json.dumps({"type": "service_account"}), "private_key"),
                           (json.dumps({"type": "service_account", "client_email": "x@y", "private_key": "no key", "token_uri": self.cloud.server.url + "/token"}), "private key")):
            with self.subTest(word):
                self.write("key.json", text)
                self.assertIn(word, self.deliver(self.spool(name=f"20261115T140000Z-1-{len(text):08}"), rc=1, GOOGLE_APPLICATION_CREDENTIALS=self.key).err)

    def test_refused_by_the_token_server(self):
        self.account()
        self.cloud.double.config["accounts"] = {}
        self.assertIn("refused", self.deliver(self.spool(), rc=1, GOOGLE_APPLICATION_CREDENTIALS=self.key).err)

    def test_token_server_fails_now_and_then(self):
        self.account()
        self.cloud.fault({"status": 503, "body": ""}, "/token", nth=1)
        self.go(GOOGLE_APPLICATION_CREDENTIALS=self.key)

    def test_no_credentials_at_all(self):
        self.assertIn("credentials", self.deliver(self.spool(), rc=1).err)
