"""A Slurm of Debian on this machine alone: munged, slurmctld and two slurmd, all as root, no systemd, no slurmdbd, nothing outside WORK."""
import os
import pathlib
import re
import socket

from common import ROOT, debian, fresh, run, start, until

SETTINGS = """\
ClusterName=interop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=17000
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# .../linux crashed slurmstepd on kernel 6.18.
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
TaskProlog={root}/packaging/slurm/taskprolog
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=4 RealMemory=2000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    def __init__(self):
        debian("slurm-wlm", "munge")
        self.folder = folder = fresh("slurm")
        (folder / "munge").mkdir(mode=0o755)
        (folder / "state").mkdir()
        (folder / "out").mkdir()
        key = folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        conf = folder / "slurm.conf"
        conf.write_text(SETTINGS.format(host=socket.gethostname(), folder=folder, root=ROOT))
        self.env = {**os.environ, "SLURM_CONF": str(conf)}
        self.version = run("slurmctld", "-V").strip()
        munge = folder / "munge"
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
              f"--log-file={munge}/log", f"--seed-file={munge}/seed", log="munged.out")
        until((munge / "socket").exists, 30, "munged")
        start("slurmctld", "-D", log="slurmctld.out", env=self.env)
        for node in ("n1", "n2"):
            start("slurmd", "-D", "-N", node, log=f"slurmd-{node}.out", env=self.env)
        until(lambda: "idle" in run("sinfo", "-h", "-o", "%T %D", rc=None, env=self.env) and
              run("sinfo", "-h", "-t", "idle", "-o", "%D", rc=None, env=self.env).strip() == "2", 60, "two idle nodes")

    def submit(self, script, *options, env=None):
        """A batch script; returns the job's number."""
        path = self.folder / "job.sh"
        path.write_text(script)
        words = run("sbatch", "--parsable", "-o", f"{self.folder}/out/%j_%a.txt", "--open-mode=append", *options, path, env={**self.env, **(env or {})})
        return words.strip().split(";")[0]

    def states(self, job):
        return re.findall(r"JobState=(\S+)", run("scontrol", "show", "job", job, env=self.env, rc=None))

    def wait(self, job, *states, timeout_s=90):
        """Until every task of the job is in one of these states."""
        wanted = set(states or ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"))
        until(lambda: self.states(job) and set(self.states(job)) <= wanted, timeout_s, f"job {job} in {wanted}, it is {self.states(job)}")

    def control(self, *words):
        return run("scontrol", *words, env=self.env)

    def output(self, job):
        return "".join(path.read_text() for path in sorted(pathlib.Path(self.folder / "out").glob(f"{job}_*.txt")))
