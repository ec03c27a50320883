"""Real S3 servers on loopback: MinIO with its token service (from the Go module proxy) and OpenStack Swift with s3api (from
Debian). Each gives an address, keys of an owner and its version."""
import os
import re
import textwrap

import s3_identity
from common import WORK, debian, free_port, fresh, go_install, run, start, until, wait_port

MINIO = ("github.com/minio/minio", "v0.0.0-20260212201848-7aac2a2c5b7c")
ROOT_KEY, ROOT_SECRET = "interop-owner", "interop-owner-secret"
SWIFT_KEY, SWIFT_SECRET = "test:tester", "testing"


class Server:
    def __init__(self, name, url, key, secret, version, has_sts):
        self.name, self.url, self.key, self.secret, self.version, self.has_sts = name, url, key, secret, version, has_sts
        self.identity, self.role = None, ""  # who makes web identity tokens, and the role that they may take


def start_minio(name="minio"):
    """name: of its folder and log, so that two can run side by side."""
    program = go_install(*MINIO)
    version = next(line.split()[2] for line in run("go", "version", "-m", program).splitlines() if line.split()[:1] == ["mod"])
    port, console = free_port(), free_port()
    (WORK / f"{name}.out").unlink(missing_ok=True)
    identity = s3_identity.Provider(fresh(f"{name}-identity"))
    env = {**os.environ, "MINIO_ROOT_USER": ROOT_KEY, "MINIO_ROOT_PASSWORD": ROOT_SECRET, "MINIO_REGION": "us-east-1",
           "MINIO_IDENTITY_OPENID_CONFIG_URL": identity.url + "/.well-known/openid-configuration",
           "MINIO_IDENTITY_OPENID_CLIENT_ID": s3_identity.CLIENT, "MINIO_IDENTITY_OPENID_ROLE_POLICY": "readwrite",
           "MINIO_CI_CD": "1", "MINIO_UPDATE": "off"}  # CI: a disk that holds the system too is fine
    process = start(program, "server", "--address", f"127.0.0.1:{port}", "--console-address", f"127.0.0.1:{console}", fresh(f"{name}-data"),
                    log=f"{name}.out", env=env)
    wait_port(port, process)
    server = Server("minio", f"http://127.0.0.1:{port}", ROOT_KEY, ROOT_SECRET, version, has_sts=True)
    server.identity = identity
    # INFO: IAM Roles: arn:minio:iam:::role/aGFUt54zruUd8QYOVtiUawHHcdw
    server.role = until(lambda: re.findall(r"arn:minio:iam:\S+", (WORK / f"{name}.out").read_text()), 60, "the role's name")[-1]
    return server


def start_swift():
    debian("swift-proxy", "swift-account", "swift-container", "swift-object", "memcached")
    version = run("dpkg-query", "-W", "-f=${Version}", "swift-proxy").strip()
    folder = fresh("swift")
    etc, disk = folder / "etc", folder / "srv/disk"
    etc.mkdir()
    disk.mkdir(parents=True)
    ports = {name: free_port() for name in ("account", "container", "object", "proxy", "memcached")}
    (etc / "swift.conf").write_text("[swift-hash]\nswift_hash_path_prefix = interop\nswift_hash_path_suffix = interop\n"
                                    "[storage-policy:0]\nname = one\ndefault = yes\n")
    common = f"bind_ip = 127.0.0.1\nworkers = 1\nuser = root\nmount_check = false\ndevices = {disk.parent}\nlog_facility =\n"
    for name in ("account", "container", "object"):
        (etc / f"{name}-server.conf").write_text(
            f"[DEFAULT]\nbind_port = {ports[name]}\n{common}[pipeline:main]\npipeline = {name}-server\n"
            f"[app:{name}-server]\nuse = egg:swift#{name}\n")
        ring = etc / f"{name}.builder"
        run("swift-ring-builder", ring, "create", "4", "1", "1")
        run("swift-ring-builder", ring, "add", f"r1z1-127.0.0.1:{ports[name]}/disk", "1")
        run("swift-ring-builder", ring, "rebalance")
    (etc / "proxy-server.conf").write_text(textwrap.dedent(f"""\
        [DEFAULT]
        bind_ip = 127.0.0.1
        bind_port = {ports['proxy']}
        workers = 1
        user = root
        [pipeline:main]
        pipeline = catch_errors cache s3api tempauth copy dlo slo proxy-server
        [app:proxy-server]
        use = egg:swift#proxy
        account_autocreate = true
        [filter:catch_errors]
        use = egg:swift#catch_errors
        [filter:cache]
        use = egg:swift#memcache
        memcache_servers = 127.0.0.1:{ports['memcached']}
        [filter:s3api]
        use = egg:swift#s3api
        location = us-east-1
        [filter:tempauth]
        use = egg:swift#tempauth
        user_test_tester = {SWIFT_SECRET} .admin
        [filter:copy]
        use = egg:swift#copy
        [filter:dlo]
        use = egg:swift#dlo
        [filter:slo]
        use = egg:swift#slo
        """))
    wait_port(ports["memcached"], start("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", ports["memcached"], log="swift.out"))
    # Swift reads /etc/swift only, so that each server gets a view of its own.
    for name in ("account", "container", "object", "proxy"):
        process = start("unshare", "-m", "sh", "-c", f"mount --bind {etc} /etc/swift && exec swift-{name}-server /etc/swift/{name}-server.conf -v",
                        log="swift.out")
        wait_port(ports[name], process)
    return Server("swift", f"http://127.0.0.1:{ports['proxy']}", SWIFT_KEY, SWIFT_SECRET, version, has_sts=False)
