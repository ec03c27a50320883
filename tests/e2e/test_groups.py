"""Runs of one job of a scheduler as one: listed, shown, compared, advised, reported and exported (a group)."""
import base64
import datetime
import gzip
import json
import os

from stored_runs import make_run
from support import Case

START_S = 1_794_736_800.0


def slurm(number="4711", task=None, node="n1", restart=0, step=None, cluster="test", **more):
    job = {"scheduler": "slurm", "cluster": cluster, "id": number, "raw_id": number.split("_")[0], "restart": restart, "node": node, **more}
    if task is not None:
        job.update(task=task, tasks=8, step=step or 0)
    return job


class Groups(Case):
    """Times are absolute, so that rows of members lie as each test says."""

    def member(self, name, job, start, rows, exit_code=0, state="finished", peak_mib=None, requested=None):
        """rows: (seconds after the start, MiB); one second of CPU and 1000 bytes each."""
        peak = int((peak_mib or max(mib for _, mib in rows)) * 2**20)
        folder = make_run(self.store, name, "align", seconds=rows[-1][0], peak_bytes=peak, exit_code=exit_code, state=state, samples=len(rows),
                          totals={"cpu_user_s": len(rows) - 0.5, "cpu_system_s": 0.5, "io_read_bytes": 1000 * len(rows), "io_write_bytes": 5})
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        stamp = lambda at: datetime.datetime.fromtimestamp(START_S + start + at, datetime.timezone.utc).isoformat(timespec="milliseconds")[:23] + "Z"
        run["outcome"].update(started_at=stamp(0), finished_at=stamp(rows[-1][0]))
        run.update(job=job, requested=requested or {"cpus": 1, "memory_bytes": 8 << 30, "gpus": 0, "source": "slurm"})
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            json.dump(run, file)
        with open(os.path.join(folder, "metrics.csv"), "w", encoding="utf-8") as file:
            file.write("timestamp,process_utime,process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes\n")
            file.writelines(f"{START_S + start + at:.3f},0.9,0.1,1,{mib},1000\n" for at, mib in rows)
        return folder

    def eight(self):
        for task in range(8):
            self.member(f"20261115-{task:012x}", slurm("4711_3", task, f"n{task // 4 + 1}", array="4711", index=3), task * 0.1,
                        [(second, 100 + task) for second in range(1, 21)])

    def json_of(self, *words):
        done = self.tacho(*words)
        self.assertEqual(done.rc, 0, done)
        return json.loads(done.out)

    def lines(self, *words):
        done = self.tacho("runs", *words)
        self.assertEqual(done.rc, 0, done)
        return done.out.splitlines()[1:]

    def test_listed_as_one(self):
        self.eight()
        make_run(self.store, "20261101-00000000000f", "other", ago_s=1)
        other, group = self.lines()
        self.assertIn("slurm:4711_3 ×8", group)
        self.assertIn("align", group)
        self.assertNotIn("×", other)
        self.assertEqual(len(self.lines("--flat")), 9)
        self.assertEqual(len(self.lines("--limit", "1")), 1)
        self.assertEqual(len(self.lines("--limit", "2")), 2)
        self.assertIn("×8", self.lines("--limit", "2")[1])
        words = lambda lines: [line.split() for line in lines]
        self.assertEqual(words(self.lines("--since", "1h")), words([other]))
        for number in ("4711", "4711_3"):
            self.assertEqual(words(self.lines("--job-id", number)), words([group]))
        for number in ("471", ""):
            self.assertIn("No such runs", self.tacho("runs", "--job-id", number).out)
        flat = self.json_of("runs", "--json")
        self.assertEqual([run.get("group") for run in flat], [None] + ["slurm:4711_3"] * 8)
        self.assertEqual(len(self.json_of("runs", "--json", "--limit", "3")), 3)
        self.assertIn("slurm:4711_3 x8", self.tacho("runs", env={"LC_ALL": "C"}).out)

    def test_who_belongs_together(self):
        rows = [(1, 10), (2, 10)]
        for number, job in enumerate((slurm(), slurm(), slurm(restart=1), slurm(cluster="b"), slurm("4711+1"), slurm("4711_1", array="4711"))):
            self.member(f"20261115-{number:012x}", job, number, rows)
        lines = self.lines()
        self.assertEqual(len(lines), 5, lines)
        self.assertEqual(sum("slurm:4711 ×2" in line for line in lines), 1)
        self.assertEqual(len(self.lines("--job-id", "4711")), 5)
        self.assertEqual(len(self.lines("--job-id", "4711+1")), 1)
        self.member("20261115-0000000000ff", {"scheduler": "pbs", "id": "88[3]", "raw_id": "88[3].host", "index": 3}, 9, rows)
        self.assertEqual([len(self.lines("--job-id", number)) for number in ("88", "88[3]", "8")], [1, 1, 0])
        self.assertEqual(self.json_of("show", "slurm:4711.r1", "--json")["id"], "20261115-000000000002")
        done = self.tacho("show", "slurm:4711")
        self.assertEqual(done.rc, 125, done)
        self.assertIn("two clusters", done.err)
        self.assertEqual(self.tacho("show", "slurm:9999").rc, 125)

    def test_figures(self):
        self.member("20261115-000000000000", slurm(task=0), 0, [(10, 100), (20, 300), (30, 50)])
        self.member("20261115-000000000001", slurm(task=1), 5, [(10, 200), (20, 10)], exit_code=9, state="failed")
        self.member("20261115-000000000002", slurm(task=2), 31, [(1, 400), (9, 1)], exit_code=3, state="failed")
        group = self.json_of("show", "slurm:4711", "--json")
        self.assertEqual((group["id"], group["group"]), ("slurm:4711", "slurm:4711"))
        self.assertEqual(len(group["runs"]), 3)
        self.assertEqual(group["outcome"]["duration_s"], 40)
        self.assertEqual(group["outcome"]["state"], "failed")
        self.assertEqual(group["outcome"]["exit_code"], 9)
        self.assertEqual(group["totals"]["cpu_user_s"], 5.5)
        self.assertEqual(group["totals"]["io_read_bytes"], 7000)
        self.assertEqual(group["totals"]["io_write_bytes"], 15)
        # At 20 s the first has 300 and the second still 200, which changes at 25 s; the third comes when both are gone.
        self.assertEqual(group["totals"]["memory_peak_bytes"], 500 << 20)
        self.assertEqual(group["statistics"]["process_utime"]["sum"], 0.9 * 7)
        self.assertEqual(group["requested"], {"cpus": 3, "memory_bytes": 8 << 30, "gpus": 0, "source": "slurm"})
        self.assertEqual(group["metadata"]["job_name"], "align")
        self.assertEqual(len(self.tacho("show", "slurm:4711", "--path").out.splitlines()), 3)
        text = self.tacho("show", "slurm:4711").out
        self.assertIn("exit 9 after 40", text)
        self.assertIn("peak 500 MiB", text)
        (line,) = self.lines()
        self.assertIn("500 MiB", line)
        self.assertEqual(len(self.lines("--failed")), 1)

    def test_a_member_s_own_peak_is_the_least(self):
        self.member("20261115-000000000000", slurm(task=0), 0, [(1, 10), (2, 10)], peak_mib=900)
        self.member("20261115-000000000001", slurm(task=1), 0, [(1, 10), (2, 10)])
        self.assertEqual(self.json_of("show", "slurm:4711", "--json")["totals"]["memory_peak_bytes"], 900 << 20)

    def test_steps_follow_each_other_and_the_batch_script_has_all(self):
        rows = [(1, 10), (5, 10)]
        self.member("20261115-000000000000", slurm(), 0, [(1, 1), (20, 1)], requested={"cpus": 4, "memory_bytes": 1 << 30, "source": "slurm"})
        for step in range(2):
            for task in range(4):
                self.member(f"20261115-0000000000{step}{task + 1}", slurm(task=task, step=step), 6 * step, rows)
        group = self.json_of("show", "slurm:4711", "--json")
        self.assertEqual(group["requested"]["cpus"], 4)
        self.assertEqual(group["totals"]["memory_peak_bytes"], 41 << 20)

    def test_every_command_takes_it(self):
        self.eight()
        store = ["--store", self.store]
        advice = self.json_of("advise", "slurm:4711_3", "--json")
        self.assertEqual(advice["runs"], ["slurm:4711_3"])
        self.assertEqual(advice["advice"]["cpu"]["advised"], 8)
        page = self.path("page.html")
        self.assertEqual(self.tacho("report", "slurm:4711_3", "-o", page, *store).rc, 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn("slurm:4711_3", file.read())
        self.assertEqual(self.tacho("why", "slurm:4711_3").rc, 0)
        self.assertEqual(self.tacho("compare", "slurm:4711_3", "slurm:4711_3", "--fail-if", "time > +1%").rc, 0)
        for kind in ("csv", "jsonl", "nextflow", "nextflow-tsv", "snakemake", "snakemake-jsonl", "prom", "openmetrics", "jobstats", "markdown"):
            done = self.tacho("export", "slurm:4711_3", "-f", kind)
            self.assertEqual((done.rc, done.err), (0, ""), done)
            self.assertNotEqual(done.out, "")
        self.assertEqual(len(self.tacho("export", "slurm:4711_3", "-f", "nextflow-tsv").out.splitlines()), 2)
        self.assertEqual(len(self.tacho("export", "slurm:4711_3", "-f", "csv").out.splitlines()), 161)
        self.assertIn("%cpu=7729\n", self.tacho("export", "slurm:4711_3", "-f", "nextflow").out)

    def test_jobstats_has_a_node_once(self):
        self.eight()
        text = self.tacho("export", "slurm:4711_3", "-f", "jobstats").out
        data = json.loads(gzip.decompress(base64.b64decode(text[4:])))
        self.assertEqual(data["total_time"], 20)
        self.assertEqual(data["gpus"], 0)
        self.assertEqual(data["nodes"], {
            f"n{node + 1}": {"total_memory": 8 << 30, "used_memory": sum(100 + node * 4 + task for task in range(4)) << 20,
                             "total_time": 80, "cpus": 4} for node in range(2)})

    def test_a_running_and_a_broken_member(self):
        self.eight()
        folder = os.path.join(self.store, "20261115-000000000000")
        os.remove(os.path.join(folder, "metrics.csv"))
        with open(os.path.join(self.store, "20261115-000000000001", "metrics.csv"), "w", encoding="utf-8") as file:
            file.write("timestamp,process_memory_mib\n99999,x\n8999999999,5\n12,7\n")
        done = self.tacho("show", "slurm:4711_3")
        self.assertEqual(done.rc, 0, done)
        self.assertIn("1 of its runs have no rows", done.out)
