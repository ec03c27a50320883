#!/usr/bin/env python3
"""scripts/interop s3: the delivery suite of the end-to-end tests against real S3 servers, and what only they can show: their
own checking of signatures, session tokens of a real token service, and objects read back by a client that is not ours."""
import os
import sys

from common import BIN, BUILD, ROOT, case, check, finish, run, say, venv

try:
    import boto3  # noqa: F401
except ImportError:
    python = venv("s3", "boto3")
    os.execv(python, [str(python), *sys.argv])

os.environ["TACHO_BUILD_DIR"] = str(BUILD)
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/doubles")]
import concurrent.futures  # noqa: E402
import gzip  # noqa: E402
import pathlib  # noqa: E402
import tempfile  # noqa: E402
import unittest  # noqa: E402

import run as runner  # noqa: E402
import s3_expiry  # noqa: E402
import s3_servers  # noqa: E402
import s3_service  # noqa: E402
import delivery_case  # noqa: E402
import test_delivery  # noqa: E402
import test_delivery_finish  # noqa: E402
import test_delivery_manners  # noqa: E402
import test_delivery_process  # noqa: E402
from common import started  # noqa: E402

# Not for a real server: the test looks into the double, or needs a setting of it.
LEAVE_OUT = {"test_clock_of_the_server": "the clock of a real server cannot be moved",
             "test_straight_to_a_bucket": "done below with the server's own keys",
             "test_token_with_a_line_break": "its bucket has keys of the double",
             "test_credentials_of_a_program": "its bucket has keys of the double"}


def suite(server):
    """Every test of the delivery that is about the service or S3, with the real server behind."""
    delivery_case.Service = s3_service.RealService
    loader = unittest.TestLoader()
    tests = [test for module in (test_delivery, test_delivery_finish, test_delivery_manners, test_delivery_process) for test in runner.flatten(loader.loadTestsFromModule(module))]

    def one(test):
        outcome = runner.Outcome()
        if test._testMethodName not in LEAVE_OUT:
            test.run(outcome)
        else:
            outcome.reason = LEAVE_OUT[test._testMethodName]
        return test, outcome

    skipped = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for test, outcome in pool.map(one, tests):
            if outcome.reason and not outcome.text:
                skipped += 1
            else:
                check(f"{server.name} {test.id()}", not outcome.text, outcome.text)
    say(f"{skipped} tests of the suite need the double and were left out")


def tacho(*words, env, rc=0):
    """In a home of its own; returns what it said, the store's only CSV, and the spool's folders."""
    home = tempfile.mkdtemp(prefix="interop-")
    full = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "TACHO_NO_CLOUD": "1", **env}
    said = run(BIN / "tacho", *words, env=full, rc=rc)
    tables = list(pathlib.Path(home).glob("tacho/runs/*/metrics.csv"))
    rows = tables[0].read_text().splitlines()[1:] if tables else []
    spools = list(pathlib.Path(home).glob("tacho/spool/2*"))
    return said, rows, spools, full


def stored(prefix, bucket="data"):
    """All rows below a prefix, in order of the keys, as boto3 reads them."""
    s3 = s3_service.client()
    rows = []
    for item in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", []):
        rows += gzip.decompress(s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()).decode().splitlines()[1:]
    return rows


def keys_of(given):
    env = {"AWS_ACCESS_KEY_ID": given["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"]}
    if given["SessionToken"]:
        env["AWS_SESSION_TOKEN"] = given["SessionToken"]
    return env


def straight(server):
    """-o s3://… with keys from the environment (those of a session, where there are such) and from a profile."""
    where = {"TACHO_S3_ENDPOINT": server.url}
    job = ("run", "-i", "0.2", "--upload-interval", "1")
    _, rows, spools, _ = tacho(*job, "-o", "s3://data/environment", "--", "sleep", "2.5", env={**where, **keys_of(s3_service.temporary())})
    check(f"{server.name}: keys of the environment, rows equal, nothing left", rows and stored("environment/") == rows and not spools, spools)

    with tempfile.TemporaryDirectory() as folder:
        shared = os.path.join(folder, "credentials")
        given = s3_service.temporary()
        token = f"aws_session_token = {given['SessionToken']}\n" if given["SessionToken"] else ""
        with open(shared, "w", encoding="utf-8") as file:
            file.write(f"[work]\naws_access_key_id = {given['AccessKeyId']}\naws_secret_access_key = {given['SecretAccessKey']}\n{token}")
        _, rows, _, _ = tacho(*job, "-o", "s3://data/profile", "--", "sleep", "1.5",
                              env={**where, "AWS_PROFILE": "work", "AWS_SHARED_CREDENTIALS_FILE": shared})
        check(f"{server.name}: keys of a profile", rows and stored("profile/") == rows)

    odd = "a b+c/ü%20'()&=~!*,;:@$/x"
    _, rows, _, _ = tacho(*job, "-o", f"s3://data/{odd}", "--", "sleep", "1.2", env={**where, **keys_of(s3_service.temporary())})
    check(f"{server.name}: a prefix full of characters to encode", rows and stored(odd + "/") == rows)


def refused(server):
    """Wrong keys: the job is untouched, the data kept, and delivered once the keys are right."""
    where = {"TACHO_S3_ENDPOINT": server.url, "TACHO_FINISH_TIMEOUT": "3"}
    right = keys_of(s3_service.temporary())
    for name, wrong in {"secret": {"AWS_SECRET_ACCESS_KEY": "x" * 40}, "key": {"AWS_ACCESS_KEY_ID": "NOBODY"},
                        "session": {"AWS_SESSION_TOKEN": "made-up"}}.items():
        if name == "session" and not server.has_sts:
            continue
        said, rows, spools, env = tacho("run", "-i", "0.2", "-o", f"s3://data/wrong-{name}", "--", "sh", "-c", "exit 3",
                                        env={**where, **right, **wrong}, rc=3)
        check(f"{server.name}: a wrong {name}: exit status of the job, one spool, nothing stored",
              len(spools) == 1 and not stored(f"wrong-{name}/"), said)
        said = run(BIN / "tacho", "deliver", "--all", env={**env, **right}, rc=None)
        check(f"{server.name}: delivered with the right {name}", rows and stored(f"wrong-{name}/") == rows and not spools[0].exists(), said)


def web_identity(server):
    """A token file is exchanged for keys of a session; a token of nobody leaves the data in the spool until a good one is there."""
    if server.identity is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        good, bad = os.path.join(folder, "good"), os.path.join(folder, "bad")
        for path, text in ((good, server.identity.token() + "\n"), (bad, server.identity.token()[:-8] + "AAAAAAAA")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        where = {"TACHO_S3_ENDPOINT": server.url, "AWS_ENDPOINT_URL_STS": server.url, "AWS_ROLE_ARN": server.role,
                 "AWS_WEB_IDENTITY_TOKEN_FILE": good, "TACHO_FINISH_TIMEOUT": "5"}
        said, rows, spools, _ = tacho("run", "-i", "0.2", "--upload-interval", "1", "-o", "s3://data/web", "--", "sleep", "1.5", env=where)
        check(f"{server.name}: keys for a web identity", rows and stored("web/") == rows and not spools, said)
        said, rows, spools, env = tacho("run", "-o", "s3://data/nobody", "--", "true", env={**where, "AWS_WEB_IDENTITY_TOKEN_FILE": bad})
        check(f"{server.name}: a forged token: nothing stored, the data kept", len(spools) == 1 and not stored("nobody/"), said)
        said = run(BIN / "tacho", "deliver", "--all", env={**env, "AWS_WEB_IDENTITY_TOKEN_FILE": good}, rc=None)
        check(f"{server.name}: delivered with a good token", rows and stored("nobody/") == rows and not spools[0].exists(), said)


def no_bucket(server):
    said, _, spools, _ = tacho("run", "-o", "s3://no-such-bucket/x", "--", "true",
                               env={"TACHO_S3_ENDPOINT": server.url, "TACHO_FINISH_TIMEOUT": "3", **keys_of(s3_service.temporary())})
    check(f"{server.name}: a bucket that is not there is named, the data kept", "no-such-bucket" in said and len(spools) == 1, said)


def integrity(server):
    """The server's own record of an object: type, size and MD5."""
    _, _, _, _ = tacho("run", "-o", "s3://data/integrity", "--", "true", env={"TACHO_S3_ENDPOINT": server.url, **keys_of(s3_service.temporary())})
    s3 = s3_service.client()
    items = s3.list_objects_v2(Bucket="data", Prefix="integrity/").get("Contents", [])
    head = s3.head_object(Bucket="data", Key=items[0]["Key"]) if items else {}
    body = s3.get_object(Bucket="data", Key=items[0]["Key"])["Body"].read() if items else b""
    check(f"{server.name}: application/gzip without an encoding, whole",
          head.get("ContentType") == "application/gzip" and not head.get("ContentEncoding") and head.get("ContentLength") == len(body) > 0, head)


def expiry(server):
    """Keys that end while a run streams; here of a server that makes them short-lived."""
    if server.identity is not None:
        s3_expiry.cases(server, 75)


long_expiry = "--expiry" in sys.argv[3:]
wanted = ["minio"] if long_expiry else sys.argv[3:] or ["minio", "swift"]
for name in wanted:
    open_server = getattr(s3_servers, f"start_{name}")
    try:
        server = open_server("minio-expiry") if long_expiry else open_server()
    except Exception as error:  # noqa: BLE001: the other server still counts
        check(open_server.__name__, False, error)
        continue
    say(f"{server.name} {server.version}, boto3 {boto3.__version__}")
    s3_service.real = server
    for bucket in ("data", "my.bucket.eu"):
        s3_service.make_bucket(bucket)
    if long_expiry:
        case(s3_expiry.cases, server, 900)
    else:
        for function in (straight, refused, web_identity, no_bucket, integrity, expiry, suite):
            case(function, server)
    for process in list(started)[::-1]:
        process.terminate()
        process.wait()
        started.remove(process)
finish()
