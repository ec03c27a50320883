"""What lies in a spool is half, damaged, doubled, of another version or on another disk: every whole row arrives once, what cannot be sent is kept and named."""
import json
import os
import shutil

from bigquery import BigQuery, crc32c, metrics_record, runtime_record
from support import until
from ownership_case import ROWS, Ownership, tree

HEADER = "timestamp,a"


def csv_text(*rows):
    return "\n".join([HEADER, *rows]) + "\n"


def seal(number, text, rows):
    return f"{number:06} {len(text)} {rows} {crc32c(text.encode()):08x}\n"


class Csv(Ownership):
    def sent(self):
        done = self.service.finished()
        self.assertEqual(len(done), 1, self.service.runs())
        return self.service.rows(done[0])

    def test_an_overflow_is_no_run(self):
        """Its run may be alive and writing to it: it is sent with that one only, whatever is named."""
        folder = self.spool()
        overflow = self.path("ov", os.path.basename(folder) + ".overflow")
        os.makedirs(overflow, 0o700)
        text = csv_text("4.000,4")
        self.put(overflow, "000002.open", text)
        self.put(overflow, "seals", seal(9, text, 1))
        shutil.copy(os.path.join(folder, "meta.json"), overflow)
        self.put(folder, "overflow", f"{overflow}\nof {folder}\n")
        before = tree(self.path("ov"))
        for words in ((overflow,), (self.path("ov"),), (".",)):
            with self.subTest(words):
                done = self.deliver(*words, rc=125, cwd=overflow)
                self.assertEqual(tree(self.path("ov")), before, done)
        self.assertIn(os.path.basename(folder), self.deliver(overflow, rc=125).err)
        self.assertIn("0 delivered, 0 left", self.deliver(self.path("ov"), env={"TACHO_SPOOL_DIR": self.path("ov")}).out)
        self.assertEqual(self.service.api.log, [])
        self.deliver(folder)
        self.assertEqual(self.sent(), [*ROWS, "4.000,4"])
        self.assertFalse(os.path.exists(overflow))

    def test_numbers_of_a_seal_that_cannot_be(self):
        for line in ("000000 26 9000000000000000000 00000000\n", "000000 -1 -5 00000000\n", "000000 9000000000000000000 9000000000000000000 00000000\n"):
            with self.subTest(line):
                folder = self.spool()
                with open(os.path.join(folder, "seals"), encoding="utf-8") as file:
                    lines = file.readlines()
                self.put(folder, "seals", line + lines[1])
                self.deliver(folder)
                self.assertEqual(self.sent(), ROWS)
                self.service.api.runs.clear()

    def test_what_was_made_by_a_newer_tacho_is_left(self):
        for member, text, kind in (("meta.json", {"version": 2}, "service"), ("meta.json", {"kind": "carrier-pigeon"}, "service"), ("state.json", {"version": 2}, "service"),
                                   ("meta.json", {"version": 7, "bucket_uri": "s3://data/mine", "api_url": "", "s3_endpoint": None}, "bucket")):
            with self.subTest(member=member, text=text):
                folder = self.spool(**(text if member == "meta.json" else {}), **({} if "kind" in text else {"kind": kind}))
                if member == "state.json":
                    self.put(folder, "state.json", json.dumps({"run_id": "r", "prefix": "", "phase": "finished", "uploaded": {}, **text}))
                before = tree(folder)
                for words in ((folder,), ("--all",)):
                    done = self.deliver(*words, rc=1, env={"TACHO_SPOOL_DIR": self.root, "AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret"})
                    self.assertIn(folder, done.err)
                    self.assertIn("newer tacho", done.err)
                    self.assertEqual({name: what for name, what in tree(folder).items() if name in before}, before)
                self.assertEqual((self.service.api.log, self.service.s3.listing()), ([], {}))
                shutil.rmtree(folder)

    def test_a_run_of_months_is_left_and_sent_later(self):
        """Its meta.json then has as many entries as its batches, each twice."""
        count = 60_000
        uris = {str(i): f"s3://data/mine/20261115-0000/{i:06}.csv.gz" for i in range(count)}
        folder = self.spool(sealed=list(range(count)), uploaded=uris)
        self.deliver(folder)
        self.assertEqual(self.sent(), ROWS)

    def test_rows_behind_a_damaged_line(self):
        """A power cut may leave a block of zeros in the middle: rows before and behind it arrive."""
        folder = self.spool()
        self.put(folder, "000002.open", csv_text("4.000,4", "\0" * 20, "5.0", "6.000,6", "7.00"))
        self.assertIn("000002.open", self.deliver(folder).err)
        self.assertEqual(self.sent(), [*ROWS, "4.000,4", "6.000,6"])

    def test_a_damaged_batch_that_no_store_has(self):
        folder = self.spool()
        self.put(folder, "000000.csv", csv_text("1.000,1", "2.0\0\0,2", "2.000,2"))
        self.assertIn("000000.csv", self.deliver(folder).err)
        self.assertEqual(self.sent(), ROWS)

    def test_a_state_that_cannot_be_read_is_said(self):
        for text in ("", "{", '{"run_id": "r1", "uploaded": {"0"'):
            with self.subTest(text):
                folder = self.spool()
                self.put(folder, "state.json", text)
                done = self.deliver(folder)
                self.assertIn("state.json", done.err)
                self.assertEqual(self.sent(), ROWS)
                self.service.api.runs.clear()

    def test_a_bucket_run_without_an_id_is_kept(self):
        """Its objects would have the names of everybody's."""
        self.service.s3.config["credentials"]["AKIAME"] = {"secret_key": "secret"}
        env = {"AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret"}
        folder = self.spool(api_url="", bucket_uri="s3://data/mine", run="")
        before = tree(folder)
        self.assertIn(folder, self.deliver(folder, rc=1, env=env).err)
        self.assertEqual((tree(folder), self.service.s3.listing()), (before, {}))

    def test_a_description_without_a_header(self):
        """The batches have it."""
        folder = self.spool(header="")
        self.deliver(folder)
        self.assertEqual(self.service.finished()[0]["finish"]["data_csv"].splitlines(), [HEADER, *ROWS])

    def test_an_open_segment_twice(self):
        """Killed between sealing and removing: the rows are there once, whichever was longer."""
        folder = self.spool()
        whole = csv_text("4.000,4", "5.000,5")
        self.put(folder, "000002.open", whole + "6.00")
        self.put(folder, "000002.csv", whole)
        with open(os.path.join(folder, "seals"), "a", encoding="utf-8") as file:
            file.write(seal(2, whole, 2))
        self.deliver(folder)
        self.assertEqual(self.sent(), [*ROWS, "4.000,4", "5.000,5"])

    def test_a_strangers_file_in_a_run_that_was_delivered(self):
        """The folder stays for that file's sake, and nobody says that rows are left."""
        process = self.spawn("run", "-i", "0.1", "--", "sleep", "60", env=self.env(TACHO_SPOOL_DIR=self.root))
        self.assertTrue(until(lambda: os.listdir(self.root)))
        folder = os.path.join(self.root, os.listdir(self.root)[0])
        self.assertTrue(until(lambda: os.path.exists(os.path.join(folder, "state.json"))))
        self.put(folder, "thesis.txt", "mine")
        process.terminate()
        _, err = process.communicate(timeout=60)
        self.assertEqual(os.listdir(folder), ["thesis.txt"])
        self.assertIn("did not make", err)
        self.assertNotIn("not delivered", err)
        self.assertEqual(len(self.service.finished()), 1)


class Records(BigQuery):
    def test_an_open_segment_whose_first_record_is_damaged(self):
        """What it holds is known by its run, not by its first letters."""
        records = [metrics_record(self.now_us + i * 1_000_000, i) for i in range(3)]
        spool = self.spool([[runtime_record(self.now_us)]], open_tail=b"\0" * 100 + b"\n" + b"".join(records) + b"12 torn")
        self.deliver(spool)
        self.check(rows=3)

    def test_numbers_of_a_seal_that_cannot_be(self):
        spool = self.spool()
        with open(os.path.join(spool.folder, "seals"), encoding="utf-8") as file:
            words = file.read().split()
        for bytes_, rows in ((words[1], "9000000000000000000"), (words[1], "-1"), ("9000000000000000000",) * 2):
            with self.subTest(rows):
                if not os.path.exists(spool.folder):
                    spool = self.spool()
                spool.write("seals", f"{words[0]} {bytes_} {rows} {words[3]}\n".encode())
                self.deliver(spool)
                self.check()

    def test_a_state_of_numbers_that_no_segment_has(self):
        """4294967296 is not segment 0."""
        spool = self.spool()
        spool.write("state.json", json.dumps({"version": 1, "done": [4294967296], "partial": {"0": {"crc": -1, "rows": "0-99"}}}).encode())
        self.deliver(spool)
        self.check()

    def test_a_newer_state_is_left(self):
        for name, text in (("state.json", {"version": 2, "done": [0]}), ("meta.json", {"version": 2})):
            with self.subTest(name):
                spool = self.spool()
                spool.write(name, json.dumps({**(spool.meta if name == "meta.json" else {}), **text}).encode())
                self.assertIn("newer tacho", self.deliver(spool, rc=1).err)
                self.assertEqual(self.cloud.calls("insertAll"), [])
                shutil.rmtree(spool.folder)

    def test_a_torn_dead_letter(self):
        """What could be written of the last one before a power cut does not swallow the next."""
        os.makedirs(self.path("spool", "dead-letter"), 0o700)
        os.chmod(self.path("spool"), 0o700)
        self.write("spool/dead-letter/20261115T140000Z-1-00000000.jsonl", '{"time":"2026', 0o600)
        spool = self.spool([[runtime_record(self.now_us), metrics_record(self.now_us, 0, mem_used_gb="no number")]])
        self.deliver(spool)
        with open(self.path("spool", "dead-letter", "20261115T140000Z-1-00000000.jsonl"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(json.loads(lines[1])["row"]["mem_used_gb"], "no number")
