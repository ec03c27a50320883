"""The real parts for katib.py: Katib's own DB manager and file collector (Go), PostgreSQL and MariaDB (Debian), each on loopback
with its data below WORK, and `tacho-katib db` beside them. A store is read by its own client, ordered by id: not through anything
that is being tested."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess

from common import BIN, WORK, debian, free_port, fresh, run, say, start, stop, until, wait_port

KATIB = "v0.19.0"
# The checksum database has no entry for Katib: what was first seen is pinned, its dependencies are in its own go.sum.
KATIB_SUMS = f"""github.com/kubeflow/katib {KATIB} h1:uexj303nRkGtTFtTkY4McCt6J0TCtnerX3i3E7TRA5M=
github.com/kubeflow/katib {KATIB}/go.mod h1:DajQuzItqb4RbihF8mzBAdY4QNBrE8WrzMSSPNrD2tk=
"""
PROGRAMS = {"katib-db-manager": "cmd/db-manager/v1beta1", "file-metricscollector": "cmd/metricscollector/v1beta1/file-metricscollector"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if os.geteuid() == 0 else []


def install():
    """Everything that is not there yet; returns the paths of Katib's programs."""
    debian("postgresql", "mariadb-server", "util-linux")
    programs = {name: WORK / "bin" / name for name in PROGRAMS}
    if not all(path.exists() for path in programs.values()):
        build_katib(programs)
    return programs


def build_katib(programs):
    folder, env = katib_module()
    for name, path in programs.items():
        run("nice", "-n", "10", "go", "build", "-o", path, f"github.com/kubeflow/katib/{PROGRAMS[name]}", cwd=folder, env=env, timeout=3600)


def katib_module():
    """A Go module of our own with Katib's requirements: its folder, and the environment to build there."""
    say(f"building Katib {KATIB}")
    return katib_source("katib-go")[1:]


def katib_source(name):
    """Katib's sources as the module proxy has them; then the folder of a module of our own that requires them, and its environment."""
    folder = fresh(name)
    (folder / "go.mod").write_text(f"module tacho.test/interop\n\ngo 1.24.0\n\nrequire github.com/kubeflow/katib {KATIB}\n")
    (folder / "go.sum").write_text(KATIB_SUMS)
    env = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false"}
    run("go", "mod", "download", f"github.com/kubeflow/katib@{KATIB}", cwd=folder, env=env)
    source = pathlib.Path(run("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/katib", cwd=folder, env=env).strip().splitlines()[-1])
    # Its own requirements and sums: the same versions as in its release.
    module = (source / "go.mod").read_text().replace("module github.com/kubeflow/katib", "module tacho.test/interop")
    (folder / "go.mod").write_text(f"{module}\nrequire github.com/kubeflow/katib {KATIB}\n")
    (folder / "go.sum").write_text(KATIB_SUMS + (source / "go.sum").read_text())
    return source, folder, env


def own(folder):
    """The servers run as another user when we are root: both insist."""
    if NOBODY:
        shutil.chown(folder, 65534, 65534)


class Postgres:
    """A cluster of its own; one database a name."""

    def __init__(self):
        self.bin = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.port = free_port()
        self.folder = fresh("postgres")
        own(self.folder)
        self.password = "not-a-secret"
        (self.folder / "password").write_text(self.password)
        own(self.folder / "password")
        run(*NOBODY, self.bin / "initdb", "-A", "scram-sha-256", "-U", "katib", f"--pwfile={self.folder}/password", "--no-sync", "-D",
            self.folder / "data", cwd="/")
        self.env = {**os.environ, "PGPASSWORD": self.password}
        self.up()

    def up(self):
        self.process = start(*NOBODY, self.bin / "postgres", "-D", self.folder / "data", "-c", f"port={self.port}", "-c",
                             "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", self.folder, log="katib-postgres.log", cwd="/")
        wait_port(self.port, self.process)
        until(lambda: "1" in run("psql", "-Atc", "SELECT 1", self.url("postgres"), rc=None, env=self.env), 30, "PostgreSQL")

    def down(self):
        stop(self.process, signal.SIGINT)

    def url(self, name):
        return f"postgres://katib@127.0.0.1:{self.port}/{name}"

    def database(self, name):
        run("psql", "-c", f"CREATE DATABASE {name}", self.url("postgres"), env=self.env)
        return name

    def rows(self, name, trial):
        sql = ("SELECT json_build_array(to_char(time, 'YYYY-MM-DD HH24:MI:SS.US'), metric_name, value) FROM observation_logs "
               "WHERE trial_name = :'trial' ORDER BY id")
        out = run("psql", "-At", "-v", f"trial={trial}", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url(name), env=self.env, input=sql)
        return [tuple(json.loads(line)) for line in out.splitlines()]

    def manager_env(self, name):
        return {"DB_NAME": "postgres", "DB_USER": "katib", "DB_PASSWORD": self.password, "KATIB_POSTGRESQL_DB_HOST": "127.0.0.1",
                "KATIB_POSTGRESQL_DB_PORT": str(self.port), "KATIB_POSTGRESQL_DB_DATABASE": name}


class MariaDb:
    def __init__(self):
        self.folder = fresh("mariadb")
        own(self.folder)
        self.port = free_port()
        self.socket = self.folder / "socket"
        self.options = ["--no-defaults", f"--datadir={self.folder}/data", f"--socket={self.socket}", f"--pid-file={self.folder}/pid"]
        run(*NOBODY, "mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data", "--auth-root-authentication-method=normal",
            "--skip-test-db", cwd="/")
        self.up()

    def up(self):
        self.process = start(*NOBODY, "/usr/sbin/mariadbd", *self.options, f"--port={self.port}", "--bind-address=127.0.0.1",
                             "--innodb-flush-log-at-trx-commit=2", log="katib-mariadb.log", cwd="/")
        wait_port(self.port, self.process)

    def sql(self, text, *words):
        return run("mariadb", "--no-defaults", "-u", "root", "-S", self.socket, "-N", "--raw", "--default-character-set=utf8mb4", *words,
                   input=text)

    def database(self, name):
        self.sql(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        return name

    def rows(self, name, trial):
        out = self.sql("SELECT JSON_ARRAY(DATE_FORMAT(time, '%Y-%m-%d %H:%i:%s.%f'), metric_name, value) FROM observation_logs "
                       f"WHERE trial_name = '{trial}' ORDER BY id", name)
        return [tuple(json.loads(line)) for line in out.splitlines()]

    def manager_env(self, name):
        return {"DB_NAME": "mysql", "DB_USER": "root", "DB_PASSWORD": "", "KATIB_MYSQL_DB_HOST": "127.0.0.1",
                "KATIB_MYSQL_DB_PORT": str(self.port), "KATIB_MYSQL_DB_DATABASE": name}


class Manager:
    """One DB manager on a port that stays its own when it is killed and started again."""

    def __init__(self, name, command, env, rows):
        self.name, self.command, self.rows = name, command, rows
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("DB_", "KATIB_", "TACHO_"))} | env
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = None

    def __repr__(self):
        return self.name

    def up(self):
        self.process = start(*self.command(self.address), env=self.env, log=f"katib-{self.name}.log")
        wait_port(self.port, self.process)
        return self

    def down(self, sig=signal.SIGKILL):
        stop(self.process, sig)


def real_manager(programs, server, database, name):
    return Manager(name, lambda address: [programs["katib-db-manager"], "-listen-address", address], server.manager_env(database),
                   lambda trial: server.rows(database, trial))


def tacho_on_sqlite(name="tacho-sqlite"):
    file = fresh(name) / "katib.db"

    def rows(trial):
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as store:
            return store.execute("SELECT time, metric_name, value FROM observation_logs WHERE trial_name = ? ORDER BY id", (trial,)).fetchall()

    return Manager(name, lambda address: [BIN / "tacho-katib", "db", "--listen", address, "--store", file], {}, rows)


def tacho_on_postgres(postgres, database, name="tacho-postgres"):
    return Manager(name, lambda address: [BIN / "tacho-katib", "db", "--listen", address, "--store", postgres.url(database)],
                   {"PGPASSWORD": postgres.password}, lambda trial: postgres.rows(database, trial))


class Pod:
    """A pod with one PID namespace: a pause process as pid 1, the containers' first processes with parent pid 0."""

    def __init__(self, name):
        self.folder = fresh(f"pods/{name}")
        self.log = self.folder / "metrics.log"
        self.pause = subprocess.Popen(["unshare", "-pf", "--mount-proc", "sleep", "infinity"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = until(self.pause_pid, 10, "the pause process")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(int(self.pid), signal.SIGKILL)  # and with pid 1 everything in the namespace
        self.pause.wait()

    def pause_pid(self):
        children = pathlib.Path(f"/proc/{self.pause.pid}/task/{self.pause.pid}/children").read_text().split()
        if not children or pathlib.Path(f"/proc/{children[0]}/comm").read_text().strip() != "sleep":
            return None
        return children[0]

    def enter(self, *command, log="pod.log", **more):
        """Starts a container's first process."""
        with open(self.folder / log, "ab") as out:
            return subprocess.Popen(["nsenter", "-t", self.pid, "-p", "-m", "--", *[str(word) for word in command]], stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=subprocess.STDOUT, **more)

    def train(self, script):
        """The trainer as the webhook wraps it: its success leaves the marker."""
        return self.enter("sh", "-c", f"{script} && echo completed > {self.folder}/$$.pid", log="trainer.log")
