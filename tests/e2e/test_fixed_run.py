"""One fixed run in a store, exported in every format, byte by byte: what a reader of the contract would write down."""
import base64
import gzip
import json
import os

from support import Case

NAME = "20261115-a1b2"
FACTS = {
    "id": NAME, "tacho_version": "1.2.3", "mode": "run", "state": "finished", "command": ["bwa", "mem"],
    "metadata": {"job_name": "align", "task_name": 'bwa (s "1")', "orchestrator": "nextflow", "executor": "slurm", "external_run_id": "3f/9a1c2b",
                 "tags": []},
    "job": {"scheduler": "slurm", "cluster": "test", "id": "4711", "raw_id": "4711", "restart": 0, "node": "node01"},
    "requested": {"cpus": 4, "memory_bytes": 8589934592, "gpus": 0, "source": "slurm"},
    "host": {"host_hostname": "node01", "host_memory_mib": 65536, "host_cpu_model": "AMD EPYC 7763 64-Core Processor"},
    "interval_s": 60.0,
    "outcome": {"state": "finished", "exit_code": 0, "signal": None, "started_at": "2026-11-15T10:00:00.000Z",
                "finished_at": "2026-11-15T10:01:12.345Z", "duration_s": 72.345},
    "samples": 2,
    "method": {"cpu": "cgroup", "memory": "pss", "io": "proc_io", "gpu": "none"},
    "totals": {"cpu_user_s": 120.5, "cpu_system_s": 4.25, "memory_peak_bytes": 3221225472, "virtual_peak_bytes": 4294967296, "uss_peak_bytes": 3145728000,
               "read_chars": 209715200, "write_chars": 62914560, "read_calls": 12000, "write_calls": 3000, "io_read_bytes": 104857600,
               "io_write_bytes": 52428800, "switches_voluntary": 1500, "switches_involuntary": 300},
}
ROWS = """timestamp,process_children,process_utime,process_stime,process_memory_mib,process_disk_read_bytes,process_disk_write_bytes
1794736860.000,2,100.0000,4.0000,3072.000,104857600,0
1794736872.345,0,20.5000,0.2500,1024.000,0,52428800
"""
TRACE = """nextflow.trace/v2
realtime=72345
%cpu=1724
cpu_model=AMD EPYC 7763 64-Core Processor
rchar=209715200
wchar=62914560
syscr=12000
syscw=3000
read_bytes=104857600
write_bytes=52428800
%mem=47
vmem=4194304
rss=3145728
peak_vmem=4194304
peak_rss=3145728
vol_ctxt=1500
inv_ctxt=300
"""
TSV = (["task_id", "hash", "native_id", "name", "status", "exit", "submit", "duration", "realtime", "%cpu", "peak_rss", "peak_vmem", "rchar", "wchar"],
       ["1", "3f/9a1c2b", "4711", 'bwa (s "1")', "COMPLETED", "0", "2026-11-15 10:00:00.000", "1m 12s", "1m 12s", "172.4%", "3 GB", "4 GB", "200 MB",
        "60 MB"])
BENCHMARK = (["s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load", "cpu_time"],
             ["72.3450", "0:01:12", "3072.00", "4096.00", "3000.00", "3072.00", "100.00", "50.00", "172.44", "124.75"])
BENCHMARK_JSON = {"cpu_time": 124.75, "h:m:s": "0:01:12", "io_in": 100.0, "io_out": 50.0, "max_pss": 3072.0, "max_rss": 3072.0, "max_uss": 3000.0,
                  "max_vms": 4096.0, "mean_load": 172.43762526781396, "s": 72.345}
JOBSTATS = {"nodes": {"node01": {"total_memory": 8589934592, "used_memory": 3221225472, "total_time": 124.8, "cpus": 4}}, "total_time": 72, "gpus": 0}
INFO = 'executor="slurm",external_run_id="3f/9a1c2b",job_name="align",orchestrator="nextflow",run_id="20261115-a1b2",tacho_version="1.2.3",task_name="bwa (s \\"1\\")"'
SERIES = f"""tacho_job_info{{{INFO}}} 1
tacho_job_running{{job_name="align"}} 0
tacho_job_exit_code{{job_name="align"}} 0
tacho_job_start_time_seconds{{job_name="align"}} 1794736800
tacho_job_update_time_seconds{{job_name="align"}} 1794736872.345
tacho_job_end_time_seconds{{job_name="align"}} 1794736872.345
tacho_job_cpu_seconds_total{{job_name="align",mode="user"}} 120.5
tacho_job_cpu_seconds_total{{job_name="align",mode="system"}} 4.25
tacho_job_memory_bytes{{job_name="align"}} 1073741824
tacho_job_memory_peak_bytes{{job_name="align"}} 3221225472
tacho_job_disk_bytes_total{{direction="read",job_name="align"}} 104857600
tacho_job_disk_bytes_total{{direction="write",job_name="align"}} 52428800
tacho_job_processes{{job_name="align"}} 0
tacho_job_cpu_request_cores{{job_name="align"}} 4
tacho_job_memory_request_bytes{{job_name="align"}} 8589934592
"""


class FixedRun(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("store", NAME), mode=0o700)
        self.write(f"store/{NAME}/run.json", json.dumps(FACTS, indent=2) + "\n")
        self.write(f"store/{NAME}/metrics.csv", ROWS)

    def exported(self, name):
        """To stdout and into a file: the same bytes."""
        done = self.tacho("export", "--store", self.path("store"), NAME, "-f", name, env={"TZ": "UTC"})
        self.assertEqual((done.rc, done.err), (0, ""), done)
        self.assertEqual(self.tacho("export", "--store", self.path("store"), NAME, "-f", name, "-o", self.path("out"), env={"TZ": "UTC"}).rc, 0)
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), done.out)
        return done.out

    def test_of_the_engines(self):
        self.assertEqual(self.exported("nextflow"), TRACE)
        self.assertEqual(self.exported("nextflow-tsv"), "".join("\t".join(line) + "\n" for line in TSV))
        self.assertEqual(self.exported("snakemake"), "".join("\t".join(line) + "\n" for line in BENCHMARK))
        text = self.exported("snakemake-jsonl")
        self.assertEqual((json.loads(text), list(json.loads(text))), (BENCHMARK_JSON, sorted(BENCHMARK_JSON)))
        self.assertEqual(self.exported("csv"), ROWS)

    def test_jobstats(self):
        text = self.exported("jobstats")
        self.assertTrue(text.startswith("JS1:H4sIAAAAAAA"), text)
        plain = gzip.decompress(base64.b64decode(text[4:-1], validate=True)).decode()
        self.assertEqual(plain, json.dumps(JOBSTATS, separators=(",", ":")))

    def test_metrics(self):
        text = self.exported("prom")
        self.assertEqual("".join(line + "\n" for line in text.splitlines() if not line.startswith("#")), SERIES)
        text = self.exported("openmetrics")
        self.assertTrue(text.endswith("\n# EOF\n"), text[-60:])
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(lines, SERIES.splitlines())
        families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        self.assertEqual([name for name in families if name.endswith("_total")], [])
        self.assertIn("# TYPE tacho_job info", text)

    def test_rows_as_objects(self):
        lines = [json.loads(line) for line in self.exported("jsonl").splitlines()]
        self.assertEqual([line["timestamp"] for line in lines], [1794736860.0, 1794736872.345])
        self.assertEqual([line["cpu"]["process_utime_secs"] for line in lines], [100.0, 20.5])
