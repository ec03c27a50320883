"""What tacho makes of jobs of a real Slurm: batch scripts, arrays, steps on two nodes, requeues, heterogeneous jobs, a cancelled job, every task by TaskProlog,
and the summary for AdminComment as reportseff reads it."""
import base64
import gzip
import json
import os
import re

from common import BIN, BUILD, ROOT, check, fresh, run, until

SHELLS = BUILD / "libexec/tacho/shell"
BURN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 1.2"


class Place:
    """A store of its own, and how jobs are told of it."""

    def __init__(self, cluster, name, record="store"):
        self.cluster = cluster
        self.store = fresh(f"slurm-store-{name}")
        settings = cluster.folder / f"settings-{name}"
        settings.write_text(f"RECORD={record}\nSTORE={self.store}\nTACHO={BIN}/tacho\n")
        self.env = {"TACHO_SLURM_SETTINGS": str(settings), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def job(self, script, *options, states=()):
        number = self.cluster.submit(script, *options, env=self.env)
        self.cluster.wait(number, *states)
        return number

    def runs(self):
        found = [json.loads(path.read_text()) for path in self.store.glob("*/run.json")]
        return sorted(found, key=lambda one: (one["job"]["id"], one["job"].get("step", -1), one["job"].get("task", -1)))

    def tacho(self, *words, rc=0):
        return run(BIN / "tacho", *words, "--store", self.store, rc=rc)


def batch(cluster):
    place = Place(cluster, "batch")
    number = place.job(f"#!{SHELLS}/bash\nsleep 0.5; exit 3\n", "-J", "align", "-c2", "--mem=100", "-t", "5")
    found = place.runs()
    check("slurm: a batch script by its first line is one run", len(found) == 1, found)
    one = found[0]
    check("slurm: its identity", one["job"] == {"scheduler": "slurm", "cluster": "interop", "id": number, "raw_id": number, "restart": 0, "node": "n1",
                                                "nodes": 1}, one["job"])
    check("slurm: its size", (one["requested"]["cpus"], one["requested"]["memory_bytes"], one["requested"]["gpus"]) == (2, 100 << 20, 0), one["requested"])
    check("slurm: its name and status", (one["metadata"]["job_name"], one["outcome"]["exit_code"]) == ("align", 3), one["outcome"])
    check("slurm: the job's own status", cluster.states(number) == ["FAILED"], cluster.states(number))
    check("slurm: a group of one is the run", json.loads(place.tacho("show", f"slurm:{number}", "--json"))["id"] == one["id"])


def array(cluster):
    place = Place(cluster, "array")
    number = place.job(f"#!{SHELLS}/bash\nsrun tacho run -q -- sleep 0.3\n", "--array=1-4", "-n1")
    found = place.runs()
    names = sorted({one["job"]["id"] for one in found})
    check("slurm: an array's tasks have ids of their own", names == [f"{number}_{index}" for index in range(1, 5)], names)
    check("slurm: script and step of each", len(found) == 8 and {one["job"]["array"] for one in found} == {number}, len(found))
    lines = place.tacho("runs", "--job-id", number).splitlines()[1:]
    check("slurm: an array is four lines", len(lines) == 4 and all("×2" in line for line in lines), lines)
    check("slurm: one task of it", len(place.tacho("runs", "--job-id", f"{number}_3").splitlines()) == 2)
    check("slurm: each run by itself", len(place.tacho("runs", "--flat").splitlines()) == 9)
    flat = json.loads(place.tacho("runs", "--json"))
    check("slurm: --json is flat with groups", sorted(one["group"] for one in flat) == sorted(f"slurm:{name}" for name in names * 2))


def steps(cluster):
    place = Place(cluster, "steps")
    number = place.job(f"#!/bin/bash\nsrun -n8 tacho run -q -i 0.2 -- sh -c '{BURN}'\n", "-N2", "-n8", "--mem=200")
    found = place.runs()
    check("slurm: 8 tasks on 2 nodes are 8 runs", len(found) == 8 and len({one["id"] for one in found}) == 8, cluster.output(number))
    check("slurm: their tasks", sorted(one["job"]["task"] for one in found) == list(range(8)))
    check("slurm: their nodes", sorted({one["job"]["node"] for one in found}) == ["n1", "n2"])
    check("slurm: a task asked for one CPU", {one["requested"]["cpus"] for one in found} == {1})
    name = f"slurm:{number}"
    group = json.loads(place.tacho("show", name, "--json"))
    for key in ("cpu_user_s", "cpu_system_s"):
        total = sum(one["totals"][key] for one in found)
        check(f"slurm: {key} of a group is its members'", abs(group["totals"][key] - total) < 1e-3, (group["totals"][key], total))
    peaks = [one["totals"]["memory_peak_bytes"] for one in found]
    peak = group["totals"]["memory_peak_bytes"]
    check("slurm: its memory peak", max(peaks) <= peak <= sum(peaks), (peak, peaks))
    check("slurm: what was asked for", (group["requested"]["cpus"], group["requested"]["memory_bytes"]) == (8, 400 << 20), group["requested"])
    check("slurm: one line of eight", f"{name} ×8" in place.tacho("runs"))
    for words in (("show", name), ("why", name), ("report", name, "-o", place.store.parent / "slurm-group.html")):
        check(f"slurm: {words[0]} of a group", place.tacho(*words) != "")
    comment(place, number, found)


# What reportseff asks of sacct: which columns there are, then these of the job.
SACCT = r"""#!/bin/sh
case "$*" in *--helpformat*) echo "JobID JobIDRaw State AllocCPUS TotalCPU Elapsed Timelimit ReqMem MaxRSS NNodes NTasks REQMEM Partition AdminComment"; exit 0 ;; esac
for word in "$@"; do case $word in --format=*) columns=${word#--format=} ;; esac; done
line=
for column in $(echo "$columns" | tr , ' '); do
  case $column in
    JobID|JobIDRaw) value=@JOB@ ;; State) value=COMPLETED ;; AllocCPUS) value=8 ;; Elapsed) value=00:00:02 ;; Timelimit) value=00:05:00 ;; TotalCPU) value=00:00:00 ;;
    REQMEM|ReqMem) value=400M ;; NNodes) value=2 ;; AdminComment) value=@COMMENT@ ;; *) value= ;;
  esac
  line="$line$value^|^"
done
echo "$line"
"""


def comment(place, number, found):
    """The epilog's words to sacctmgr, read back by reportseff with stand-ins for both programs of a database that is not here."""
    folder = fresh("slurm-stand-ins")
    called = folder / "called"
    (folder / "sacctmgr").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {called}\n')
    (folder / "sacctmgr").chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": number, "SLURM_JOB_USER": "root", **{key: place.env[key] for key in ("TACHO_SLURM_SETTINGS",)}}
    run(ROOT / "packaging/slurm/epilogslurmctld", env=env)
    words = called.read_text().splitlines()
    check("slurm: the epilog tells the job", words[:5] == ["-i", "update", "job", "where", f"jobid={number}"], words)
    text = words[-1].partition("=")[2]
    check("slurm: the epilog's text is export's", text == place.tacho("export", f"slurm:{number}", "-f", "jobstats").strip(), text)
    data = json.loads(gzip.decompress(base64.b64decode(text[4:])))
    check("slurm: two nodes of four CPUs", {name: node["cpus"] for name, node in data["nodes"].items()} == {"n1": 4, "n2": 4}, data)
    (folder / "sacct").write_text(SACCT.replace("@JOB@", number).replace("@COMMENT@", text))
    (folder / "sacct").chmod(0o755)
    said = run(place.cluster.reportseff, "--format=JobID,State,CPUEff,MemEff", "--no-color", number,
               env={**place.cluster.env, "PATH": f"{folder}:{os.environ['PATH']}"})
    figures = [float(word) for word in re.findall(r"([\d.]+)%", said)]
    used = sum(node["used_memory"] / node["total_memory"] for node in data["nodes"].values()) / 2 * 100
    busy = sum(node["total_time"] / node["cpus"] for node in data["nodes"].values()) / 2 / data["total_time"] * 100
    check("slurm: reportseff reads it", len(figures) == 2 and abs(figures[0] - busy) < 1 and abs(figures[1] - used) < 1, (said, busy, used))
    check("slurm: of the right time", sum(node["total_time"] for node in data["nodes"].values()) <= sum(
        one["totals"]["cpu_user_s"] + one["totals"]["cpu_system_s"] for one in found) + 0.2, data)


def large_array(cluster):
    """200 tasks of an array, each a step of 8 tasks on two nodes."""
    place = Place(cluster, "large")
    number = cluster.submit("#!/bin/bash\nsrun -n8 tacho run -q -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'\n", "--array=1-200", "-N2", "-n8",
                            env=place.env)
    cluster.wait(number, "COMPLETED", timeout_s=1500)
    flat = json.loads(place.tacho("runs", "--json"))
    check("slurm: 1600 runs", len(flat) == 1600 and len({one["id"] for one in flat}) == 1600, len(flat))
    lines = place.tacho("runs").splitlines()[1:]
    check("slurm: 200 groups of eight", len(lines) == 200 and all("×8" in line for line in lines), lines[:3])
    wrong = []
    for index in range(1, 201):
        name = f"slurm:{number}_{index}"
        total = sum(one["totals"]["cpu_user_s"] + one["totals"]["cpu_system_s"] for one in flat if one["group"] == name)
        group = json.loads(place.tacho("show", name, "--json"))["totals"]
        wrong += [] if abs(group["cpu_user_s"] + group["cpu_system_s"] - total) < 1e-3 else [(name, group, total)]
    check("slurm: CPU of each group is its members'", not wrong, wrong[:3])


def requeue(cluster):
    place = Place(cluster, "requeue")
    number = cluster.submit(f"#!{SHELLS}/bash\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 60\nsleep 0.3\n", "--requeue", env=place.env)
    cluster.wait(number, "RUNNING")
    until(lambda: place.runs(), 30, "the first run")
    cluster.control("requeue", number)
    cluster.wait(number, "PENDING")
    cluster.control("update", f"job={number}", "StartTime=now")  # it would wait for two minutes
    cluster.wait(number, "COMPLETED")
    found = place.runs()
    check("slurm: a requeued job is two runs", sorted(one["job"]["restart"] for one in found) == [0, 1], [one["job"] for one in found])
    groups = sorted(one["group"] for one in json.loads(place.tacho("runs", "--json")))
    check("slurm: and two groups", groups == [f"slurm:{number}", f"slurm:{number}.r1"], groups)
    states = {one["group"]: one["outcome"]["state"] for one in json.loads(place.tacho("runs", "--json"))}
    check("slurm: the first did not end well", states[f"slurm:{number}"] != "finished" and states[f"slurm:{number}.r1"] == "finished", states)


def heterogeneous(cluster):
    place = Place(cluster, "het")
    script = "#!/bin/bash\n#SBATCH -n1 -c1 --mem=100\n#SBATCH hetjob\n#SBATCH -n1 -c2 --mem=200\nsrun --het-group=0,1 tacho run -q -- sleep 0.3\n"
    number = place.job(script, "-N1")
    found = place.runs()
    check("slurm: components have ids", [one["job"]["id"] for one in found] == [number, f"{number}+1"], [one["job"] for one in found])
    sizes = [(one["requested"]["cpus"], one["requested"]["memory_bytes"] >> 20) for one in found]
    check("slurm: and sizes of their own", sizes == [(1, 100), (2, 200)], sizes)
    check("slurm: both by the job's number", len(place.tacho("runs", "--job-id", number).splitlines()) == 3)


def cancelled(cluster):
    place = Place(cluster, "cancel")
    number = cluster.submit(f"#!{SHELLS}/bash\nsleep 60\n", env=place.env)
    cluster.wait(number, "RUNNING")
    until(lambda: [path for path in place.store.glob("*/metrics.csv") if path.read_text().count("\n") > 2], 30, "two rows")
    run("scancel", number, env=cluster.env)
    cluster.wait(number, "CANCELLED")
    ended = lambda: place.runs()[0]["outcome"]["state"] != "running" or json.loads(place.tacho("runs", "--json"))[0]["outcome"]["state"] != "running"
    until(ended, 30, "the run's end")
    one = json.loads(place.tacho("runs", "--json"))[0]
    check("slurm: a cancelled job did not end well", one["outcome"]["state"] in ("failed", "interrupted"), one["outcome"])
    check("slurm: its rows are there", one["samples"] >= 2, one["samples"])


def every_task(cluster):
    place = Place(cluster, "prolog", record="attach")
    number = place.job("#!/bin/bash\nsleep 0.5\nsrun -n2 sh -c 'echo task; sleep 1'\necho \"$TACHO_STORE\"\n", "-n2")
    check("slurm: TaskProlog changes nothing of the job", cluster.output(number) == f"task\ntask\n{place.store}\n" and cluster.states(number) == ["COMPLETED"],
          cluster.output(number))
    done = lambda: len(place.runs()) == 3 and all(one["outcome"]["state"] == "finished" for one in place.runs())
    until(done, 30, "three runs that have ended")
    found = place.runs()
    check("slurm: the script and two tasks by TaskProlog", [(one["job"].get("step"), one["job"].get("task")) for one in found] == [(None, None), (0, 0), (0, 1)],
          [one["job"] for one in found])
    check("slurm: attached, and so without a status", {(one["mode"], one["outcome"]["exit_code"]) for one in found} == {("attach", None)})
    seconds = [one["outcome"]["duration_s"] for one in found]
    check("slurm: from the first instant", seconds[0] >= 1.5 and min(seconds[1:]) >= 0.9, seconds)
    check("slurm: one job", f"slurm:{number} ×3" in place.tacho("runs"))
    place = Place(cluster, "broken", record="attach")
    (cluster.folder / "settings-broken").write_text(f"RECORD=attach\nSTORE=/proc/none\nTACHO={BIN}/tacho\n")
    number = place.job("#!/bin/bash\necho fine\n")
    check("slurm: a store that cannot be is not the job's business", cluster.states(number) == ["COMPLETED"] and cluster.output(number) == "fine\n",
          cluster.output(number))
