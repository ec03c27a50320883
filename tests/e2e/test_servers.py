"""tacho advise --servers: the cheapest servers that are large enough, and what happens when nobody answers."""
import json

from service import Running, faults
from stored_runs import make_run
from support import Case

import keeper_double  # service.py has put the doubles into the path


class Servers(Case):
    def setUp(self):
        super().setUp()
        self.double = faults.Double((), None)
        self.keeper = Running(keeper_double.Handler, self.double)
        make_run(self.store, "20261115-000000000001", cores=0.4, peak_bytes=50 << 20)

    def tearDown(self):
        self.keeper.close()
        super().tearDown()

    def advise(self, *words, url=None):
        return self.tacho("advise", "last", *words, env={"TACHO_KEEPER_URL": self.keeper.url if url is None else url})

    def test_cheapest_first(self):
        advice = json.loads(self.advise("--servers", "--json").out)
        self.assertEqual([server["server_id"] for server in advice["servers"]], ["e2-micro", "t4g.small"])
        self.assertEqual(advice["servers"][0]["usd_per_hour"], 0.0084)
        self.assertNotIn("spot_usd_per_hour", advice["servers"][1])
        self.assertEqual(advice["advice"]["cpu"]["advised"], 1)
        path = self.double.log[-1]["path"]
        self.assertIn("vcpus_min=1&memory_min=0.1&", path + str(self.double.log[-1]))
        text = self.advise("--servers").out
        self.assertIn("  memory     63 MiB", text)
        self.assertIn("  server     gcp e2-micro  ($0.0084 an hour on demand; 2 vCPUs, 1 GiB)\n", text)
        only = json.loads(self.advise("--servers", "--json", "--vendor", "aws").out)["servers"]
        self.assertEqual([server["server_id"] for server in only], ["t4g.small"])

    def test_price_of_a_region(self):
        done = self.advise("--json", "--vendor", "gcp", "--region", "us-central1")
        self.assertEqual([(s["region_id"], s["usd_per_hour"]) for s in json.loads(done.out)["servers"]], [("1000", 0.0099)])
        done = self.advise("--json", "--vendor", "gcp", "--region", "mars")
        self.assertEqual([s["usd_per_hour"] for s in json.loads(done.out)["servers"]], [0.0084])
        self.assertIn("mars is not in the price list", done.err)
        done = self.advise("--region", "us-central1")
        self.assertEqual(done.rc, 125)
        self.assertIn("--vendor", done.err)

    def test_nobody_is_asked_unless_told_to(self):
        done = self.advise("--json", url="")
        self.assertNotIn("servers", json.loads(done.out))
        self.assertEqual(self.double.log, [])

    def test_trouble(self):
        two_bad = [{"match": {"path": "/servers", "to": 2}, "action": {"status": 503}}]
        cases = (("temporary", two_bad, 3, True), ("limited", [{"match": {}, "action": {"status": 429}}], 3, False),
                 ("refused", [{"match": {}, "action": {"status": 422}}], 1, False),
                 ("no JSON", [{"match": {}, "action": {"status": 200, "body": "<html>"}}], 1, False),
                 ("empty", [{"match": {}, "action": {"status": 200, "body": "[]"}}], 1, False))
        for name, rules, calls, answered in cases:
            with self.subTest(name):
                self.double.rules.replace(rules)
                self.double.log.clear()
                done = self.advise("--servers")
                self.assertEqual(done.rc, 0, done)
                self.assertEqual("server   " in done.out, answered, done)
                self.assertIn("63 MiB", done.out)
                self.assertEqual(len(self.double.log), calls, done)
        done = self.advise("--servers", "--json", url="http://127.0.0.1:1")
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(json.loads(done.out)["advice"]["memory"]["advised"], 63)
        self.assertIn("no prices of servers", done.err)
        done = self.advise("--servers", url="http://example.com")
        self.assertIn("http", done.err)
        self.assertEqual(done.rc, 0, done)
