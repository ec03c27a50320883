"""Nothing that is not ours is touched, followed or obeyed: folders that are no spool, links, pipes and files of strangers in one, folders of other users, and
settings that somebody else planted (docs/security.md)."""
import fcntl
import json
import os
import shutil

from bigquery import crc32c
from support import IS_ROOT, until
from ownership_case import ROWS, Ownership, tree


class NoSpool(Ownership):
    def test_any_other_folder_is_refused(self):
        os.mkdir(self.path("d"), 0o700)
        self.write("d/thesis.txt", "x\n")
        os.mkdir(self.path("empty"), 0o700)
        os.mkdir(self.path("site"), 0o700)
        self.write("site/meta.json", '{"api_url": "https://example.org", "version": 1}')
        self.write("site/index.csv", "a,b\n1,2\n")
        os.mkdir(self.path("home"), 0o700)
        os.makedirs(self.path("home", "documents", "2026"))
        self.write("home/notes.txt", "n")
        before = {name: tree(self.path(name)) for name in ("d", "empty", "site", "home")}
        for name in before:
            for words, cwd in (((f"./{name}",), self.dir), ((f"./{name}/",), self.dir), ((self.path(name),), self.dir), (("./",), self.path(name)),
                               ((".",), self.path(name)), ((name,), self.dir)):
                with self.subTest(words=words, cwd=cwd):
                    done = self.deliver(*words, rc=125, cwd=cwd)
                    self.assertTrue("neither the folder of a run nor a spool" in done.err or "no such run" in done.err, done)
                    self.assertEqual({name: tree(self.path(name)) for name in before}, before)
        self.assertEqual(self.service.api.log, [])

    def test_names_of_the_spool_do_not_make_one(self):
        """lock, seals and 000001.csv are what other things are called, too."""
        shapes = {"zoo": {"lock": "mine", "seals": "mine", "thesis.txt": "x"}, "zoo2": {"lock": "mine", "seals": "mine", "000000.csv": "no newline", "state.json": "x"},
                  "20260101T000000Z-1-photos": {"000001.csv": "only a header\n", "a.jpg": "x"}, "empty-ones": {"lock": "", "seals": ""}}
        for name, files in shapes.items():
            os.mkdir(self.path(name), 0o700)
            for file, text in files.items():
                self.put(self.path(name), file, text)
            before = tree(self.path(name))
            with self.subTest(name):
                self.deliver(self.path(name), rc=125)
                self.assertEqual(tree(self.path(name)), before)

    def test_a_good_folder_beside_a_bad_one(self):
        folder = self.spool()
        os.mkdir(self.path("d"), 0o700)
        self.deliver(folder, self.path("d"), rc=125)
        self.assertEqual(len(os.listdir(folder)), 5)
        self.arrived(0)


class Runs(Ownership):
    def test_a_run_without_its_description_is_kept(self):
        folder = self.spool()
        os.unlink(os.path.join(folder, "meta.json"))
        os.unlink(os.path.join(folder, "seals"))
        before = tree(folder)
        for words in ((folder,), ("--all",)):
            self.assertIn(folder, self.deliver(*words, rc=1, env={"TACHO_SPOOL_DIR": self.root}).err)
            self.assertEqual(tree(folder), before)

    def test_rows_in_an_overflow_that_may_not_be_opened(self):
        folder = self.spool()
        name = os.path.basename(folder) + ".overflow"
        overflow = self.path("ov", name)
        os.makedirs(overflow, 0o700)
        text = "timestamp,a\n4.000,4\n"
        self.put(overflow, "000002.csv", text)
        self.put(overflow, "seals", f"000002 {len(text)} 1 {crc32c(text.encode()):08x}\n")
        self.put(folder, "overflow", overflow + "\n" + self.path("never", name) + "\n")
        os.chmod(self.path("ov"), 0o775)
        self.assertIn("ov", self.deliver(folder, rc=1).err)
        self.assertTrue(os.path.exists(folder))
        self.arrived(0)
        os.chmod(self.path("ov"), 0o700)
        self.deliver(folder)
        self.assertFalse(os.path.exists(overflow))
        self.assertEqual(self.service.rows(self.service.finished()[0]), [*ROWS, "4.000,4"])

    def test_an_overflow_of_a_folder_that_is_no_runs(self):
        folder = self.spool(name="thesis")
        os.makedirs(self.path("mine", "thesis.overflow"), 0o700)
        for name in ("lock", "000009.csv", "keep.txt"):
            self.put(self.path("mine", "thesis.overflow"), name, "mine\n")
        self.put(folder, "overflow", self.path("mine", "thesis.overflow") + "\n")
        before = tree(self.path("mine"))
        self.deliver(folder)
        self.assertEqual(tree(self.path("mine")), before)

    def test_a_copy_leaves_the_overflow_to_the_run(self):
        """Also of one that still runs: its rows on another disk are neither sent with the copy nor removed."""
        folder = self.spool()
        name = os.path.basename(folder)
        overflow = self.path("ov", name + ".overflow")
        os.makedirs(overflow, 0o700)
        text = "timestamp,a\n4.000,4\n"
        self.put(overflow, "000002.csv", text)
        self.put(overflow, "seals", f"000002 {len(text)} 1 {crc32c(text.encode()):08x}\n")
        self.put(folder, "overflow", f"{overflow}\nof {folder}\n")
        before = tree(self.path("ov")), tree(folder)
        os.mkdir(self.path("copies"), 0o700)
        shutil.copytree(folder, self.path("copies", name))
        with open(os.path.join(folder, "lock"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.deliver(self.path("copies", name))
            self.assertIn(f"is a copy of {folder}", done.err)
            self.assertEqual((tree(self.path("ov")), tree(folder)), before)
        self.arrived(1)
        self.deliver(folder)
        self.assertFalse(os.path.exists(overflow))
        self.assertIn([*ROWS, "4.000,4"], [self.service.rows(run) for run in self.service.finished()])

    def test_a_run_or_a_spool_with_several(self):
        self.deliver(self.spool(0))
        self.arrived(1)
        for number in (1, 2):
            self.spool(number)
        os.mkdir(os.path.join(self.root, "dead-letter"), 0o700)
        self.assertIn("2 delivered, 0 left", self.deliver(self.root + "/").out)
        self.arrived(3)
        self.assertEqual(os.listdir(self.root), ["dead-letter"])

    def test_from_within(self):
        for number, word in ((0, "."), (1, "./")):
            self.deliver(word, cwd=self.spool(number))
        self.arrived(2)
        self.assertEqual(os.listdir(self.root), [])

    def test_dashes_end_the_options(self):
        os.rename(self.spool(0), self.path("-copied"))
        self.deliver("-copied", rc=125, cwd=self.dir)
        self.deliver("--", "-copied", cwd=self.dir)
        self.assertIn('"delivered": 1', self.deliver("--json", "--", self.spool(1)).out)
        self.arrived(2)
        self.assertIn("exclude", self.deliver("--all", "--", self.spool(2), rc=125).err)
        for words in (["show", "--", "last"], ["help", "--", "show"], ["report", "-o", self.path("r.html"), "--", "last"], ["list", "--", "sinks"]):
            self.tacho("run", "-q", "--", "true")
            done = self.tacho(*words)
            self.assertEqual(done.rc, 0, done)
        self.assertIn("Usage: tacho show", self.tacho("help", "--", "show").out)

    def test_a_word_that_is_a_run_and_a_folder(self):
        """Which one is meant is known to the person alone: nothing is sent, and both are named."""
        env = {"TACHO_SPOOL_DIR": self.root}
        folder = self.spool(7)
        os.mkdir(self.path("5-0007"), 0o700)
        shutil.copytree(folder, self.path("20261115-0007"))     # all of the id, and a run that could be sent
        for word, run in (("5-0007", "20261115-0007"), ("20261115-0007", folder)):
            done = self.deliver(word, rc=125, env=env, cwd=self.dir)
            self.assertIn(f"for the run write {run}, for the folder ./{word}", done.err)
        self.arrived(0)
        shutil.rmtree(self.path("20261115-0007"))
        os.mkdir(self.path("20261115-0007"))                    # as in the run store: nothing that could be sent
        self.assertIn("1 delivered", self.deliver("20261115-0007", env=env, cwd=self.dir).out)
        self.deliver(os.path.basename(self.spool(1)), env=env, cwd=self.root)
        self.arrived(2)

    def test_a_job_that_is_a_folder_with_runs(self):
        self.tacho("run", "-q", "--job-name", "train", "--", "true")
        run = os.path.basename(self.run_folders()[0])
        os.mkdir(self.path("train"), 0o700)
        self.spool(0, root=self.path("train"))
        done = self.deliver("train", rc=125, cwd=self.dir)
        self.assertIn(f"for the run write {run}, for the folder ./train", done.err)
        self.deliver("./train", cwd=self.dir)
        self.arrived(1)

    def test_copies(self):
        folder = self.spool()
        shutil.copytree(folder, self.path("copied"))            # another name, in a folder that everybody may write to
        shutil.copytree(self.root, self.path("copied-root"))
        self.assertIn("1 delivered", self.deliver("./copied").out)
        self.assertIn("1 delivered", self.deliver("copied-root/").out)
        self.arrived(2)
        self.assertFalse(os.path.exists(self.path("copied")))
        self.assertEqual(os.listdir(self.path("copied-root")), [])
        self.assertEqual(len(os.listdir(folder)), 5)

    def test_a_damaged_description_is_kept_and_named(self):
        for text in ("", "{", "[]", '{"version": 1}', "\0" * 100):
            with self.subTest(text=text):
                folder = self.spool()
                self.put(folder, "meta.json", text)
                before = tree(folder)
                for words in ((folder,), (self.root,), ("--all",)):
                    done = self.deliver(*words, rc=1, env={"TACHO_SPOOL_DIR": self.root})
                    self.assertIn(folder, done.err)
                    self.assertIn("0 delivered, 1 left", done.out)
                    self.assertEqual(tree(folder), before)
                shutil.rmtree(folder)
        folder = self.spool()
        os.unlink(os.path.join(folder, "meta.json"))
        done = self.deliver(folder, rc=1)
        self.assertIn(folder, done.err)
        self.assertTrue(os.path.exists(os.path.join(folder, "000000.csv")))
        self.arrived(0)

    def test_what_a_killed_removal_left_goes(self):
        done = self.spool(0)
        hidden = os.path.join(self.root, ".delivered-" + os.path.basename(done))
        os.rename(done, hidden)
        kept = os.path.join(self.root, ".delivered-20261115T140009Z-1-aaaaaaaa")
        os.mkdir(kept, 0o700)
        self.put(kept, "thesis.txt", "mine")
        told = self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root})
        self.assertEqual(os.listdir(self.root), [os.path.basename(kept)])
        self.assertIn(kept, told.err)
        self.arrived(0)

    def test_bucket_runs_are_sent_by_the_next_run(self):
        """What a run left that goes straight to a bucket, another run for the same place sends; one for another place does not."""
        self.service.s3.config["credentials"]["AKIAME"] = {"secret_key": "secret"}
        env = self.env(SENTINEL_API_TOKEN=None, AWS_ACCESS_KEY_ID="AKIAME", AWS_SECRET_ACCESS_KEY="secret")
        self.service.s3_faults({"action": {"status": 503}})
        for bucket in ("s3://data/mine", "s3://data/other"):
            done = self.tacho("run", "-i", "0.1", "-o", bucket, "--", "true", env={**env, "TACHO_FINISH_TIMEOUT": "1"})
            self.assertEqual(done.rc, 0, done)
        spool = self.path("state", "tacho", "spool")
        self.assertEqual(len(os.listdir(spool)), 2)
        self.service.s3_faults()
        process = self.spawn("run", "-o", "s3://data/mine/", "--", "sleep", "60", env=env)

        def bucket_of(name):
            with open(os.path.join(spool, name, "meta.json"), encoding="utf-8") as file:
                return json.load(file)["bucket_uri"]

        def left():
            return sorted(bucket_of(name) for name in os.listdir(spool))
        self.assertTrue(until(lambda: left() == ["s3://data/mine/", "s3://data/other"], 40), left())
        process.terminate()
        process.wait()
        self.assertTrue(until(lambda: left() == ["s3://data/other"]))
        ids = {json.load(open(os.path.join(folder, "run.json"), encoding="utf-8"))["id"] for folder in self.run_folders()}
        stored = {name.split("/")[2] for name in self.service.s3.listing()}
        self.assertEqual(len(stored & ids), 2, (stored, ids))


if not IS_ROOT:
    print("test_ownership: not root, so nothing is checked with a second user")
