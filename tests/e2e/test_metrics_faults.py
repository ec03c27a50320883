"""Receivers of metrics at their worst, and what must be survived: nothing lost, nothing said twice, nobody held up."""
import email.utils
import json
import os
import time

from metrics import MetricsCase
from support import marked_pids, until


class Answers(MetricsCase):
    def test_an_answer_counts_when_its_head_is_there(self):
        for do in ({"stall_s": 8}, {"body": "x" * (5 << 20)}):
            with self.subTest(do=list(do)):
                for kind in ("prometheus", "otlp") if "body" in do else ("prometheus",):
                    self.rules({"match": {"method": "POST"}, "action": {"do": do}})
                    self.receiver.bodies.clear()
                    self.go("true", kind=kind)
                    self.assertEqual(len(self.receiver.bodies), 1, "nothing is sent again")
                    self.assertEqual(self.spools(), [])

    def test_a_lost_answer_of_a_receiver_that_takes_nothing_twice(self):
        """The repeated request is out of order but for the newest of each series: all of it is there, and none is refused."""
        strict = {"match": {"from": 2}, "action": {"do": {"in_order": True}}}
        self.rules({"match": {"nth": 1}, "action": {"reset": "answer"}}, strict)
        done = self.go(options=("--strict", "--upload-interval", "30s"), TACHO_FINISH_TIMEOUT="60")
        self.check()
        self.assertEqual(self.letters(), [])
        self.assertNotIn("does not take", done.err)

    def test_a_lost_answer_and_a_sample_that_is_refused(self):
        """Where older ones of a series are taken, one that is called out of order was not there: it is kept."""
        refuse = {"action": {"do": {"refuse": {"name": "tacho_job_exit_code"}}}}
        self.rules({"match": {"nth": 1}, "action": {"reset": "start"}}, refuse)
        done = self.go(options=("--upload-interval", "30s"), TACHO_FINISH_TIMEOUT="60")
        self.check()
        self.assertIn("out of order sample", done.err)
        with open(self.letters()[0], encoding="utf-8") as file:
            self.assertIn("tacho_job_exit_code{", file.read())

    def test_a_refusal_with_a_long_body_is_a_refusal(self):
        self.rules({"action": {"status": 400, "body": "<html>" + "no " * (2 << 20)}})
        self.go("true")
        self.assertEqual(self.spools(), [])
        self.assertEqual(len(self.letters()), 1)

    def test_broken_gzip_behind_a_good_head(self):
        self.rules({"action": {"do": {"body": "no gzip at all", "headers": {"Content-Encoding": "gzip"}}}})
        self.go("true", kind="otlp")
        self.assertEqual(len(self.receiver.log), 1)
        self.assertEqual(self.spools(), [])

    def test_retry_after(self):
        for wish in ("2", "date", "soon"):
            with self.subTest(wish=wish):
                wish = email.utils.formatdate(time.time() + 3, usegmt=True) if wish == "date" else wish
                self.rules({"match": {"nth": 1}, "action": {"status": 429, "headers": {"Retry-After": wish}}})
                self.receiver.log.clear()
                self.go("true")
                self.assertEqual(self.spools(), [])
                times = [entry["time"] for entry in self.receiver.log]
                self.assertEqual(len(times), 2)
                if wish != "soon":
                    self.assertGreater(times[1] - times[0], 1.5)

    def test_a_wrong_setting_in_mid_run_does_not_hold_the_end_up(self):
        self.rules({"action": {"status": 403}})
        begun = time.monotonic()
        self.go("sleep", "1.5", options=("--upload-interval", "0.5s"))
        self.assertLess(time.monotonic() - begun, 15, "the whole budget of the end went by")
        self.assertEqual(len(self.receiver.log), 2, "once when it was found out, once at the end")
        self.assertEqual(len(self.spools()), 1)

    def test_everything_is_refused(self):
        self.rules({"action": {"status": 400, "message": "out of bounds\x1b[31m"}})
        done = self.go("sleep", "2", TACHO_FINISH_TIMEOUT="60")
        self.assertEqual(self.spools(), [])
        self.assertEqual(done.err.count("out of bounds"), 1)
        self.assertNotIn("\x1b", done.err)
        lines = open(self.letters()[0], encoding="utf-8").read().splitlines()
        self.assertEqual(lines.pop(), "# EOF")
        self.assertEqual(len(lines), len(set(lines)))
        rows = [line for line in lines if line.startswith("tacho_job_memory_bytes{")]
        self.assertEqual([float(line.split()[-2]) for line in rows], [float(row["process_memory_mib"]) * 2 ** 20 for row in self.rows()])

    def test_what_cannot_be_kept_waits(self):
        self.go("true", options=("--deliver", "later"))
        self.write("state/tacho/spool/dead-letter", "in the way")
        self.rules({"action": {"status": 400}})
        follower = self.spawn("deliver", "--follow")
        self.assertTrue(until(lambda: len(self.receiver.log) > 20))
        follower.terminate()
        self.assertIn("dead-letter", follower.communicate(timeout=20)[1])
        self.assertEqual(len(self.spools()), 1)
        os.unlink(self.path("state", "tacho", "spool", "dead-letter"))
        self.assertEqual(self.tacho("deliver").rc, 0)
        self.assertEqual(self.spools(), [])
        self.assertEqual(len(self.letters()), 1)

    def test_otlp_is_halved_or_kept(self):
        self.rules({"action": {"do": {"most": 9000}}})
        self.go("sleep", "1", kind="otlp", fragment="#encoding=json")
        times = [point["timeUnixNano"] for request in self.receiver.requests
                 for metric in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] if metric["name"] == "process.uptime"
                 for point in metric["gauge"]["dataPoints"]]
        self.assertEqual(times, [str(round(float(row["timestamp"]) * 1000) * 10 ** 6) for row in self.rows()])
        self.assertEqual(self.letters(), [])
        self.rules({"action": {"status": 400}})
        self.receiver.log.clear()
        self.go("true", kind="otlp", fragment="#gzip=0")
        self.assertEqual(len(self.receiver.log), 1, "not repeated")
        self.assertEqual(len([json.loads(line) for line in open(self.letters()[0], encoding="utf-8")]), 1)

    def test_partial_success_of_some(self):
        self.rules({"action": {"do": {"body": json.dumps({"partialSuccess": {"rejectedDataPoints": "2", "errorMessage": "two"}}),
                                      "type": "application/json"}}})
        for fragment in ("#encoding=json", ""):  # JSON in answer to what is none, too
            self.go("true", kind="otlp", fragment=fragment, options=("--strict",), rc=125)
        self.go("true", kind="otlp", fragment="#encoding=json", options=("--deliver", "later"))
        line = json.loads(self.tacho("deliver", "--json").out.splitlines()[0])
        self.assertEqual((line["state"], line["refused"]), ("delivered", 2))


class Labels(MetricsCase):
    def test_names_that_are_no_names(self):
        for name, seen in (("a\nb\"c\\d", "a\nb\"c\\d"), ("x" * 10000, "x" * 64), ("é" * 40, "é" * 32), ("\x01t\x7f", " t ")):
            with self.subTest(name=name[:10]):
                self.receiver.series.clear()
                self.go("true", options=("-n", name))
                self.assertEqual({dict(key)["job_name"] for key in self.receiver.series}, {seen})

    def test_labels_that_are_refused(self):
        for label in ("job=x", "__a=1", "1a=2", "instance=x", "job_name=x", "mode=x", "a=" + "x" * 129, "a", "=b"):
            self.refused(self.tacho("run", "-o", self.place(), "--metric-label", label, "--", "true"))
        done = self.tacho("run", "-o", self.place(), *(f"--metric-label=l{n}={n}" for n in range(11)), "--", "true")
        self.refused(done)
        self.assertEqual(self.spools(), [])

    def test_two_jobs_of_one_name_side_by_side(self):
        both = [self.spawn("run", "-i", "0.1", "-n", "same", "-o", self.place(), "--", "sleep", "0.5") for _ in range(2)]
        self.assertEqual([one.wait(30) for one in both], [0, 0])
        for folder in self.run_folders():
            self.check(folder)
        self.assertEqual(self.receiver.twice, 0)


class Secrets(MetricsCase):
    SECRETS = {"TACHO_PROMETHEUS_TOKEN": "sehr-geheim", "TACHO_PROMETHEUS_HEADERS": "X-Team=sehr-geheim-2", "TACHO_DEBUG_HTTP": "1"}

    def seen(self):
        """Where the secret can be read while things run, by whoever is the same user."""
        found = []
        for pid in marked_pids(self.mark):
            for name in ("environ", "cmdline"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        text = file.read()
                except OSError:
                    continue
                found += [(pid, name)] if b"sehr-geheim" in text else []
        for folder, _, names in os.walk(self.path("state")):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        found += [name] if b"sehr-geheim" in file.read() else []
                except OSError:
                    pass
        return found

    def test_nobody_sees_them(self):
        run = self.spawn("run", "-i", "0.1", "--upload-interval", "0.3s", "-o", self.place(), "--", "sleep", "1.5", env=self.SECRETS)
        self.assertTrue(until(lambda: self.receiver.log))
        self.assertEqual(self.seen(), [])
        out, err = run.communicate(timeout=30)
        self.assertIn("x-team: ***", err.lower())
        self.assertNotIn("sehr-geheim", out + err)
        self.assertEqual(self.receiver.log[0]["headers"]["x-team"], "sehr-geheim-2")

    def test_the_job_finds_none_at_its_parent(self):
        for outputs in ((), ("-o", self.place()), ("-o", self.place(), "--deliver", "later")):
            done = self.tacho("run", "-q", *outputs, "--", "sh", "-c", "cat /proc/$PPID/environ; env", env={**self.SECRETS, "TACHO_DEBUG_HTTP": None})
            self.assertIn("TACHO_E2E_MARK", done.out)
            self.assertNotIn("sehr-geheim", done.out, outputs)

    def test_nobody_sees_those_of_a_follower(self):
        follower = self.spawn("deliver", "--follow", env={**self.SECRETS, "TACHO_PROMETHEUS_URL": self.server.url})
        self.go("true", options=("--deliver", "later"))
        self.assertTrue(until(lambda: self.receiver.log))
        self.assertEqual(self.seen(), [])
        follower.terminate()
        self.assertNotIn("sehr-geheim", "".join(follower.communicate(timeout=20)))

    def test_a_spooled_file_does_not_decide_where_they_go(self):
        thief, elsewhere = self.another_receiver()
        self.go("true", options=("--deliver", "later"))
        meta = os.path.join(self.spools()[0], "meta.json")
        with open(meta, encoding="utf-8") as file:
            text = file.read()
        with open(meta, "w", encoding="utf-8") as file:
            file.write(text.replace(self.server.url, elsewhere.url))
        env = {**self.SECRETS, "TACHO_PROMETHEUS_URL": self.server.url}
        self.assertIn("left alone", self.tacho("deliver", "--all", env=env).err)
        follower = self.spawn("deliver", "--follow", env=env)
        # One whose outputs are ours sends leftovers of the same place only.
        self.go("sleep", "0.6", options=("--upload-interval", "0.2s"), **self.SECRETS)
        follower.terminate()
        follower.communicate(timeout=20)
        self.assertEqual(thief.log, [])
        self.assertEqual(len(self.spools()), 1)

    def test_a_redirect_to_another_port_is_not_followed(self):
        thief, elsewhere = self.another_receiver()
        self.rules({"action": {"status": 307, "headers": {"Location": elsewhere.url + "/x"}}})
        self.go("true", **self.SECRETS)
        self.assertEqual(thief.log, [])
        self.assertEqual(len(self.spools()), 1)

    def test_headers_that_frame_a_request_are_refused(self):
        done = self.go("true", kind="otlp", OTEL_EXPORTER_OTLP_HEADERS="content-length=1,x-key=sehr-geheim")
        self.assertEqual(self.receiver.log, [])
        self.assertIn("OTEL_EXPORTER_OTLP_HEADERS", done.err)
        self.assertNotIn("sehr-geheim", done.err)
