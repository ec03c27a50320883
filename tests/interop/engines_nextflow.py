"""A real Nextflow of Maven Central runs a pipeline with the hook: what the tasks leave is as without it, its trace file has tacho's figures,
and the store each task; on this machine, under a real Slurm, and by `process.shell`."""
import csv
import json
import os

from common import BIN, WORK, check, debian, fresh, run

# The newest whose parts are all on Maven Central; those after it lack nf-commons, nf-httpfs or nf-lang there.
VERSION = "23.10.1"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tacho</groupId><artifactId>interop</artifactId><version>1</version>
<dependencies><dependency><groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>{VERSION}</version></dependency></dependencies>
</project>
"""
PIPELINE = """
process align {
  tag "$s"
  input: val s
  output: path 'out.txt'
  script:
  \"\"\"
  echo task $s > out.txt
  i=0; while [ \\$i -lt 30000 ]; do i=\\$((i+1)); done
  sleep 0.5; echo said; echo err >&2
  \"\"\"
}
process scratched {
  scratch true
  output: path 'big'
  script: "head -c 5000000 /dev/zero > big; echo there"
}
process failing {
  errorStrategy 'ignore'
  script: "exit 3"
}
process again {
  errorStrategy 'retry'
  maxRetries 1
  script: "exit ${task.attempt == 1 ? 1 : 0}"
}
process python {
  script:
  \"\"\"
  #!/usr/bin/env python3
  print('x' * 5)
  \"\"\"
}
workflow { align(Channel.of('s1', 's "2"')); scratched(); failing(); again(); python() }
"""
LATE = """
process late {
  time '2s'
  errorStrategy 'ignore'
  script: "sleep 333"
}
workflow { late() }
"""
HOOK = """process.beforeScript = 'command -v tacho >/dev/null && eval "$(tacho hook nextflow)" || true'\n"""
SHELL = "process.shell = ['tacho','run','-q','--nested','pass','--fail-open','-o','nextflow:.command.trace','--','/bin/bash','-ue']\n"
COMPARED = ("name", "status", "exit", "realtime", "%cpu", "peak_rss", "peak_vmem", "rchar", "wchar")
TASKS = 7  # with the second try


def install():
    """The command that is nextflow."""
    debian("openjdk-17-jre-headless", "maven")
    folder = WORK / f"nextflow-{VERSION}"
    if not (folder / "lib" / f"nextflow-{VERSION}.jar").exists():
        folder.mkdir(exist_ok=True)
        (folder / "pom.xml").write_text(POM)
        run("mvn", "-q", "-B", "-f", folder / "pom.xml", f"-Dmaven.repo.local={folder}/repository", "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}/lib", timeout=1200)
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/lib/*", "nextflow.cli.Launcher"]


class Pipeline:
    """One run of it in a folder of its own."""

    def __init__(self, nextflow, name, config, text=PIPELINE, path=f"{BIN}:{os.environ['PATH']}", env=None):
        self.folder = fresh(f"nextflow-{name}")
        (self.folder / "main.nf").write_text(text)
        (self.folder / "nextflow.config").write_text(config + "trace { enabled = true; file = 'trace.txt' }\n")
        self.env = {**os.environ, **(env or {}), "PATH": path, "TACHO_STORE": str(self.folder / "store"), "NXF_HOME": str(self.folder / "home"),
                    "NXF_OFFLINE": "true", "NXF_ANSI_LOG": "false"}
        self.said = run(*nextflow, "run", "main.nf", cwd=self.folder, env=self.env)
        with open(self.folder / "trace.txt", encoding="utf-8") as file:
            self.trace = {line["hash"]: line for line in csv.DictReader(file, delimiter="\t")}
        self.runs = [json.loads(file.read_text()) for file in (self.folder / "store").glob("*/run.json")]

    def work(self, short):
        return next(self.folder.glob(f"work/{short}*"))

    def left(self):
        """What each task says and leaves, by its name and status."""
        found = []
        for short, line in self.trace.items():
            files = {name: (self.work(short) / name).read_bytes() for name in (".command.out", ".command.err", ".exitcode", "out.txt", "big")
                     if (self.work(short) / name).exists()}
            found.append((line["name"], line["status"], line["exit"], files))
        return sorted(found, key=str)

    def exported(self):
        text = run(BIN / "tacho", "export", "--store", self.folder / "store", *(one["id"] for one in self.runs), "-f", "nextflow-tsv")
        return {line["hash"]: line for line in csv.DictReader(text.splitlines(), delimiter="\t")}

    def complaints(self):
        log = (self.folder / ".nextflow.log").read_text()
        return [line for line in log.splitlines() if " WARN " in line and "trace" in line.lower()]


def check_hooked(what, hooked, plain, executor=None):
    check(f"{what}: every task is a run", len(hooked.runs) == len(hooked.trace) == TASKS, (len(hooked.runs), hooked.said))
    check(f"{what}: what the tasks leave is as without tacho", hooked.left() == plain.left(), (hooked.left(), plain.left()))
    ids = {one["metadata"].get("external_run_id", "")[:9]: one for one in hooked.runs}
    check(f"{what}: its identity", sorted(ids) == sorted(hooked.trace), (sorted(ids), sorted(hooked.trace)))
    check(f"{what}: task and job names", all(one["metadata"]["task_name"] == hooked.trace[short]["name"] and
                                              one["metadata"]["job_name"] == one["metadata"]["task_name"].split(" (")[0] for short, one in ids.items()), ids)
    check(f"{what}: the engines are found", {(one["detected"]["orchestrator"], one["detected"].get("executor")) for one in hooked.runs} == {("nextflow", executor)},
          [one["detected"] for one in hooked.runs])
    shown, own = hooked.trace, hooked.exported()
    differ = [(short, key, shown[short][key], own[short][key]) for short in shown for key in COMPARED if shown[short][key] != own[short][key]]
    check(f"{what}: the trace file has tacho's figures as tacho export writes them", not differ, differ)
    check(f"{what}: Nextflow has nothing to say of the traces", not hooked.complaints(), hooked.complaints())


def check_nextflow(nextflow):
    plain = Pipeline(nextflow, "plain", "")
    check_hooked("nextflow", Pipeline(nextflow, "hooked", HOOK), plain)
    bare = Pipeline(nextflow, "bare", HOOK, path=os.environ["PATH"])
    check("nextflow: on a machine without tacho nothing changes", bare.left() == plain.left() and not bare.runs, bare.said)
    shell = Pipeline(nextflow, "shell", SHELL)
    check("nextflow, process.shell: what the tasks leave is as without tacho", shell.left() == plain.left(), shell.left())
    check("nextflow, process.shell: every task but those with a first line of their own", len(shell.runs) == TASKS - 1, shell.runs)
    late = Pipeline(nextflow, "late", HOOK, text=LATE)
    check("nextflow: a time limit ends the task and all of it", run("pgrep", "-fx", "sleep 333", rc=None) == "", late.said)
    check("nextflow: its run is told as ended by a signal", [one["outcome"]["signal"] for one in late.runs] == [15], late.runs)


def check_on_slurm(cluster, nextflow):
    settings = "process.executor = 'slurm'\nexecutor.pollInterval = '1s'\nexecutor.queueStatInterval = '1s'\n"
    env = {**cluster.env, "TACHO_NO_RECORD": "1"}  # or the cluster's TaskProlog records each batch script, too
    plain = Pipeline(nextflow, "slurm-plain", settings, env=env)
    hooked = Pipeline(nextflow, "slurm-hooked", settings + HOOK, env=env)
    check_hooked("nextflow on slurm", hooked, plain, "slurm")
    check("nextflow on slurm: the job's number", sorted(one["job"]["id"] for one in hooked.runs) == sorted(line["native_id"] for line in hooked.trace.values()),
          [one["job"] for one in hooked.runs])
