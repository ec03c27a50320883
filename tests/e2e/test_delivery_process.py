"""The processes of a delivery: what is left when one of them dies, how a run is recovered, and what the job sees of it all."""
import glob
import json
import os
import signal
import subprocess
import time

import delivery_case
from support import SANITIZED, can, marked_pids, until
from delivery_case import Delivery


class Process(Delivery):
    def with_bucket(self):
        """For a run that goes to the service and straight to a bucket: environment and options."""
        self.service.s3.config.setdefault("credentials", {})["AKIAME"] = {"secret_key": "secret"}
        return {**self.env(), "AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret"}, ("-o", "s3://data/mine")

    def test_no_token_no_connection(self):
        env = self.env()
        env["SENTINEL_API_TOKEN"] = "  "
        done = self.tacho("run", "--", "sh", "-c", "ps --ppid $PPID -o comm=", env=env)
        self.assertEqual((done.rc, done.out.split()), (0, ["sh"]), done)
        self.assertEqual(self.service.api.log + self.service.s3.log, [])
        self.assertFalse(os.path.exists(self.path("state", "tacho", "spool")))

    def test_job_sees_neither_token_nor_deliverer(self):
        script = "env; cat /proc/$PPID/environ /proc/$PPID/cmdline; ls -l /proc/self/fd; sleep 0.5; " \
                 "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c sentinel-secret"
        self.use({"tokens": ["sentinel-secret"]})
        done = self.tacho("run", "-i", "0.1", "--", "bash", "-c", script, env={**self.env(), "SENTINEL_API_TOKEN": "sentinel-secret"})
        self.assertNotIn("sentinel-secret", done.out.replace("grep -c sentinel-secret", ""), done)
        self.check()
        counts = {int(row.split(",")[22] or 0) for row in self.local_rows()}
        self.assertIn(1, counts)  # the sleep alone; a row may also meet the three of the last line
        self.assertLessEqual(max(counts), 3)

    def test_no_tick_waits_for_the_disk(self):
        if SANITIZED or not can("strace", "-V"):
            self.skipTest("no strace here")
        # The disk takes two seconds for the first segment.
        slow = ["strace", "-f", "-qq", "-o", self.path("trace"), "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=2000000:when=1"]
        done = self.tacho("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "2.5", env=self.env(), wrap=slow)
        self.assertEqual(done.rc, 0, done)
        self.assertIn("DELAYED", self.read("trace"))
        times = [float(row.split(",")[0]) for row in self.local_rows()]
        self.assertLess(max(later - before for before, later in zip(times, times[1:])), 1.5)
        self.check("s3")

    def test_no_secret_in_the_spool(self):
        self.use({"tokens": ["sentinel-secret"]})
        env = {**self.env(TACHO_FINISH_TIMEOUT="1"), "SENTINEL_API_TOKEN": "sentinel-secret"}
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"status": 500}})
        done = self.tacho("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "1.5", env=env)
        self.assertEqual(done.rc, 0, done)
        folder = self.spools()[0]
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        keys = [secret for key, value in self.service.api.credentials.items() for secret in (key, value["secret_key"], value["session_token"])]
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for secret in ["sentinel-secret", *keys]:
                self.assertNotIn(secret, text, name)
        self.service.api_faults()
        self.deliver(folder, SENTINEL_API_TOKEN="sentinel-secret")
        self.check("s3")

    def test_killed_tacho_is_closed(self):
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "30", env=self.env())
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 2))
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"delay_s": 0.5}})
        process.send_signal(signal.SIGKILL)
        # Nobody has waited for it yet, so it is still listed; its deliverer is, and so does this wait for that one.
        self.assertNotIn("recorded", self.deliver("--all").err)
        self.assertEqual(self.spools(), [])
        process.wait()
        run = self.the_finished()
        self.assertEqual(run["finish"]["run_status"], "failed")
        self.assertNotIn("exit_code", run["finish"])
        rows, local = self.service.rows(run), self.local_rows()
        self.assertEqual(rows[:len(local)], local)
        self.assertLessEqual(len(rows), len(local) + 1)
        self.end_marked()

    def killed_with_its_deliverer(self, torn=b""):
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "30", env=self.env())
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 2))
        time.sleep(0.5)
        self.end_marked()
        process.wait()
        self.assertTrue(until(lambda: not marked_pids(self.mark)))
        if torn:
            path = glob.glob(os.path.join(self.spools()[0], "*.open"))[0]
            with open(path, "ab") as file:
                file.write(torn)

    def test_recovery(self):
        self.killed_with_its_deliverer()
        self.deliver("--all")
        run = self.the_finished()
        rows, local = self.service.rows(run), self.local_rows()
        self.assertEqual(rows[:len(local)], local)
        self.assertLessEqual(len(rows), len(local) + 1)
        self.assertEqual(run["finish"]["run_status"], "failed")
        self.assertEqual(self.spools(), [])

    def test_by_name(self):
        """RUN as everywhere: by job name through the store, by a part of the id also where the store does not know it."""
        self.service.api_faults({"action": {"status": 500}})
        for words in (["--job-name", "train"], ["--no-store"], ["--no-store"]):
            self.assertEqual(self.tacho("run", *words, "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="0.2")).rc, 0)
        self.assertEqual(len(self.spools()), 3)
        self.service.api_faults()
        ids = []
        for folder in self.spools():
            with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
                ids.append(json.load(file)["run"])
        done = self.tacho("deliver", ids[0][:8], env=self.env())
        self.assertEqual(done.rc, 125, done)
        for name in ids:
            self.assertIn(name[:13], done.err)
        self.deliver("train")
        self.assertEqual(len(self.spools()), 2)
        mine = os.path.basename(self.run_folders()[0])
        self.deliver([name for name in ids if name != mine][0][11:17])
        self.assertEqual(len(self.spools()), 1)

    def test_torn_tail(self):
        self.killed_with_its_deliverer(torn=b"1794752420.471,10")
        done = self.deliver("--all")
        self.assertIn("17 bytes", done.err)
        rows = self.service.rows(self.the_finished())
        self.assertFalse(any(row.startswith("1794752420.471,10") for row in rows))
        self.assertEqual(rows[:len(self.local_rows())], self.local_rows())

    def test_damaged_segment(self):
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"status": 500}})
        self.service.s3_faults({"action": {"status": 500}})
        done = self.tacho("run", "-i", "0.1", "--", "sleep", "0.5", env=self.env(TACHO_FINISH_TIMEOUT="1"))
        self.assertEqual(done.rc, 0, done)
        path = glob.glob(os.path.join(self.spools()[0], "*.csv"))[0]
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.truncate(size - 20)
        self.service.api_faults()
        done = self.deliver("--all")
        self.assertIn("checksum", done.err)
        self.assertEqual(self.service.rows(self.the_finished()), self.local_rows())  # which has the same rows

    def test_next_tacho_sends_what_is_left(self):
        self.killed_with_its_deliverer()
        done = self.tacho("run", "-i", "0.1", "--", "sleep", "2", env=self.env())
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(len(self.service.finished()), 2)
        self.assertEqual(self.spools(), [])

    def test_other_service_is_left_alone(self):
        self.killed_with_its_deliverer()
        other = delivery_case.Service()  # by its module: a real server may stand behind it
        self.addCleanup(other.close)
        done = self.tacho("deliver", "--all", env={**self.env(), "SENTINEL_API_URL": other.api_server.url})
        self.assertIn("SENTINEL_API_URL", done.err)
        self.assertEqual((other.api.log, len(self.spools())), ([], 1))

    def test_unknown_run_is_new_only_when_named(self):
        self.killed_with_its_deliverer()
        for run in self.service.runs().values():
            run["forgotten"] = True
        self.deliver("--all", rc=1)
        self.assertEqual(len(self.spools()), 1)
        self.deliver(self.spools()[0])
        self.assertEqual((len(self.service.finished()), self.spools()), (1, []))

    def test_two_recoverers(self):
        self.killed_with_its_deliverer()
        both = [self.spawn("deliver", "--all", env=self.env()) for _ in range(2)]
        for process in both:
            self.assertEqual(process.wait(60), 0, process.stderr.read())
        run = self.the_finished()
        self.assertEqual((run["finishes"], self.spools()), (1, []))

    def test_sigterm_with_the_server_down(self):
        self.service.api_faults({"action": {"delay_s": 20}})
        process = self.spawn("run", "-i", "0.1", "--", "sleep", "30", env=self.env())
        self.assertTrue(until(self.spools))
        time.sleep(0.5)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -15)
        self.assertLess(time.monotonic() - begun, 12)
        self.assertEqual(len(self.spools()), 1)
        self.assertIn(self.spools()[0], err)

    def test_strict(self):
        self.service.api_faults({"action": {"status": 500}})
        done = self.tacho("run", "--strict", "--", "true", env=self.env(TACHO_FINISH_TIMEOUT="1"))
        self.assertEqual(done.rc, 125, done)
        done = self.tacho("run", "--strict", "--", "sh", "-c", "exit 4", env=self.env(TACHO_FINISH_TIMEOUT="1"))
        self.assertEqual(done.rc, 4, done)

    def test_two_runs_at_once(self):
        both = [self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sleep", "2.5", env=self.env()) for _ in range(2)]
        for process in both:
            self.assertEqual(process.wait(60), 0, process.stderr.read())
        remote = sorted(self.service.rows(run) for run in self.service.finished())
        self.assertEqual(remote, sorted(self.local_rows(folder) for folder in self.run_folders()))

    def test_wrong_token(self):
        env = {**self.env(), "SENTINEL_API_TOKEN": "wrong"}
        done = self.tacho("run", "--", "sleep", "0.3", env=env)
        self.assertEqual(done.rc, 0, done)
        self.assertIn("SENTINEL_API_TOKEN", done.err)
        self.assertEqual(len(self.spools()), 1)
        self.deliver("--all")
        self.check()

    def test_token_with_a_line_break(self):
        env, to_bucket = self.with_bucket()
        done = self.tacho("run", *to_bucket, "--", "true", env={**env, "SENTINEL_API_TOKEN": "a\nb"})
        self.assertEqual(done.rc, 0, done)
        self.assertIn("line break", done.err)
        self.assertEqual((self.service.api.log, len(self.spools())), ([], 1))
        self.assertEqual(len(self.service.s3.objects), 1)  # what needs no token is sent

    def test_credentials_of_a_program(self):
        _, to_bucket = self.with_bucket()
        os.mkdir(self.path(".aws"))
        program = self.path("my creds")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n{ env; ls -l /proc/self/fd; } > \"$1\"\n"
                       "echo '{\"Version\":1,\"AccessKeyId\":\"AKIAME\",\"SecretAccessKey\":\"secret\"}'\n")
        os.chmod(program, 0o755)
        with open(self.path(".aws", "config"), "w", encoding="utf-8") as file:
            file.write(f'[profile mine]\ncredential_process = "{program}" {self.path("seen")}\n')
        self.use({"tokens": ["sesame"]}, {"credentials": self.service.s3.config["credentials"]})
        env = {**self.env(), "SENTINEL_API_TOKEN": "sesame", "HOME": self.path(), "AWS_PROFILE": "mine"}
        done = self.tacho("run", *to_bucket, "--", "true", env=env)
        self.assertEqual((done.rc, self.spools(), len(self.service.s3.objects)), (0, [], 1), done)
        with open(self.path("seen"), encoding="utf-8") as file:
            seen = file.read()
        self.assertIn("AWS_PROFILE=mine", seen)
        self.assertNotIn("sesame", seen)
        self.assertNotIn("/spool/", seen)  # a lock that it held would never be free

    def test_missing_program(self):
        tacho = self.path("tacho")
        subprocess.run(["cp", self.command([])[0], tacho], check=True)
        done = self.tacho("run", "--", "true", env=self.env(), program=tacho)
        self.assertEqual((done.rc, len(self.spools())), (0, 1), done)
        self.assertIn("tacho-deliver", done.err)
        self.assertEqual(done.err.count("tacho: "), 2, done)  # the warning and the summary

    def test_command_not_found_leaves_nothing(self):
        done = self.tacho("run", "--", "/no/such/program", env=self.env())
        self.assertEqual((done.rc, self.spools(), self.service.api.log), (127, [], []), done)

    def test_full_disk(self):
        self.need_root()
        small = self.path("small")
        os.mkdir(small)
        self.need("cannot mount", "mount", "-t", "tmpfs", "-o", "size=40k", "none", small)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        done = self.tacho("run", "-i", "0.01", "--", "sleep", "3", env=self.env(TACHO_SPOOL_DIR=small))
        self.assertEqual(done.rc, 0, done)
        self.assertIn("takes no more", done.err)
        self.check()

    def test_read_only_spool_folder(self):
        done = self.tacho("run", "--", "true", env=self.env(TACHO_SPOOL_DIR="/proc/no"))
        self.assertEqual(done.rc, 0, done)
        self.assertIn("TACHO_SPOOL_DIR", done.err)
        self.check()

    def test_deliverer_is_killed(self):
        go = self.path("go")
        process = self.spawn("run", "-i", "0.1", "--upload-interval", "1", "--", "sh", "-c", f"until test -e {go}; do sleep 0.1; done", env=self.env())
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 2))  # the first one is in the state by now
        first = self.deliverer()
        os.kill(first, signal.SIGKILL)
        self.assertTrue(until(lambda: len(self.service.s3.objects) >= 4))  # while the job runs
        self.assertNotEqual(self.deliverer(), first)
        self.service.api_faults({"match": {"path": ".*/finish"}, "action": {"status": 503, "headers": {"Retry-After": "20"}}})
        with open(go, "w", encoding="utf-8"):
            pass
        self.assertTrue(until(lambda: any(entry["path"].endswith("/finish") for entry in self.service.api.log)))
        self.service.api_faults()
        os.kill(self.deliverer(), signal.SIGKILL)  # while tacho waits for it
        self.assertEqual(process.wait(30), 0)
        err = process.stderr.read()
        self.assertEqual(err.count("started again"), 1, err)
        self.assertNotIn("not delivered", err)
        self.check("s3")
        with open(os.path.join(self.run_folders()[0], "run.json"), encoding="utf-8") as file:
            self.assertIn("SIGKILL", " ".join(json.load(file)["notes"]))

    def test_watch(self):
        process = self.spawn("watch", "-i", "0.1", env=self.env())
        self.assertTrue(until(self.service.runs))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        finish = self.check()["finish"]
        self.assertEqual(finish["run_status"], "finished")
        self.assertNotIn("exit_code", finish)
