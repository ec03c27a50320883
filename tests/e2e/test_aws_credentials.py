"""Which AWS identity a run uses, seen from outside: files as people and tools write them, the order of the sources, and machines that
are slow to answer. The store takes the one right key; with any other, nothing arrives."""
import json
import os

import aws_double  # found through service.py
from delivery_case import Delivery
from service import Running
import faults

KEY = "aws_access_key_id = AKME\naws_secret_access_key = SKME\n"
OTHER = "aws_access_key_id = AKNO\naws_secret_access_key = SKNO\n"


class AwsIdentity(Delivery):
    def setUp(self):
        super().setUp()
        double = faults.Double(())
        double.config = {"imds_v2": True, "role": "my-role", "container_token": "tok", "role_arn": "arn:r", "web_token": "web"}
        self.aws = Running(aws_double.Handler, double)
        self.addCleanup(self.aws.close)
        os.makedirs(self.path("home", ".aws"))

    def file(self, text, name="credentials"):
        with open(self.path("home", ".aws", name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def run_with(self, expected, clouds=True, **env):
        """A run whose rows arrive with that key, or, where it is None, wait in the spool."""
        secret = {"AKME": {"secret_key": "SKME"}}.get(expected) or {"secret_key": str(expected).replace("AK-", "SK-"), "session_token": str(expected).replace("AK-", "T-")}
        self.service.s3.config["credentials"] = {expected: secret} if expected else {"AKNOBODY": {"secret_key": "x"}}
        self.service.s3.objects.clear()
        base = {"HOME": self.path("home"), "TACHO_S3_ENDPOINT": self.service.s3_server.url, "TACHO_FINISH_TIMEOUT": "8", "TACHO_NO_CLOUD": None,
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.aws.url, "AWS_ENDPOINT_URL_STS": self.aws.url + "/sts/"}
        if not clouds:
            base["AWS_EC2_METADATA_DISABLED"] = "true"
        done = self.tacho("run", "-o", "s3://data/x", "--", "true", env={**base, **env})
        self.assertEqual(done.rc, 0, done)
        stored = len(self.service.s3.objects)
        self.assertEqual(stored > 0, expected is not None, done)
        for folder in self.spools():
            self.assertIsNone(expected, f"{folder} is left: {done.err}")
            self.tacho("deliver", "--all", env={**base, "AWS_ACCESS_KEY_ID": "AKNOBODY", "AWS_SECRET_ACCESS_KEY": "x"})
        return done

    def test_files_as_they_are_written(self):
        for name, text in {
                "plain": f"[default]\n{KEY}",
                "indented": "[default]\n" + "".join(f"    {line}\n" for line in KEY.splitlines()),
                "indented by tabs, and the section too": "\t[default]\n" + "".join(f"\t{line}\n" for line in KEY.splitlines()),
                "of Windows": f"\ufeff[default]\r\n{KEY}".replace("\n", "\r\n").replace("\r\r", "\r"),
                "no end": f"[default]\n{KEY}".rstrip(),
                "blanks and notes": f"# mine\n; too\n\n[ default ]   # here\n\n{KEY.replace(' = ', '=')}\n\n",
                "notes behind values": f"[default]\n{KEY}".replace("SKME", "SKME ; the new one").replace("AKME", "AKME\t# mine"),
                "colons and capitals": f"[default]\n{KEY.replace(' = ', ' : ').replace('aws_access', 'AWS_Access')}",
                "below others": f"[a]\n{OTHER}[default]\n{KEY}[b]\n{OTHER}",
                "settings of a setting": f"[default]\ns3 =\n  aws_access_key_id = AKNO\n  addressing_style = path\n{KEY}",
        }.items():
            with self.subTest(name):
                self.file(text)
                self.run_with("AKME")

    def test_profiles(self):
        self.file(f"[default]\n{OTHER}[build]\n{KEY}")
        self.run_with("AKME", AWS_PROFILE="build")
        self.file(f"[default]\n{OTHER}[profile\tmy  work]\n{KEY}", "config")
        self.run_with("AKME", AWS_PROFILE="my work")
        self.file(f"[default]\n{OTHER}[profile 'one']\n{KEY}", "config")
        self.run_with("AKME", AWS_DEFAULT_PROFILE="one")
        self.run_with("AKME", AWS_PROFILE="one", AWS_DEFAULT_PROFILE="two")
        os.rename(self.path("home", ".aws", "config"), self.path("elsewhere"))
        self.run_with("AKME", AWS_PROFILE="one", AWS_CONFIG_FILE=self.path("elsewhere"))

    def test_nobody_else_is_taken_where_a_file_makes_no_sense(self):
        for name, text in {"half a key": "[default]\naws_access_key_id = AKME\n", "no section": KEY, "words": "[default]\nhello\n",
                           "no end of a section": f"[default\n{KEY.replace('aws_secret', 'secret')}"}.items():
            with self.subTest(name):
                self.file(text)
                done = self.run_with(None)
                self.assertIn("AWS", done.err)
                self.assertEqual(self.asked(), [], "the machine's role is somebody else")

    def asked(self):
        return [entry["path"] for entry in self.aws.double.log]

    def test_order_of_the_sources(self):
        self.write("web", "web")
        variables = {"AWS_ACCESS_KEY_ID": "AKME", "AWS_SECRET_ACCESS_KEY": "SKME"}
        web = {"AWS_WEB_IDENTITY_TOKEN_FILE": self.path("web"), "AWS_ROLE_ARN": "arn:r"}
        container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": self.aws.url + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "tok"}
        self.file(f"[default]\n{KEY}")
        self.run_with("AK-sts", **web, **container)
        self.run_with("AKME", **container)
        self.file(f"[default]\n{OTHER}")
        self.run_with("AKME", **variables, **web, **container)
        os.unlink(self.path("home", ".aws", "credentials"))
        self.run_with("AK-container", **container)
        self.file("[default]\nregion = eu-west-1\n", "config")
        self.run_with("AK-instance")
        done = self.run_with(None, clouds=False)
        self.assertIn("no AWS credentials were found", done.err)

    def test_a_machine_that_is_busy_is_asked_again(self):
        for status, part in ((503, ".*/token"), (500, ".*/security-credentials/"), (429, ".*/security-credentials/my-role")):
            with self.subTest(part):
                self.aws.double.rules.replace([{"match": {"path": part, "nth": 1}, "action": {"status": status}}])
                self.run_with("AK-instance")
        self.aws.double.rules.replace([{"match": {"path": ".*/container", "nth": 1}, "action": {"status": 500}}])
        self.run_with("AK-container", AWS_CONTAINER_CREDENTIALS_FULL_URI=self.aws.url + "/container", AWS_CONTAINER_AUTHORIZATION_TOKEN="tok")
        self.assertNotIn("SK-", json.dumps(self.service.s3.log))
