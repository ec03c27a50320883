#!/usr/bin/env python3
"""A price list of servers as strict as the real one: units, ranges and the application's name are checked on every request."""
import json
import urllib.parse

import faults
from faults import json_answer

SERVERS = [
    {"vendor_id": "gcp", "server_id": "e2-micro", "api_reference": "e2-micro", "name": "e2-micro", "display_name": "e2-micro", "vcpus": 2,
     "memory_amount": 1024, "gpu_count": 0, "gpu_memory_total": 0, "min_price": 0.003, "min_price_spot": 0.003, "min_price_ondemand": 0.0084},
    {"vendor_id": "aws", "server_id": "t4g.small", "api_reference": "t4g.small", "name": "t4g.small", "display_name": "t4g.small", "vcpus": 2,
     "memory_amount": 2048, "gpu_count": 0, "gpu_memory_total": 0, "min_price": 0.01, "min_price_spot": None, "min_price_ondemand": 0.0168},
]
REGIONS = [{"vendor_id": "gcp", "region_id": "1000", "name": "us-central1", "api_reference": "us-central1", "aliases": []}]
PRICES = [{"region_id": region, "zone_id": "a", "operating_system": "Linux", "allocation": "ondemand", "unit": "hour", "price": price, "currency": "USD"}
          for region, price in (("1000", 0.0099), ("1100", 0.0084))]
SEARCH = {"vcpus_min", "memory_min", "order_by", "order_dir", "limit", "gpu_min", "gpu_memory_total", "vendor", "vendor_regions", "architecture"}


class Handler(faults.Handler):
    def answer(self, body):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if self.command != "GET" or self.headers.get("X-Application-ID") != "tacho":
            return json_answer(400, {"detail": "who asks?"})
        if url.path == "/table/region":
            return json_answer(200, REGIONS)
        if url.path.startswith("/server/") and url.path.endswith("/prices"):
            return json_answer(200, PRICES)
        if url.path != "/servers":
            return json_answer(404, {"detail": "Not Found"})
        if not set(query) <= SEARCH or not 1 <= int(query.get("vcpus_min", 1)) <= 256 or float(query.get("memory_min", 0)) > 24576:
            return json_answer(422, {"detail": json.dumps(query)})
        found = [server for server in SERVERS
                 if server["vcpus"] >= int(query["vcpus_min"]) and server["memory_amount"] >= float(query.get("memory_min", 0)) * 1024
                 and query.get("vendor", server["vendor_id"]) == server["vendor_id"]]
        return json_answer(200, found[:int(query.get("limit", 25))])


def main():
    options = faults.arguments("A price list of servers.").parse_args()
    faults.serve(Handler, faults.Double(faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
