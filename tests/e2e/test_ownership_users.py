"""What strangers plant for another user: links, folders, meta.json, a tacho.toml; none of it is followed or obeyed."""
import contextlib
import os
import shutil
import stat

from bigquery import Cloud, Spool, metrics_record, runtime_record, service_account
from service import Service
from support import BUILD, Case
from ownership_case import OTHER, Ownership, tree


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

    def test_the_home_of_another_user(self):
        """As sudo and su may leave HOME: what is chosen there counts, but not where anything goes."""
        self.need_root()
        folder = self.path("config", "tacho")
        os.makedirs(folder)
        file = os.path.join(folder, "tacho.toml")
        for mode, uid, obeyed in ((0o644, 0, True), (0o664, 0, True), (0o644, OTHER, False), (0o646, 0, False)):
            with open(file, "w", encoding="utf-8") as out:
                out.write(f'job_name = "theirs"\noutput = "{self.path("x.csv")}"\nstore = "{self.store}"\n')
            os.chmod(file, mode)
            os.chown(file, uid, uid)
            done = self.go("--store", self.store)
            self.assertEqual((done.rc, self.job_name(), os.path.exists(self.path("x.csv"))), (0, "theirs", obeyed), (mode, uid))
            self.assertEqual(done.err.count("not obeyed in " + file), 0 if obeyed else 1, done.err)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path("x.csv"))
        os.unlink(file)
        os.mkfifo(file)
        self.assertEqual(self.go().rc, 125)  # not waited for

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
