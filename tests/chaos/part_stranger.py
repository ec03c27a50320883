"""Another user of the machine plants links, pipes, folders and descriptions of runs where tacho looks for its own, and leaves
files among the victim's. Whatever the victim then calls: the job runs, nothing that tacho did not make is changed, and no
credential goes to an address that came out of a planted file."""
import hashlib
import http.server
import json
import os
import shutil
import stat
import threading

from bigquery import Spool, metrics_record, runtime_record, service_account
from service import Service
from support import IS_ROOT, Case

NAMES = ["meta.json", "state.json", "lock", "seals", "overflow", "000000.csv", "000001.open", "000000.rec", "run.json", "metrics.csv"]
ENDINGS = ["01T000000Z-4711-0a1b2c", "02T120000Z-99-ffffffffffff", "03T235959Z-1-abc"]
CANARY = "canary-7c1f"
KEY, KEY_LOCK, TOKEN_PLACE = [], threading.Lock(), "http://token.invalid"


class Hostile:
    """Listens, notes whatever comes, and answers with a token."""

    def __init__(self):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
                seen.append(f"{self.command} {self.path}\n{self.headers}\n{body.decode(errors='replace')}")
                reply = json.dumps({"access_token": "x", "expires_in": 3600, "token_type": "Bearer"}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Metadata-Flavor", "Google")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)
            do_GET = do_POST = do_PUT = do_HEAD = do_PATCH = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def manifest(*trees):
    """All that can be told of these files without opening a pipe; times of reading apart."""
    found = {}
    for tree in trees:
        for folder, folders, files in os.walk(tree):
            for name in [".", *folders, *files]:
                path = os.path.join(folder, name)
                info = os.lstat(path)
                entry = [info.st_mode, info.st_uid, info.st_ino]
                if stat.S_ISLNK(info.st_mode):
                    entry.append(os.readlink(path))
                elif stat.S_ISREG(info.st_mode):
                    with open(path, "rb") as file:
                        entry += [info.st_mtime_ns, hashlib.sha256(file.read()).hexdigest()]
                found[os.path.normpath(path)] = entry
    return found


class Step(Case):
    def setUp(self):
        if not IS_ROOT:
            self.skipTest("two users need root")
        super().setUp()
        self.victim = self.dice.choice([0, self.dice.randint(100_000, 2_000_000)])
        self.stranger = self.dice.randint(2_100_000, 4_000_000)
        self.hostile = Hostile()
        self.addCleanup(self.hostile.close)
        self.service = Service({"tokens": [CANARY]})
        self.addCleanup(self.service.close)
        self.home = self.path("home")
        self.shared = self.path("shared")
        os.mkdir(self.home, 0o700)
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.precious = os.path.join(self.home, "precious")
        os.makedirs(os.path.join(self.precious, "sub"))
        for name in [*NAMES, "thesis.txt", "sub/000000.csv", "sub/thesis.txt"]:
            self.put(os.path.join(self.precious, name), f"a year of work in {name}\n")
        self.put(os.path.join(self.home, "thesis.txt"), "another year\n")
        self.own(self.home, self.victim)

    @staticmethod
    def put(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @staticmethod
    def own(tree, uid):
        for folder, folders, files in os.walk(tree):
            for name in [".", *folders, *files]:
                os.lchown(os.path.join(folder, name), uid, uid)

    def victims_environment(self, root):
        key = self.path("home/key.json")
        with KEY_LOCK:  # making a key takes a while: one for all steps
            if not KEY:
                service_account(key, TOKEN_PLACE)
                with open(key, encoding="utf-8") as file:
                    KEY.append(file.read())
        self.put(key, KEY[0].replace(TOKEN_PLACE, self.service.api_server.url + "/token"))
        os.chmod(key, 0o600)
        os.chown(key, self.victim, self.victim)
        return {"HOME": self.home, "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None, "TACHO_SPOOL_DIR": root, "GOOGLE_APPLICATION_CREDENTIALS": key,
                "AWS_ACCESS_KEY_ID": CANARY, "AWS_SECRET_ACCESS_KEY": CANARY, "TACHO_FINISH_TIMEOUT": "2",
                **self.service.environment(SENTINEL_API_TOKEN=CANARY)}

    def as_victim(self, *args, env, cwd=None):
        words = ["setpriv", f"--reuid={self.victim}", f"--regid={self.victim}", "--clear-groups", "--"] if self.victim else []
        return self.tacho(*args, env=env, wrap=words, cwd=cwd or self.home, timeout=120)

    # --- what a stranger plants; each gives the path that it made ---
    def a_link_to_the_home(self, place):
        os.symlink(self.precious, place)

    def a_run_of_links(self, place):
        os.mkdir(place)
        for name in self.dice.sample(NAMES, self.dice.randint(1, len(NAMES))):
            os.symlink(os.path.join(self.precious, name), os.path.join(place, name))

    def a_run_of_pipes(self, place):
        self.a_run_for_the_hostile_server(place)
        name = os.path.join(place, self.dice.choice(NAMES))
        if os.path.lexists(name):
            os.unlink(name)
        os.mkfifo(name, 0o666)

    def a_run_of_hard_links(self, place):
        os.mkdir(place)
        for name in self.dice.sample(NAMES, 3):
            os.link(os.path.join(self.precious, name), os.path.join(place, name))

    def a_run_for_the_hostile_server(self, place):
        host = self.hostile.url.removeprefix("http://")
        Spool(place, [[runtime_record(1_790_000_000_000_000), metrics_record(1_790_000_000_000_000, 0)]], destination={"endpoint": self.hostile.url},
              google={"metadata_host": host, "token_uri": self.hostile.url + "/token",
                      "credentials": os.path.join(self.home, "key.json"), "access_token_file": os.path.join(self.home, "thesis.txt")})
        if self.dice.random() < 0.5:
            self.put(os.path.join(place, "overflow"), f"{self.precious}\n{self.precious}/sub\n")

    def a_service_run_for_the_hostile_server(self, place):
        """A real run that nobody took, its address changed."""
        scratch = self.path("scratch-" + os.path.basename(place))
        os.mkdir(scratch, 0o700)
        env = {"TACHO_SPOOL_DIR": scratch, "SENTINEL_API_TOKEN": "x", "SENTINEL_API_URL": "http://127.0.0.1:9", "TACHO_FINISH_TIMEOUT": "0.1"}
        self.tacho("run", "-q", "--no-store", "-i", "0.05", "--", "true", env=env)
        runs = [name for name in os.listdir(scratch) if name[0] == "2"]
        if not runs:
            return self.a_run_for_the_hostile_server(place)
        shutil.copytree(os.path.join(scratch, runs[0]), place)
        meta = os.path.join(place, "meta.json")
        with open(meta, encoding="utf-8") as file:
            text = file.read().replace("http://127.0.0.1:9", self.hostile.url)
        self.put(meta, text)
        shutil.rmtree(scratch)
        return None

    def a_folder_of_files(self, place):
        os.mkdir(place)
        for name in self.dice.sample([*NAMES, "thesis.txt", ".delivered-x"], 4):
            self.put(os.path.join(place, name), "mine\n")

    def plant(self, root):
        kinds = [self.a_link_to_the_home, self.a_run_of_links, self.a_run_of_pipes, self.a_run_of_hard_links, self.a_run_for_the_hostile_server,
                 self.a_service_run_for_the_hostile_server, self.a_folder_of_files]
        places = []
        for ending in ENDINGS[:self.dice.randint(1, 3)]:
            place = os.path.join(root, self.dice.choice(["202611", "202609"]) + ending)
            self.dice.choice(kinds)(place)
            mode = self.dice.choice([0o700, 0o755, 0o777])
            if not os.path.islink(place):
                os.chmod(place, mode)
                self.own(place, self.stranger)
            else:
                os.lchown(place, self.stranger, self.stranger)
            places.append(place)
        return places

    def runTest(self):
        dice = self.dice
        root = self.shared
        if dice.random() < 0.3:  # the root itself is planted
            root = os.path.join(self.shared, "spool")
            dice.choice([lambda: os.symlink(self.precious, root), lambda: os.mkdir(root, 0o777)])()
            os.lchown(root, self.stranger, self.stranger)
            places = [root] if os.path.islink(root) else self.plant(root)
        else:
            places = self.plant(root)
        env = self.victims_environment(root)
        before = manifest(self.precious, *places)
        commands = [("run", "-q", "-i", "0.05", "--", "true"), ("deliver",), ("deliver", "--all"), ("deliver", "."), ("deliver", root),
                    ("deliver", self.precious), *[("deliver", place) for place in places], ("runs",), ("doctor",)]
        told = []
        for words in dice.sample(commands, dice.randint(2, 5)):
            done = self.as_victim(*words, env=env)
            told.append(f"{words}: {done}")
            if words[0] == "run":
                self.assertEqual(done.rc, 0, f"hurt: {told[-1]}")
        told = f"victim {self.victim}, root {root}, {places}\n" + "\n".join(told)
        after = manifest(self.precious, *places)
        changed = [path for path in before if before[path] != after.get(path)] + [path for path in after if path not in before]
        self.assertEqual(changed, [], f"foreign: {told}")
        with open(os.path.join(self.home, "thesis.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "another year\n", f"foreign: {told}")
        self.assertEqual(self.hostile.seen, [], f"foreign: the hostile server was asked; {told}")
