"""Session keys that a real token service lets expire. Its AssumeRole gives them for 15 minutes at least (`scripts/interop s3 --expiry`, 17 minutes);
AssumeRoleWithWebIdentity for as long as the identity's token lives, so that the plain run sees the same in two minutes. Four runs side by side:

    in-time   the service tells the true end: no request is ever made with a key that has ended
    refused   the service refuses to renew until the keys have ended: uploads go on as long as they live, the rest waits
    too-late  the service tells an hour more than is true and then refuses to renew: the server itself refuses the key first
    identity  straight to a bucket, with an identity token that is renewed in its file as a kubelet does"""
import datetime
import os
import pathlib
import re
import tempfile
import time

import s3_service
from common import BIN, WORK, check, fresh, say, start

HOUR_S = 3600


class Sentinel(s3_service.Sentinel):
    """Gives keys of `life_s` and remembers when each really ends."""

    def __init__(self, config):
        super().__init__(config)
        self.ends = {}

    def issue(self, run):
        given = short_lived(self.config["life_s"]) if self.config["life_s"] < 900 else s3_service.temporary(self.config["life_s"])
        end = given["Expiration"]
        self.ends[given["AccessKeyId"]] = end.timestamp()
        run["credentials"] += 1
        return {"access_key": given["AccessKeyId"], "secret_key": given["SecretAccessKey"], "session_token": given["SessionToken"],
                "expires_at": (end + datetime.timedelta(seconds=self.config["too_late_s"])).isoformat()}


class Service(s3_service.RealService):
    def make_api(self, config):
        return Sentinel(config)


def short_lived(life_s):
    server = s3_service.real
    return s3_service.client(name="sts").assume_role_with_web_identity(RoleArn=server.role, RoleSessionName="tacho",
                                                                       WebIdentityToken=server.identity.token(life_s))["Credentials"]


class Run:
    """tacho in a home of its own, in the background."""

    def __init__(self, name, life_s, too_late_s=0, rules=()):
        self.name, self.life_s = name, life_s
        self.service = Service()
        self.service.api.config.update(life_s=life_s, too_late_s=too_late_s)
        self.service.api_faults(*rules)
        self.home = tempfile.mkdtemp(prefix="interop-")
        self.process = None

    def start(self, seconds, *words, env=None):
        (WORK / f"expiry-{self.life_s}-{self.name}.log").unlink(missing_ok=True)
        full = {"PATH": os.environ["PATH"], "HOME": self.home, "XDG_STATE_HOME": self.home, "TACHO_NO_CLOUD": "1",
                **(self.service.environment() if env is None else env)}
        self.begun = time.time()
        self.process = start(BIN / "tacho", "run", "-i", "1" if self.life_s >= 900 else "0.2", "--upload-interval", "60" if self.life_s >= 900 else "5", *words,
                             "--", "sleep", seconds, log=f"expiry-{self.life_s}-{self.name}.log", env=full)
        return self

    def said(self):
        return (WORK / f"expiry-{self.life_s}-{self.name}.log").read_text()

    def local(self):
        table, = pathlib.Path(self.home).glob("tacho/runs/*/metrics.csv")
        return table.read_text().splitlines()[1:]

    def spools(self):
        return list(pathlib.Path(self.home).glob("tacho/spool/2*"))

    def puts(self):
        """(when, which key, status, code) of every upload."""
        # Authorization: AWS4-HMAC-SHA256 Credential=KEY/20261115/us-east-1/s3/aws4_request, …
        return [(entry["time"], re.search(r"Credential=([^/]+)/", entry["headers"]["authorization"])[1], entry["status"], entry["note"])
                for entry in self.service.s3.log if entry["method"] == "PUT" and "status" in entry]

    def ends(self, key):
        return self.service.api.ends[key]

    def delivered(self):
        """What every run ends with."""
        name, run = self.name, (self.service.finished() or [None])[0]
        if not check(f"expiry, {name}: the run is closed by its objects", run and run["finish"]["data_source"] == "s3", self.said()):
            return
        rows, local = self.service.rows(run), self.local()
        check(f"expiry, {name}: every one of {len(local)} rows is in the bucket once", rows == local and not self.spools(), f"{len(rows)} rows; {self.said()}")
        prefix = run["finish"]["data_uris"][0].removeprefix("s3://data/").rpartition("/")[0] + "/"
        there = [f"s3://data/{item['Key']}" for item in s3_service.client().list_objects_v2(Bucket="data", Prefix=prefix)["Contents"]]
        check(f"expiry, {name}: and nothing else is there", there == run["finish"]["data_uris"], there)


def in_time(run):
    puts = run.puts()
    check("expiry, in-time: no key is used after its end, nothing is refused", puts and all(status == 200 and at < run.ends(key) for at, key, status, _ in puts), puts)
    late = [at for at, *_ in puts if at > run.begun + run.life_s]
    check("expiry, in-time: uploads go on after the first key's end", late and len({key for _, key, _, _ in puts}) > 1, puts)
    renewed = [entry["time"] for entry in run.service.calls("/refresh-credentials")]
    if run.life_s >= 900:
        # < 5 minutes are left; a batch a minute is what it can be late by.
        check("expiry, in-time: renewed when five minutes were left", len(renewed) == 1 and run.life_s - 310 < renewed[0] - run.begun < run.life_s - 200,
              [at - run.begun for at in renewed])


def refused(run):
    puts = run.puts()
    first = puts[0][1]
    asked = [entry for entry in run.service.calls("/refresh-credentials") if entry["status"] == 503]
    check("expiry, refused: asked to renew while the old keys lived", any(entry["time"] < run.ends(first) for entry in asked), len(asked))
    meanwhile = [at for at, key, status, _ in puts if key == first and status == 200 and asked and asked[0]["time"] < at < run.ends(first)]
    check("expiry, refused: uploads went on with them", meanwhile, puts)
    check("expiry, refused: and afterwards with new ones", any(key != first and status == 200 for _, key, status, _ in puts), puts)
    check("expiry, refused: not asked without a pause", len(asked) < 20 + run.life_s / 10, len(asked))


def too_late(run):
    puts = run.puts()
    first = puts[0][1]
    codes = [(status, code) for at, key, status, code in puts if key == first and at >= run.ends(first) - 1 and status != 200]
    check("expiry, too-late: the server itself refuses the key that has ended", codes and all(status in (400, 403) for status, _ in codes), puts)
    say(f"what the server says of a key that has ended: {sorted(set(codes))}")
    statuses = [entry["status"] for entry in run.service.calls("/refresh-credentials")]
    check("expiry, too-late: renewed at the fourth try", statuses[:4] == [503, 503, 503, 200], statuses)
    check("expiry, too-late: then taken", any(key != first and status == 200 for _, key, status, _ in puts), puts)


def identity(run):
    puts = run.puts()
    check("expiry, identity: nothing is refused, with more than one key", puts and all(status == 200 for _, _, status, _ in puts) and
          len({key for _, key, _, _ in puts}) > 1, puts)
    s3 = s3_service.client()
    rows = []
    for item in s3.list_objects_v2(Bucket="data", Prefix="identity/").get("Contents", []):
        rows += run.service.object(f"s3://data/{item['Key']}").splitlines()[1:]
    check("expiry, identity: every row is in the bucket once", rows == run.local() and not run.spools(), f"{len(rows)} rows; {run.said()}")


def cases(server, life_s):
    """All four, in life_s and a minute or two."""
    seconds = life_s + (120 if life_s >= 900 else 60)
    say(f"keys of {life_s} s, runs of {seconds} s")
    no_renewal = {"match": {"path": ".*/refresh-credentials"}, "action": {"status": 503}}
    runs = {"in-time": Run("in-time", life_s).start(seconds), "refused": Run("refused", life_s, rules=[no_renewal]).start(seconds),
            "too-late": Run("too-late", life_s, HOUR_S, [{**no_renewal, "match": {**no_renewal["match"], "to": 3}}]).start(seconds)}
    token = fresh(f"expiry-{life_s}") / "token"
    token.write_text(server.identity.token(life_s))
    straight = Run("identity", life_s)
    where = straight.service.s3_server.url
    straight.start(seconds, "-o", "s3://data/identity", env={"TACHO_S3_ENDPOINT": where, "AWS_ENDPOINT_URL_STS": where, "AWS_ROLE_ARN": server.role,
                                                             "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)})
    everyone = [*runs.values(), straight]
    written = begun = time.time()
    end = begun + seconds + 120
    while any(run.process.poll() is None for run in everyone) and time.time() < end:
        time.sleep(1)
        if time.time() - written > life_s / 4:
            written = time.time()
            token.with_suffix(".new").write_text(server.identity.token(life_s))
            token.with_suffix(".new").rename(token)
        if time.time() > begun + life_s + 10:
            runs["refused"].service.api_faults()
    for run in everyone:
        check(f"expiry, {run.name}: the job's exit status", run.process.poll() == 0, run.said())
    for run in runs.values():
        run.delivered()
    in_time(runs["in-time"])
    refused(runs["refused"])
    too_late(runs["too-late"])
    identity(straight)
    for run in everyone:
        run.service.close()
