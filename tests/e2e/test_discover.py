"""tacho discover against metadata services on loopback: what is identified as what, and what is never asked."""
import concurrent.futures
import http.server
import json
import os
import shutil
import sys
import threading

from support import BUILD, Case, IS_ROOT, can, until

DOUBLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "doubles")
sys.path.insert(0, DOUBLES)
from imds_double import EXPECTED, FIELDS, Service  # noqa: E402
from service import Service as SentinelService  # noqa: E402

DELIVER = os.path.join(BUILD, "bin", "tacho-deliver")
KEYS = ("cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type", "host_id")
TOKEN = {"match": {"path": "/latest/api/token|/v1/token"}}


class DiscoverCase(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(DELIVER):
            self.skipTest("tacho-deliver is not built")

    def discover(self, url, *args, **env):
        """The fields that are printed, asking no other address than url."""
        environment = {"TACHO_NO_CLOUD": None, "TACHO_IMDS_URL": url, "TACHO_CLOUD_EXTRA": "1", **env}
        done = self.tacho("discover", "--json", *args, program=DELIVER, env=environment)
        self.assertEqual((done.rc, done.err), (0, ""), done)
        return json.loads(done.out)

    def found(self, fields):
        """vendor and the five values, as the doubles' tables have them."""
        if "cloud_vendor_id" not in fields:
            self.assertEqual([key for key in fields if key.startswith("cloud_")], [])
            return None
        return (fields["cloud_vendor_id"], *(fields.get(key) for key in KEYS))

    def each(self, cases, check):
        """check(*case) for every case, a few at a time: most of the time is waiting."""
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for case, result in [(case, pool.submit(check, *case)) for case in cases]:
                with self.subTest(case):
                    result.result()


class Providers(DiscoverCase):
    def test_full_answers(self):
        def check(vendor):
            with Service(vendor) as service:
                fields = self.discover(service.url)
                self.assertEqual(self.found(fields), (vendor, *EXPECTED[vendor]))
                self.assertEqual(service.forbidden(), [])
                for entry in service.log:
                    self.assertEqual(entry["headers"]["user-agent"].split("/")[0], "tacho")
                    self.assertNotIn("x-forwarded-for", entry["headers"])
        self.each([(vendor,) for vendor in EXPECTED], check)

    def test_only_the_own_vendor_recognises_it(self):
        """Each service, asked the way of all others, is nobody else's."""
        def check(vendor):
            others = ",".join(other for other in EXPECTED if other != vendor)
            with Service(vendor) as service:
                self.assertIsNone(self.found(self.discover(service.url, TACHO_CLOUD_PROBE=others)))
                self.assertGreater(len(service.log), 8)
        self.each([(vendor,) for vendor in EXPECTED], check)

    def test_one_value_missing(self):
        def check(vendor, without):
            expected = dict(zip(FIELDS, EXPECTED[vendor]))
            expected[without] = None
            if vendor in ("upcloud", "vultr", "exoscale", "scaleway") and without in ("region", "zone"):
                return  # one value for both; below
            if vendor in ("gcp", "ovh") and without == "zone":
                expected["region"] = None  # it is read from the zone
            if vendor in ("aws", "ovh", "gcp") and without == "region":
                return  # single: below; the others have no value for it
            with Service(vendor, without=without) as service:
                got = self.found(self.discover(service.url, TACHO_HOST_ID_VALUE="" if without == "id" else None))
            # What identifies it: without that it is nobody.
            unknown = {("hcloud", "id"), ("vultr", "id"), ("digitalocean", "id"), ("linode", "id"), ("alicloud", "region"),
                       ("alicloud", "type"), ("exoscale", "type")}
            if (vendor, without) == ("vultr", "id"):
                self.assertEqual(got, (vendor, None, "ewr", "ewr", None, None))  # the old id is still there
            elif (vendor, without) in unknown:
                self.assertIsNone(got)
            else:
                self.assertEqual(got, (vendor, *expected.values()))
        self.each([(vendor, field) for vendor in EXPECTED for field in FIELDS
                   if dict(zip(FIELDS, EXPECTED[vendor]))[field] is not None], check)

    def test_region_missing(self):
        for vendor in ("upcloud", "vultr"):
            with Service(vendor, without="region") as service:
                self.assertEqual(self.found(self.discover(service.url))[:5], (vendor, None, None, None, None))

    def test_somebody_else_in_the_right_shape(self):
        def check(vendor):
            with Service(vendor, mode="wrong") as service:
                self.assertIsNone(self.found(self.discover(service.url)))
        self.each([(vendor,) for vendor in EXPECTED], check)

    def test_services_in_trouble(self):
        faults = {
            "html": {"status": 200, "body": "<!DOCTYPE html><html><body>Please log in</body></html>"},
            "html as text": {"status": 200, "body": "<html>region: x</html>", "headers": {"Content-Type": "application/json"}},
            "403": {"status": 403, "body": "no"},
            "redirect": {"status": 302, "body": "", "headers": {"Location": "/latest/meta-data/"}},
            "hang": {"delay_s": 6},
            "reset": {"reset": "start"},
            "half": {"half_close": True},
            "10 MB": {"status": 200, "body": "x" * 10_000_000, "headers": {"Content-Type": "text/plain"}},
            "slow": {"slow_s": 0.2},
        }
        def check(vendor, name):
            with Service(vendor, rules=[{"action": faults[name]}]) as service:
                self.assertIsNone(self.found(self.discover(service.url, TACHO_CLOUD_PROBE=vendor)))
                asked = service.requests()
                # A reset is tried once more, everything else never.
                self.assertEqual({asked.count(request) for request in asked}, {2 if name == "reset" else 1}, asked)
        self.each([(vendor, name) for vendor in ("aws", "gcp", "azure", "hcloud", "alicloud") for name in faults] +
                  [(vendor, name) for vendor in EXPECTED for name in ("html", "403", "reset", "10 MB")], check)

    def test_one_reset_is_forgiven(self):
        def check(vendor):
            with Service(vendor, rules=[{"match": {"nth": 1}, "action": {"reset": "start"}}]) as service:
                self.assertEqual(self.found(self.discover(service.url, TACHO_CLOUD_PROBE=vendor)), (vendor, *EXPECTED[vendor]))
        self.each([(vendor,) for vendor in EXPECTED], check)

    def test_precedence_not_speed(self):
        # Two answer: the slow one comes first in the order.
        with Service("hcloud", rules=[{"action": {"delay_s": 0.5}}]) as slow, Service("ovh") as fast:
            fields = self.discover(None, TACHO_CLOUD_PROBE="hcloud,ovh", TACHO_IMDS_HCLOUD_URL=slow.url, TACHO_IMDS_OVH_URL=fast.url)
            self.assertEqual(fields["cloud_vendor_id"], "hcloud")

    def test_a_server_with_a_short_queue(self):
        """Python's own listens with a queue of 5: who knocks beyond that is not heard for a second."""
        tables = {"gcp": {"/computeMetadata/v1/instance/machine-type": "projects/1/machineTypes/n2-standard-2",
                          "/computeMetadata/v1/instance/zone": "projects/1/zones/europe-west4-a",
                          "/computeMetadata/v1/project/project-id": "p", "/computeMetadata/v1/instance/id": "7"},
                  "ovh": {"/openstack/latest/network_data.json": '{"services":[{"type":"dns","address":"213.186.33.99"}]}',
                          "/openstack/latest/meta_data.json": '{"availability_zone":"eu-west-par-a","project_id":"p","uuid":"7"}',
                          "/latest/meta-data/instance-type": "b3-8"}}
        expected = {"gcp": ("gcp", "p", "europe-west4", "europe-west4-a", "n2-standard-2", "7"),
                    "ovh": ("ovh", "p", "EU-WEST-PAR", "eu-west-par-a", "b3-8", "7")}

        class Answers(http.server.BaseHTTPRequestHandler):
            table = {}

            def do_GET(self):  # noqa: N802
                body = self.table.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write(body)

            do_PUT = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        for vendor, table in tables.items():
            kind = type("Bound", (Answers,), {"table": table})
            with http.server.HTTPServer(("127.0.0.1", 0), kind) as server:
                threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
                for _ in range(3):
                    self.assertEqual(self.found(self.discover(f"http://127.0.0.1:{server.server_address[1]}")), expected[vendor])
                server.shutdown()

    def test_extra_vendors_are_not_sent_by_default(self):
        for vendor in ("digitalocean", "oracle", "linode", "scaleway", "exoscale"):
            with self.subTest(vendor), Service(vendor) as service:
                fields = self.discover(service.url, TACHO_CLOUD_EXTRA=None)
                self.assertIsNone(self.found(fields))
                self.assertNotEqual(fields.get("host_id"), EXPECTED[vendor][4])


class Aws(DiscoverCase):
    def test_version_1_where_tokens_are_refused_or_late(self):
        expected = ("aws", *EXPECTED["aws"])
        with Service("aws", mode="v1") as service:
            self.assertEqual(self.found(self.discover(service.url, TACHO_CLOUD_PROBE="aws")), expected)
            self.assertIn(("GET", "/latest/meta-data/"), service.requests())
        with Service("aws", mode="v1", rules=[{**TOKEN, "action": {"delay_s": 5}}]) as service:
            self.assertEqual(self.found(self.discover(service.url, TACHO_CLOUD_PROBE="aws")), expected)

    def test_a_token_that_takes_its_time(self):
        for vendor in ("aws", "alicloud", "linode"):
            with self.subTest(vendor), Service(vendor, rules=[{**TOKEN, "action": {"delay_s": 0.4}}]) as service:
                self.assertEqual(self.found(self.discover(service.url, TACHO_CLOUD_PROBE=vendor)), (vendor, *EXPECTED[vendor]))

    def test_a_token_that_is_none(self):
        bad = {"status": 200, "body": "two\r\nX-Evil: 1", "headers": {"Content-Type": "text/plain"}}
        for vendor in ("aws", "alicloud"):
            with self.subTest(vendor), Service(vendor, mode="v1", rules=[{**TOKEN, "action": bad}]) as service:
                self.assertEqual(self.found(self.discover(service.url, TACHO_CLOUD_PROBE=vendor)), (vendor, *EXPECTED[vendor]))
                self.assertFalse([entry for entry in service.log if "x-evil" in entry["headers"]])

    def test_single_values_without_a_document(self):
        for without in ("", *FIELDS):
            with self.subTest(without), Service("aws", mode="single", without=without) as service:
                expected = [None if field == without else value for field, value in zip(FIELDS, EXPECTED["aws"])]
                got = self.found(self.discover(service.url, TACHO_HOST_ID_VALUE="" if without == "id" else None))
                self.assertEqual(got, ("aws", *expected))

    def test_task_of_ecs(self):
        with Service("aws", mode="ecs") as service:
            fields = self.discover("http://127.0.0.1:1", ECS_CONTAINER_METADATA_URI_V4=service.url)
            self.assertEqual(self.found(fields)[:5], ("aws", "123456789012", "eu-west-1", "eu-west-1b", None))
            self.assertEqual(service.requests(), [("GET", "/task")])

    def test_switched_off_and_moved_by_its_own_variables(self):
        with Service("aws") as service:
            self.assertIsNone(self.found(self.discover(service.url, TACHO_CLOUD_PROBE="aws", AWS_EC2_METADATA_DISABLED="true")))
            self.assertEqual(service.requests(), [])
            self.assertEqual(self.discover(None, TACHO_CLOUD_PROBE="aws", AWS_EC2_METADATA_SERVICE_ENDPOINT=service.url + "/")
                             ["cloud_vendor_id"], "aws")


class Gcp(DiscoverCase):
    def test_cloud_run_has_no_machine_type(self):
        with Service("gcp", mode="run") as service:
            got = self.found(self.discover(None, TACHO_CLOUD_PROBE="gcp", GCE_METADATA_HOST=service.url.removeprefix("http://")))
        self.assertEqual(got, ("gcp", "my-project-7", "europe-west4", "europe-west4-a", None, EXPECTED["gcp"][4]))


class Privacy(DiscoverCase):
    def test_nothing_is_asked_when_switched_off(self):
        five = {"TACHO_CLOUD_VENDOR_ID": "gcp", "TACHO_CLOUD_ACCOUNT_ID": "", "TACHO_CLOUD_REGION_ID": "r",
                "TACHO_CLOUD_ZONE_ID": "z", "TACHO_CLOUD_INSTANCE_TYPE": "t"}
        for args, env in ((["--no-cloud"], {}), ([], {"TACHO_NO_CLOUD": "1"}), ([], {"TACHO_CLOUD_PROBE": "off"}),
                          ([], five), (["--hide", "cloud,host_id"], {}), ([], {"TACHO_HIDE": "cloud,private"})):
            with self.subTest(args=args, env=env), Service("aws") as service:
                fields = self.discover(service.url, *args, **env)
                self.assertEqual(service.requests(), [])
                clouds = {key: value for key, value in fields.items() if key.startswith("cloud_")}
                self.assertEqual(clouds, {} if env is not five else {
                    "cloud_vendor_id": "gcp", "cloud_region_id": "r", "cloud_zone_id": "z", "cloud_instance_type": "t"})

    def test_hiding_the_cloud_leaves_the_host_id(self):
        """The instance's number is the machine's id, whatever else of the cloud is shown; it is all that is asked for then."""
        for args, env in ((["--hide", "cloud"], {}), ([], {"TACHO_HIDE": "cloud"})):
            with self.subTest(args=args, env=env), Service("aws") as service:
                shown = self.discover(service.url)
                hidden = self.discover(service.url, *args, **env)
                self.assertTrue(shown["host_id"])
                self.assertEqual(hidden["host_id"], shown["host_id"])
                self.assertEqual([key for key in hidden if key.startswith("cloud_")], [])

    def test_explicit_values_beat_what_is_found(self):
        with Service("aws") as service:
            fields = self.discover(service.url, TACHO_CLOUD_REGION_ID="mine", TACHO_CLOUD_ACCOUNT_ID="", TACHO_HOST_ID_VALUE="box-1")
        self.assertEqual(self.found(fields), ("aws", None, "mine", "eu-west-1b", "t3a.nano", "box-1"))

    def test_hidden_fields_are_not_printed(self):
        with Service("aws") as service:
            fields = self.discover(service.url, "--hide", "private", "--hide=host-name,cloud_zone_id", TACHO_HIDE="host_vcpus")
        self.assertEqual({key for key in fields if key.startswith("cloud_")},
                         {"cloud_vendor_id", "cloud_region_id", "cloud_instance_type"})
        for key in ("host_id", "host_hostname", "host_ip", "host_vcpus"):
            self.assertNotIn(key, fields)
        self.assertIn("host_memory_mib", fields)

    def test_configuration_file_hides_too(self):
        os.chmod(self.dir, 0o755)
        self.write("tacho.toml", 'hide = ["cloud_account_id", "host_name"]\n')
        with Service("aws") as service:
            env = {"TACHO_NO_CLOUD": None, "TACHO_IMDS_URL": service.url, "TACHO_HIDE": "host_ip"}
            fields = json.loads(self.tacho("discover", "--json", "--hide", "host_vcpus", env=env).out)
            self.assertEqual(fields["cloud_region_id"], "eu-west-1")
            for key in ("cloud_account_id", "host_hostname", "host_ip", "host_vcpus"):
                self.assertNotIn(key, fields)
            named = self.write("other.toml", 'hide = ["cloud_region_id"]\n')
            for words in (["-c", named], [f"--config={named}"]):
                fields = json.loads(self.tacho("discover", *words, "--json", env=env).out)
                self.assertEqual(("cloud_region_id" in fields, "cloud_account_id" in fields), (False, True))
            refused = self.tacho("discover", "-c", self.path("absent.toml"), env=env)
            self.assertEqual((refused.rc, "absent.toml" in refused.err), (125, True), refused)
            service.asked.clear()
            self.write("tacho.toml", "no_cloud = true\n")
            self.assertIsNone(self.found(json.loads(self.tacho("discover", "--json", env=env).out)))
            self.assertEqual(service.requests(), [])

    def test_hashed_host_id(self):
        with Service("aws") as service:
            fields = self.discover(service.url, TACHO_HOST_ID="hash")
        self.assertNotEqual(fields.get("host_id"), EXPECTED["aws"][4])
        if "host_id" in fields:
            self.assertRegex(fields["host_id"], "^[0-9a-f]{32}$")

    def test_no_proxy_is_used(self):
        with Service("aws") as service, Service("gcp") as proxy:
            names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
            fields = self.discover(service.url, **{name: proxy.url for name in names})
            self.assertEqual(fields["cloud_vendor_id"], "aws")
            self.assertEqual(proxy.requests(), [])

    def test_bad_words(self):
        done = self.tacho("discover", "--hide", "host_ipp", program=DELIVER)
        self.assertEqual(done.rc, 125, done)
        self.assertIn("did you mean host_ip?", done.err)
        self.assertEqual(self.tacho("discover", "--colour", program=DELIVER).rc, 125)

    def test_text_for_people(self):
        with Service("hcloud") as service:
            done = self.tacho("discover", program=DELIVER, env={"TACHO_NO_CLOUD": None, "TACHO_IMDS_URL": service.url})
        self.assertRegex(done.out, r"(?m)^cloud_vendor_id +hcloud$")


class Later(DiscoverCase):
    def test_every_run_keeps_its_own_word(self):
        """Runs that could not be registered, delivered by one process without their variables."""
        wishes = [({}, [], ("aws", "123456789012", "eu-west-1", "eu-west-1b")), ({}, ["--no-cloud"], (None,) * 4),
                  ({"TACHO_CLOUD_PROBE": "off"}, [], (None,) * 4),
                  ({}, ["--hide", "cloud_region_id"], ("aws", "123456789012", None, "eu-west-1b")),
                  ({"TACHO_CLOUD_ACCOUNT_ID": " ", "TACHO_CLOUD_REGION_ID": "mine", "TACHO_CLOUD_ZONE_ID": "<b>"}, [], ("aws", None, "mine", None))]
        service = SentinelService()
        self.addCleanup(service.close)
        service.api_faults({"action": {"status": 500, "body": ""}})
        with Service("aws") as cloud:
            env = service.environment(TACHO_NO_CLOUD=None, TACHO_IMDS_AWS_URL=cloud.url, TACHO_SPOOL_DIR=self.path("spool"))
            for index, (variables, args, _) in enumerate(wishes):
                done = self.tacho("run", "-q", "--job-name", str(index), *args, "--", "true",
                                  env={**env, **variables, "TACHO_FINISH_TIMEOUT": "0"})
                self.assertEqual(done.rc, 0, done)
            service.api_faults()
            # A deliverer that is just ending still holds its run.
            until(lambda: self.tacho("deliver", "--all", env=env).rc == 0 and len(service.finished()) == len(wishes))
        keys = ("cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id")
        bodies = [run["start"] for run in service.finished()]
        self.assertEqual({body["job_name"]: tuple(body.get(key) for key in keys) for body in bodies},
                         {str(index): expected for index, (_, _, expected) in enumerate(wishes)})


class RealAddresses(DiscoverCase):
    """The default addresses and the firmware's word, in a network of its own where those addresses are the double's. No
    override is set here, the namespace alone keeps the questions on the machine: only when asked for."""

    def setUp(self):
        super().setUp()
        if os.environ.get("TACHO_E2E_NETNS") != "1":
            self.skipTest("set TACHO_E2E_NETNS=1 to use default addresses in a network namespace")
        if not IS_ROOT or not shutil.which("ip") or not can("unshare", "-n", "ip", "link", "set", "lo", "up"):
            self.skipTest("needs root, unshare and ip")
        os.makedirs(self.path("sys/class/dmi/id"))

    def inside(self, vendor, address, dmi, **env):
        for name, value in dmi.items():
            self.write("sys/class/dmi/id/" + name, value + "\n")
        script = (f"ip link set lo up && ip addr add {address}/32 dev lo && exec python3 {DOUBLES}/imds_double.py "
                  f"--address {address} --port 80 {vendor} -- {DELIVER} discover --json")
        done = self.tacho("-n", "sh", "-c", script, program="unshare",
                          env={"TACHO_NO_CLOUD": None, "TACHO_SYSFS_ROOT": self.path("sys"), **env})
        self.assertEqual(done.rc, 0, done)
        return self.found(json.loads(done.out))

    def test_the_firmware_leads_there(self):
        self.assertEqual(self.inside("aws", "169.254.169.254", {"sys_vendor": "Amazon EC2"}), ("aws", *EXPECTED["aws"]))

    def test_google_without_its_name(self):
        # There is no name server in here: the address has its turn.
        self.assertEqual(self.inside("gcp", "169.254.169.254", {"product_name": "Google Compute Engine"}), ("gcp", *EXPECTED["gcp"]))

    def test_alibaba_by_its_own_address(self):
        self.assertEqual(self.inside("alicloud", "100.100.100.200", {}), ("alicloud", *EXPECTED["alicloud"]))

    def test_a_known_maker_is_not_asked(self):
        self.assertIsNone(self.inside("azure", "169.254.169.254", {"sys_vendor": "Dell Inc."}))
        self.assertIsNone(self.inside("azure", "169.254.169.254", {"sys_vendor": "Hetzner"}))
        self.assertEqual(self.inside("azure", "169.254.169.254", {"sys_vendor": "Microsoft Corporation"}), ("azure", *EXPECTED["azure"]))

    def test_nobody_there(self):
        # Packets to those addresses get lost: silence is no error and no cloud.
        done = self.tacho("-n", "sh", "-c", f"ip link set lo up && ip route add 169.254.0.0/16 dev lo && "
                          f"ip route add 100.100.100.200 dev lo && {DELIVER} discover --json", program="unshare",
                          env={"TACHO_NO_CLOUD": None, "TACHO_SYSFS_ROOT": self.path("sys")})
        self.assertEqual((done.rc, done.err), (0, ""), done)
        self.assertIsNone(self.found(json.loads(done.out)))

    def test_found_once_a_boot(self):
        runtime = self.path("runtime")
        os.makedirs(runtime, 0o700)
        first = self.inside("aws", "169.254.169.254", {"sys_vendor": "Amazon EC2"}, XDG_RUNTIME_DIR=runtime)
        # Another service at the address now: nobody asks it.
        again = self.inside("azure", "169.254.169.254", {"sys_vendor": "Amazon EC2"}, XDG_RUNTIME_DIR=runtime)
        self.assertEqual((first, again), (("aws", *EXPECTED["aws"]),) * 2)
        self.assertEqual(os.stat(os.path.join(runtime, "tacho", "cloud.json")).st_mode & 0o777, 0o600)
