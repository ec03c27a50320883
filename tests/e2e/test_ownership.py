"""Nothing that is not ours is touched, followed or obeyed: folders that are no spool, links, pipes and files of strangers in one, folders of other users, and
settings that somebody else planted (docs/security.md)."""
import fcntl
import json
import os
import shutil
import stat

from bigquery import Cloud, Spool, crc32c, metrics_record, runtime_record, service_account
from service import Service
from support import BUILD, IS_ROOT, Case, until

ROWS = ["1.000,1", "2.000,2", "3.000,3"]
OTHER = 65534


def tree(folder):
    """All that is below: name, kind, owner and content, for a comparison before and after."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            info = os.lstat(path)
            text = os.readlink(path) if stat.S_ISLNK(info.st_mode) else None
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    text = file.read()
            found[os.path.relpath(path, folder)] = (stat.S_IFMT(info.st_mode), info.st_uid, text)
    return found


class Ownership(Case):
    weight = 2

    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.close)
        self.root = self.path("spools")
        os.mkdir(self.root, 0o700)
        os.mkdir(self.path("victim"), 0o700)
        for name in ("thesis.txt", "000000.csv", "meta.json", "lock"):
            self.write("victim/" + name, f"precious {name}\n", 0o600)
        self.victim = tree(self.path("victim"))

    def env(self, **more):
        return self.service.environment(**more)

    def spool(self, number=0, root=None, name=None, **meta):
        """A killed run for the service: three rows in two sealed segments."""
        folder = os.path.join(root or self.root, name or f"20261115T14000{number}Z-{number + 1}-0a1b2c3d")
        os.makedirs(folder, 0o700)
        self.put(folder, "meta.json", json.dumps({"version": 1, "run": f"20261115-{number:04}", "api_url": self.env()["SENTINEL_API_URL"], "bucket_uri": "",
                                                  "no_cloud": True, "header": "timestamp,a", "start": {"job_name": f"job{number}"},
                                                  "outcome": {"run_status": "finished", "exit_code": 0, "finished_at": "2026-11-15T14:00:03Z"}, **meta}))
        seals = ""
        for segment, rows in enumerate((ROWS[:2], ROWS[2:])):
            text = "\n".join(["timestamp,a", *rows]) + "\n"
            self.put(folder, f"{segment:06}.csv", text)
            seals += f"{segment:06} {len(text)} {len(rows)} {crc32c(text.encode()):08x}\n"
        self.put(folder, "seals", seals)
        self.put(folder, "lock", "999999\n")
        return folder

    @staticmethod
    def put(folder, name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), 0o600)

    def deliver(self, *args, rc=0, env=None, **keywords):
        done = self.tacho("deliver", *args, env=self.env(**(env or {})), **keywords)
        self.assertEqual(done.rc, rc, done)
        self.assertEqual(tree(self.path("victim")), self.victim, done)
        return done

    def arrived(self, count):
        done = self.service.finished()
        self.assertEqual(len(done), count, self.service.runs())
        for run in done:
            self.assertEqual(self.service.rows(run), ROWS)


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


class Strangers(Ownership):
    def test_a_strangers_file_stays(self):
        folder = self.spool()
        self.put(folder, "thesis.txt", "mine")
        os.symlink(self.path("victim", "thesis.txt"), os.path.join(folder, "link"))
        os.mkfifo(os.path.join(folder, "pipe"))
        os.mkdir(os.path.join(folder, "sub"))
        done = self.deliver(folder)
        self.arrived(1)
        self.assertIn("1 delivered", done.out)
        self.assertIn(folder, done.err)
        self.assertEqual(sorted(os.listdir(folder)), ["link", "pipe", "sub", "thesis.txt"])
        # It is nobody's run any more.
        self.deliver(folder, rc=125)
        self.assertIn("0 delivered, 0 left", self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root}).out)

    def test_links_and_pipes_are_neither_followed_nor_waited_for(self):
        for name in ("meta.json", "lock", "seals", "000000.csv", "state.json", "overflow"):
            for kind in ("link", "pipe", "hard", "folder"):
                with self.subTest(name=name, kind=kind):
                    folder = self.spool()
                    path = os.path.join(folder, name)
                    if os.path.exists(path):
                        os.unlink(path)
                    victim = self.path("victim", name if name in ("meta.json", "lock", "000000.csv") else "thesis.txt")
                    if kind == "link":
                        os.symlink(victim, path)
                    elif kind == "pipe":
                        os.mkfifo(path)
                    elif kind == "hard":
                        os.link(victim, path)
                    else:
                        os.mkdir(path)
                    done = self.tacho("deliver", folder, env=self.env(TACHO_FINISH_TIMEOUT="1"))
                    # state.json and overflow are the spool's own memory: without them all is sent, and what is there stays.
                    self.assertEqual(done.rc, 0 if name in ("state.json", "overflow") else 1, done)
                    self.assertTrue(os.path.lexists(path), done)
                    self.assertIn(folder, done.err)
                    self.assertEqual({name: (kind, uid, text) for name, (kind, uid, text) in tree(self.path("victim")).items()}, self.victim, done)
                    shutil.rmtree(folder)

    def test_a_link_for_a_folder(self):
        folder = self.spool()
        os.rename(folder, self.path("victim", "run"))
        self.victim = tree(self.path("victim"))
        os.symlink(self.path("victim", "run"), folder)
        for words in ((folder,), (folder + "/",)):
            self.assertIn("symbolic link", self.deliver(*words, rc=125).err)
        for words in ((self.root,), ("--all",)):
            self.assertIn("symbolic link", self.deliver(*words, rc=1, env={"TACHO_SPOOL_DIR": self.root}).err)
        os.unlink(folder)
        os.rmdir(self.root)
        os.symlink(self.path("victim"), self.root)
        self.assertIn("symbolic link", self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root}).err)
        self.assertIn("symbolic link", self.deliver(self.root, rc=125).err)
        done = self.tacho("run", "--", "true", env=self.env(TACHO_SPOOL_DIR=self.root))
        self.assertEqual(done.rc, 0, done)
        self.assertIn("TACHO_SPOOL_DIR", done.err)
        self.assertEqual(tree(self.path("victim")), self.victim)

    def test_an_open_folder_is_not_trusted(self):
        for mode in (0o770, 0o707, 0o777):
            folder = self.spool()
            os.chmod(folder, mode)
            before = tree(self.root)
            self.assertIn("chmod go-w", self.deliver(folder, rc=125).err)
            self.assertIn(folder, self.deliver("--all", rc=1, env={"TACHO_SPOOL_DIR": self.root}).err)
            os.chmod(folder, 0o700)
            os.chmod(self.root, mode)
            self.assertIn("0 delivered", self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root}).out)
            self.deliver(self.root, rc=125)
            self.assertEqual(tree(self.root), before)
            os.chmod(self.root, 0o700)
            shutil.rmtree(folder)
        self.assertEqual(self.service.api.log, [])

    def test_a_planted_store_folder_is_not_written_to(self):
        self.write("victim/run.json", '{"id": "another", "precious": true}', 0o600)
        self.victim = tree(self.path("victim"))
        self.deliver(self.spool(store_folder=self.path("victim")))
        self.arrived(1)


class OtherUsers(Ownership):
    def setUp(self):
        super().setUp()
        self.need_root()

    def give(self, *paths):
        for path in paths:
            for top, folders, files in os.walk(path):
                for name in folders + files:
                    os.lchown(os.path.join(top, name), OTHER, OTHER)
            os.lchown(path, OTHER, OTHER)

    def programs_for_all(self):
        """Where another user may start them: a checkout may be in a home that is closed."""
        os.makedirs(self.path("bin"))
        for program in ("tacho", "tacho-deliver"):
            shutil.copy(os.path.join(BUILD, "bin", program), self.path("bin"))
        return self.path("bin", "tacho")

    def test_folders_of_others_are_left_alone(self):
        """As root: `sudo tacho deliver --all` where another user planted a run, and a whole spool."""
        folder = self.spool()
        self.give(folder)
        before = tree(self.root)
        self.assertIn("another user", self.deliver(folder, rc=125).err)
        self.assertIn(folder, self.deliver("--all", rc=1, env={"TACHO_SPOOL_DIR": self.root}).err)
        self.give(self.root)
        before = tree(self.root)
        done = self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root})
        self.assertIn("0 delivered, 0 left", done.out)
        self.deliver(self.root, rc=125)
        # Nor does a run take it for its spool, or send what lies there.
        self.assertEqual(self.tacho("run", "-i", "0.1", "--", "sleep", "0.3", env=self.env(TACHO_SPOOL_DIR=self.root)).rc, 0)
        after = tree(self.root)
        self.assertEqual({name: what for name, what in after.items() if not name.startswith("tacho-0")}, before)
        self.assertNotIn("job0", [run["start"].get("job_name") for run in self.service.runs().values()])

    def test_a_file_of_another_in_a_folder_of_ours(self):
        for name in ("meta.json", "lock", "000000.csv", "seals"):
            folder = self.spool()
            os.chown(os.path.join(folder, name), OTHER, OTHER)
            before = tree(folder)
            self.assertIn("another user", self.deliver(folder, rc=1).err)
            self.assertEqual(tree(folder)[name], before[name])
            shutil.rmtree(folder)
        self.arrived(0)

    def test_a_spool_that_all_users_share(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        self.service.api_faults({"action": {"reset": "start"}})
        os.makedirs(self.path("home"))
        os.chmod(self.path("home"), 0o777)
        program = self.programs_for_all()
        for user in ("nobody", None):
            env = self.env(TACHO_SPOOL_DIR=shared, TACHO_FINISH_TIMEOUT="0.5", HOME=self.path("home"), XDG_STATE_HOME=None)
            self.assertEqual(self.tacho("run", "--no-store", "--", "true", user=user, env=env, program=program).rc, 0)
        self.assertEqual(sorted(os.listdir(shared)), ["tacho-0", "tacho-65534"])
        for name, uid in (("tacho-0", 0), ("tacho-65534", 65534)):
            info = os.stat(os.path.join(shared, name))
            self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (uid, 0o700))
        self.service.api_faults()
        for user, left in (("nobody", ["tacho-0"]), (None, [])):
            done = self.tacho("deliver", "--all", user=user, program=program, env=self.env(TACHO_SPOOL_DIR=shared, HOME=self.path("home"), XDG_STATE_HOME=None))
            self.assertEqual((done.rc, done.out), (0, "1 delivered, 0 left\n"), done)
            self.assertEqual([name for name in sorted(os.listdir(shared)) if os.listdir(os.path.join(shared, name))], left)

    def test_the_fall_back_store_of_somebody_else(self):
        """Without a home the store is in /var/tmp, where another user may have been first."""
        uid = 300000 + os.getpid()
        place = f"/var/tmp/tacho-{uid}"
        self.addCleanup(shutil.rmtree, place, True)
        self.addCleanup(lambda: os.path.islink(place) and os.unlink(place))
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
        os.chmod(self.path("victim"), 0o777)
        self.victim = tree(self.path("victim"))

        def go():
            return self.tacho("run", "--", "true", wrap=user, env={"HOME": "/nonexistent", "XDG_STATE_HOME": None})

        def planted_link():
            os.symlink(self.path("victim"), place)

        def planted_folder():
            os.unlink(place)
            os.makedirs(place + "/runs")
            os.chmod(place, 0o777)
            os.chmod(place + "/runs", 0o777)

        def planted_runs():
            os.rmdir(place + "/runs")
            os.chmod(place, 0o700)
            os.chown(place, uid, uid)
            os.symlink(self.path("victim"), place + "/runs")
        for plant in (planted_link, planted_folder, planted_runs):
            with self.subTest(plant.__name__):
                plant()
                done = go()
                self.assertIn("cannot make a run in the store", done.err)
                self.assertEqual(tree(self.path("victim")), self.victim)
                listed = self.tacho("runs", wrap=user, env={"HOME": "/nonexistent", "XDG_STATE_HOME": None})
                self.assertIn("left alone", listed.err)
        os.unlink(place + "/runs")
        self.assertEqual(go().rc, 0)
        self.assertEqual(len(os.listdir(place + "/runs")), 1)


    def test_the_fall_back_spools_of_somebody_else(self):
        """Without a home, where another user was first in each place: the rows are kept in a folder of our own, and are sent later."""
        uid = 400000 + os.getpid()
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
        places = ("/var/tmp", "/tmp", "/dev/shm")
        program = self.programs_for_all()
        os.chmod(self.path("victim"), 0o777)
        self.victim = tree(self.path("victim"))

        def ours():
            return [os.path.join(place, name) for place in places for name in os.listdir(place) if name.startswith(f"tacho-{uid}")]
        for place in places:
            os.symlink(self.path("victim"), f"{place}/tacho-{uid}")
        self.addCleanup(lambda: [os.unlink(path) if os.path.islink(path) else shutil.rmtree(path, True) for path in ours()])
        env = self.env(HOME="/nonexistent", XDG_STATE_HOME=None, TACHO_SPOOL_DIR=None, TACHO_FINISH_TIMEOUT="0.5")
        self.service.api_faults({"action": {"reset": "start"}})
        done = self.tacho("run", "-q", "--no-store", "-i", "0.1", "--", "sleep", "0.3", wrap=user, env=env, program=program)
        self.assertEqual(done.rc, 0, done)
        left = [path for path in ours() if not os.path.islink(path)]
        self.assertEqual([os.stat(path).st_uid for path in left], [uid], done)
        self.assertEqual(len(os.listdir(left[0])), 1)
        self.service.api_faults()
        done = self.tacho("deliver", "--all", wrap=user, env=env, program=program)
        self.assertEqual((done.rc, done.out), (0, "1 delivered, 0 left\n"), done)
        self.assertEqual(len(self.service.finished()), 1)
        self.assertEqual(tree(self.path("victim")), self.victim)


class Credentials(Ownership):
    """A planted meta.json names other servers: our token and our keys do not go there."""

    def setUp(self):
        super().setUp()
        self.evil, self.good = Cloud(), Cloud()
        self.addCleanup(self.evil.close)
        self.addCleanup(self.good.close)

    def test_bigquery(self):
        url = "http://" + self.evil.host
        key = self.path("key.json")
        # The key's own token server is the good one.
        self.good.double.config["accounts"] = service_account(key, f"http://{self.good.host}/token")
        google = {"token_uri": url + "/token", "metadata_host": self.evil.host, "credentials": self.path("victim", "meta.json"),
                  "access_token_file": self.path("victim", "thesis.txt")}
        now_us = 1_794_735_000_000_000
        segments = [[runtime_record(now_us), metrics_record(now_us, 0)]]
        for endpoint, rc in (({"endpoint": url}, 1), ({"endpoint": self.evil.host}, 1), ({}, None)):
            with self.subTest(endpoint):
                spool = Spool(os.path.join(self.root, "20261115T140000Z-1-00000000"), segments, destination=endpoint, google=google)
                done = self.tacho("deliver", spool.folder, env=self.good.environment(TACHO_GOOGLE_CREDENTIALS=key, TACHO_NO_CLOUD=None, GCE_METADATA_HOST=self.good.host))
                self.assertEqual(self.evil.double.log, [], done)
                self.assertEqual(tree(self.path("victim")), self.victim)
                if rc is not None:
                    self.assertEqual(done.rc, rc, done)
                    self.assertIn(spool.folder, done.err)
                    self.assertEqual(self.good.double.log, [])
                shutil.rmtree(spool.folder, ignore_errors=True)
        self.assertNotEqual(self.good.double.log, [])

    def test_tables_are_no_paths(self):
        spool = Spool(os.path.join(self.root, "20261115T140000Z-1-00000000"), [[metrics_record(1_000_000, 0)]],
                      destination={"tables": {"M": "../../victim/x"}})
        done = self.tacho("deliver", spool.folder, env=self.good.environment())
        self.assertEqual(done.rc, 1, done)
        self.assertEqual(tree(self.path("victim")), self.victim)

    def test_service(self):
        other = Service()
        self.addCleanup(other.close)
        folder = self.spool(api_url=other.environment()["SENTINEL_API_URL"])
        before = tree(folder)
        self.assertIn(folder, self.deliver(folder, rc=1).err)
        self.deliver("--all", env={"TACHO_SPOOL_DIR": self.root})
        self.assertEqual(self.tacho("run", "-i", "0.1", "--", "sleep", "0.5", env=self.env(TACHO_SPOOL_DIR=self.root)).rc, 0)
        self.assertEqual(other.api.log, [])
        self.assertEqual(tree(folder), before)

    def test_bucket(self):
        other = Service()
        self.addCleanup(other.close)
        folder = self.spool(api_url="", bucket_uri="s3://data/mine", s3_endpoint=other.environment()["TACHO_S3_ENDPOINT"])
        env = {"AWS_ACCESS_KEY_ID": "AKIAME", "AWS_SECRET_ACCESS_KEY": "secret"}
        self.assertIn(folder, self.deliver(folder, rc=1, env=env).err)
        self.assertEqual((other.s3.listing(), self.service.s3.listing()), ({}, {}))


class ConfigHere(Case):
    """./tacho.toml is anybody's word."""

    def setUp(self):
        super().setUp()
        self.here = self.path("work")
        os.mkdir(self.here, 0o755)
        self.toml = os.path.join(self.here, "tacho.toml")

    def put(self, text):
        with open(self.toml, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.toml, 0o644)

    def go(self, *options, user=None, env=None):
        shutil.rmtree(self.store, ignore_errors=True)
        return self.tacho("run", "-i", "0.1", *options, "--", "true", cwd=self.here, user=user, env=env)

    def job_name(self):
        return self.the_run()[0]["metadata"].get("job_name")

    def test_where_things_go_is_not_said_there(self):
        self.put(f'job_name = "here"\noutput = ["{self.path("evil.csv")}", "s3://evil/x"]\nstore = "{self.path("evil-store")}"\n')
        done = self.go()
        self.assertEqual(done.rc, 0, done)
        self.assertEqual(self.job_name(), "here")
        self.assertEqual(done.err.count("not obeyed"), 1, done)
        self.assertIn("output, store", done.err)
        self.assertFalse(os.path.exists(self.path("evil.csv")) or os.path.exists(self.path("evil-store")))
        # Named, it is the user's own word.
        self.put(f'output = "{self.path("good.csv")}"\nstore = "{self.path("good-store")}"\n')
        for options, env in ((("-c", "tacho.toml"), None), ((), {"TACHO_CONFIG": "tacho.toml"})):
            done = self.go(*options, env=env)
            self.assertNotIn("not obeyed", done.err)
            self.assertTrue(os.path.exists(self.path("good.csv")) and os.path.exists(self.path("good-store")))
            os.unlink(self.path("good.csv"))
            shutil.rmtree(self.path("good-store"))

    def test_a_file_or_folder_that_others_may_write_to(self):
        os.makedirs(self.path("config", "tacho"))
        with open(self.path("config", "tacho", "tacho.toml"), "w", encoding="utf-8") as file:
            file.write('job_name = "xdg"\n')
        self.put('job_name = "here"\n')
        for path, usual in ((self.toml, 0o644), (self.here, 0o755)):
            for mode in (usual | 0o020, usual | 0o002, 0o1777):
                os.chmod(path, mode)
                done = self.go()
                self.assertEqual(self.job_name(), "xdg")
                self.assertEqual(done.err.count("not obeyed"), 1, done)
                self.assertIn("-c tacho.toml", done.err)
                self.go("-c", "tacho.toml")
                self.assertEqual(self.job_name(), "here")
            os.chmod(path, usual)
        self.go()
        self.assertEqual(self.job_name(), "here")

    def test_a_file_or_folder_of_another_user(self):
        self.need_root()
        self.put('job_name = "here"\n')
        for path in (self.toml, self.here):
            os.chown(path, OTHER, OTHER)
            self.assertIn("belongs to another user", self.go().err)
            self.assertIsNone(self.job_name())
            os.chown(path, 0, 0)
        # Root's file is obeyed by everybody.
        done = self.go("--store", self.path("of-nobody"), user="nobody")
        self.assertEqual((done.rc, "not obeyed" in done.err), (0, False), done)
        self.assertEqual(self.the_run(self.path("of-nobody"))[0]["metadata"]["job_name"], "here")

    def test_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.toml)
        done = self.go()
        self.assertEqual(done.rc, 0, done)
        self.assertIn("not a plain file", done.err)


if not IS_ROOT:
    print("test_ownership: not root, so nothing is checked with a second user")
