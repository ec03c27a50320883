#!/usr/bin/env python3
"""Metadata services of thirteen clouds, in the shapes that the real ones answer with.

In a test:      with Service("aws", without="zone") as service: … service.url … service.requests()
By itself:      imds_double.py [--address A] [--port N] [--mode M] [--without FIELD] VENDOR [-- COMMAND …]
                serves until stdin ends, or while COMMAND runs, and ends with its status.

Tokens are new for every service and must come back; a question without the header that the real service wants is refused. Faults
are those of faults.py. What must never be asked for (user data, keys, credentials, whole trees) is answered and remembered:
`forbidden()` lists it.

Modes: ""       as the cloud does by default
       v1       aws, alicloud: no tokens are given or wanted
       single   aws: no identity document
       ecs      aws: the task metadata of ECS, at /task
       run      gcp: as Cloud Run, without a machine type
       wrong    answers in the right shape, but says that it is somebody else
"""
import argparse
import json
import re
import secrets
import subprocess
import sys
import threading

import faults
from faults import Answer, json_answer

FIELDS = ("account", "region", "zone", "type", "id")
# What a full answer means: account, region, zone, type, id.
EXPECTED = {
    "aws": ("123456789012", "eu-west-1", "eu-west-1b", "t3a.nano", "i-0a1b2c3d4e5f60718"),
    "gcp": ("my-project-7", "europe-west4", "europe-west4-a", "e2-standard-2", "1234567890123456789"),
    "azure": ("8d10da13-8125-4ba9-a717-bf7490507b3d", "westeurope", "2", "Standard_D2s_v5", "02aab8a4-74ef-476e-8182-f6d2ba4166a6"),
    "hcloud": (None, "eu-central", "hel1-dc2", None, "42424242"),
    "upcloud": (None, "de-fra1", "de-fra1", None, "00c78863-db86-44ab-9ba5-bd1c4a3a2f4d"),
    "vultr": (None, "ewr", "ewr", None, "b6b3a1f5-8a7c-4ed9-9d4f-e3ba0bf9cbc5"),
    "alicloud": ("1609876543210987", "cn-hangzhou", "cn-hangzhou-i", "ecs.g7.large", "i-bp67acfmxazb4p000001"),
    "ovh": ("0f1e2d3c4b5a69788796a5b4c3d2e1f0", "EU-WEST-PAR", "eu-west-par-a", "b3-8", "d8e02d56-2648-49a3-bf97-6be8f1204f38"),
    "digitalocean": (None, "fra1", None, None, "289794365"),
    "oracle": ("ocid1.tenancy.oc1..aaaatenant", "eu-frankfurt-1", "EMIr:EU-FRANKFURT-1-AD-1", "VM.Standard.E4.Flex",
               "ocid1.instance.oc1.eu-frankfurt-1.aaaainstance"),
    "linode": (None, "us-ord", None, "g6-nanode-1", "12345678"),
    "scaleway": ("d98f5b1a-0000-4a4a-8f8f-1a2b3c4d5e6f", "fr-par", "fr-par-1", "DEV1-S", "6a9e1b2c-0000-4e4e-9a9a-0f1e2d3c4b5a"),
    "exoscale": (None, "ch-gva-2", "ch-gva-2", "standard.medium", "8a3c1d2e-0000-4b4b-8c8c-9d8e7f6a5b4c"),
}
FORBIDDEN = re.compile(r"user-?data|vendor-?data|security-credentials|service-?account|attributes|recursive|public-?keys|ssh|password|/token\?",
                       re.I)


class Cloud:
    """What one service knows. A value that is `without` is not there at all."""

    def __init__(self, vendor, mode="", without=""):
        self.vendor, self.mode = vendor, mode
        self.token = secrets.token_urlsafe(24) + "=="
        self.values = dict(zip(FIELDS, EXPECTED[vendor]))
        if without:
            self.values[without] = None
        self.get = self.values.get

    def document(self, **names):
        """{name: value} of those values that there are; a tuple is taken as it is."""
        return {name: value[0] if isinstance(value, tuple) else self.get(value) for name, value in names.items()
                if isinstance(value, tuple) or self.get(value) is not None}

    def answer(self, request):
        """request: method, path (with query), headers in lower case."""
        return getattr(self, self.vendor)(request) or Answer(404, "<html><h1>404 - Not Found</h1></html>", content_type="text/html")

    def text(self, value):
        return None if value is None else Answer(200, value, content_type="text/plain")

    def tokens(self, request, path, lifetime, header):
        """Answers a request for a token, or one that came without it; None when the request may go on."""
        if self.mode == "v1":
            return Answer(405, "") if request.method == "PUT" else None
        if request.path == path:
            good = request.method == "PUT" and request.headers.get(lifetime, "").isdigit() and "x-forwarded-for" not in request.headers
            return self.text(self.token) if good else Answer(400, "")
        return None if request.headers.get(header) == self.token else Answer(401, "")

    def aws(self, request):
        if self.mode == "ecs":
            return self.ecs(request)
        refused = self.tokens(request, "/latest/api/token", "x-aws-ec2-metadata-token-ttl-seconds", "x-aws-ec2-metadata-token")
        if refused:
            return refused
        document = self.document(accountId="account", region="region", availabilityZone="zone", instanceType="type", instanceId="id",
                                 architecture=("x86_64",), privateIp=("10.0.0.7",), billingProducts=(None,))
        if request.path == "/latest/dynamic/instance-identity/document" and self.mode != "single":
            return self.text(json.dumps(document, indent=2))
        info = '{\n  "Code" : "Success",\n  "LastUpdated" : "2024-05-05T05:05:05Z",\n  "AccountId" : "%s"\n}'
        return self.text({
            "/latest/meta-data/": "ami-id\nhostname\ninstance-id\ninstance-type\nplacement/\nservices/",
            "/latest/meta-data/services/domain": "wolke.example" if self.mode == "wrong" else "amazonaws.com",
            "/latest/meta-data/placement/region": self.get("region"),
            "/latest/meta-data/placement/availability-zone": self.get("zone"),
            "/latest/meta-data/instance-type": self.get("type"),
            "/latest/meta-data/instance-id": self.get("id"),
            "/latest/meta-data/identity-credentials/ec2/info": info % self.get("account") if self.get("account") else None,
        }.get(request.path))

    def ecs(self, request):
        if request.path == "/task":
            arn = f"arn:aws:ecs:eu-west-1:{self.get('account') or ''}:task/default/158d1c8083dd49d6b527399fd6414f5c"
            return json_answer(200, {"Cluster": "default", "TaskARN": arn, "LaunchType": "FARGATE", **self.document(AvailabilityZone="zone")})
        return None

    def gcp(self, request):
        if request.headers.get("metadata-flavor") != "Google":
            return Answer(403, "Missing Metadata-Flavor:Google header.", content_type="text/html")
        def path(kind, name):
            return f"projects/987654321098/{kind}/{name}" if name else None
        zone = self.get("zone")
        value = {
            "/computeMetadata/v1/instance/machine-type": path("machineTypes", self.get("type")) if self.mode != "run" else None,
            "/computeMetadata/v1/instance/zone": path("zones", zone),
            "/computeMetadata/v1/instance/region": path("regions", self.get("region")) if self.mode == "run" else None,
            "/computeMetadata/v1/project/project-id": self.get("account"),
            "/computeMetadata/v1/instance/id": self.get("id"),
        }.get(request.path)
        flavor = {"Metadata-Flavor": "Moogle" if self.mode == "wrong" else "Google", "Server": "Metadata Server for VM"}
        return Answer(200 if value else 404, value or "", flavor, "application/text")

    def azure(self, request):
        if request.path != "/metadata/instance?api-version=2021-02-01" or request.headers.get("metadata") != "true":
            return Answer(400, '{"error": "Bad request"}', content_type="application/json")
        if self.mode == "wrong":
            return json_answer(200, {"compute": {"vmId": "", "vmSize": ""}, "network": {}})
        compute = self.document(subscriptionId="account", location="region", zone="zone", vmSize="type", vmId="id", osType=("Linux",))
        return json_answer(200, {"compute": {"zone": "", **compute}, "network": {"interface": []}})

    def hcloud(self, request):
        if request.path != "/hetzner/v1/metadata":
            return None
        keys = self.document(**{"availability-zone": "zone", "hostname": ("box",), "instance-id": "id", "region": "region"})
        if self.mode == "wrong":
            keys.pop("instance-id")
        return self.text("".join(f"{key}: {value}\n" for key, value in keys.items()) +
                         "network-config:\n  config:\n  - mac_address: 96:00:00:00:00:01\n    region: nested\n  version: 1\npublic-keys: []\nvendor_data: |\n  x\n")

    def upcloud(self, request):
        if request.path == "/metadata/v1.json":
            return json_answer(200, self.document(cloud_name=("otter" if self.mode == "wrong" else "upcloud",), instance_id="id",
                                                  region="region", hostname=("box",), platform=("servers",), tags=([],)))
        return None

    def vultr(self, request):
        if request.path != "/v1.json":
            return None
        region = {"regioncode": self.get("region").upper()} if self.get("region") else {}
        document = self.document(**{"instance-v2-id": "id", "hostname": ("box",), "interfaces": ([],)})
        return json_answer(200, document if self.mode == "wrong" else {**document, "region": region, "instanceid": "49977213"})

    def alicloud(self, request):
        refused = self.tokens(request, "/latest/api/token", "x-aliyun-ecs-metadata-token-ttl-seconds", "x-aliyun-ecs-metadata-token")
        if refused:
            return refused
        return self.text({"/latest/meta-data/region-id": "Nowhere!" if self.mode == "wrong" else self.get("region"),
                          "/latest/meta-data/instance/instance-type": self.get("type"), "/latest/meta-data/zone-id": self.get("zone"),
                          "/latest/meta-data/owner-account-id": self.get("account"),
                          "/latest/meta-data/instance-id": self.get("id")}.get(request.path))

    def ovh(self, request):
        if request.path == "/openstack/latest/network_data.json":
            dns = ["192.0.2.53"] if self.mode == "wrong" else ["192.0.2.53", "213.186.33.99"]
            return json_answer(200, {"links": [], "networks": [], "services": [{"type": "dns", "address": address} for address in dns]})
        if request.path == "/openstack/latest/meta_data.json":
            return json_answer(200, {"availability_zone": "nova", "name": "box", **self.document(project_id="account",
                                     availability_zone="zone", uuid="id")})
        return self.text(self.get("type")) if request.path == "/latest/meta-data/instance-type" else None

    def digitalocean(self, request):
        if request.path == "/metadata/v1.json":
            document = self.document(region="region", hostname=("box",), interfaces=({},))
            if self.get("id") and self.mode != "wrong":
                document["droplet_id"] = int(self.get("id"))
            return json_answer(200, document)
        return None

    def oracle(self, request):
        if request.path != "/opc/v2/instance/" or request.headers.get("authorization") != "Bearer Oracle":
            return None
        if self.mode == "wrong":
            return json_answer(200, {"id": "i-1", "shape": "round"})
        return json_answer(200, self.document(tenantId="account", canonicalRegionName="region", availabilityDomain="zone", shape="type", id="id"))

    def linode(self, request):
        if request.method == "GET" and request.headers.get("accept") != "application/json":
            return Answer(406, "")
        refused = self.tokens(request, "/v1/token", "metadata-token-expiry-seconds", "metadata-token")
        if refused:
            return refused
        if request.path == "/v1/instance":
            document = self.document(region="region", type="type", label=("box",), host_uuid=("a1b2",))
            if self.get("id") and self.mode != "wrong":
                document["id"] = int(self.get("id"))
            return json_answer(200, document)
        return None

    def scaleway(self, request):
        if request.path != "/conf?format=json":
            return None
        if self.mode == "wrong":
            return json_answer(200, {"id": "x", "zone": "fr-par-1"})
        zone = self.get("zone") if self.get("region") else None
        return json_answer(200, {**self.document(organization="account", commercial_type="type", id="id", hostname=("box",)),
                                 **({"zone": zone} if zone else {})})

    def exoscale(self, request):
        zone = self.get("zone") if self.get("region") else None
        return self.text({"/latest/meta-data/": "availability-zone\ncloud-identifier\ninstance-id\nservice-offering",
                          "/latest/meta-data/availability-zone": "zone1" if self.mode == "wrong" else zone,
                          "/latest/meta-data/service-offering": self.get("type"),
                          "/latest/meta-data/instance-id": self.get("id")}.get(request.path))


class Request:
    def __init__(self, method, path, headers):
        self.method, self.path, self.headers = method, path, headers


class Service(faults.Double):
    """One cloud's service on an address; a context manager."""

    def __init__(self, vendor, mode="", without="", rules=(), address="127.0.0.1", port=0):
        super().__init__(rules)
        self.cloud = Cloud(vendor, mode, without)
        self.asked = []

        class Handler(faults.Handler):
            double = self

            def do_GET(self):
                with self.double.lock:  # now: the log has it when it is answered
                    self.double.asked.append((self.command, self.path))
                self.handle_request()

            do_PUT = do_POST = do_GET

            def answer(self, body):
                headers = {name.lower(): value for name, value in self.headers.items()}
                return self.double.cloud.answer(Request(self.command, self.path, headers))

        self.server = faults.Server((address, port), Handler)
        self.url = "http://%s:%d" % self.server.server_address[:2]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def requests(self):
        """(method, path) of everything that was asked."""
        with self.lock:
            return list(self.asked)

    def forbidden(self):
        return [path for _, path in self.requests() if FORBIDDEN.search(path)]


def main():
    parser = argparse.ArgumentParser(description="The metadata service of a cloud.")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--mode", default="")
    parser.add_argument("--without", default="", choices=("", *FIELDS))
    parser.add_argument("vendor", choices=sorted(EXPECTED))
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    with Service(options.vendor, options.mode, options.without, (), options.address, options.port) as service:
        if options.command:
            return subprocess.run(options.command, check=False).returncode
        print(service.url, flush=True)
        sys.stdin.read()
        return 0


if __name__ == "__main__":
    sys.exit(main())
