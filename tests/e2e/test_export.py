"""Outputs for other tools: Nextflow's trace, Snakemake's benchmark, metrics text, jobstats; and tacho export."""
import base64
import gzip
import json
import os
import stat

from support import SANITIZED, TACHO, Case

KEYS = {"realtime", "%cpu", "cpu_model", "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "%mem", "vmem", "rss",
        "peak_vmem", "peak_rss", "vol_ctxt", "inv_ctxt"}


class Export(Case):
    def record(self, *outputs, command=("sh", "-c", "sleep 0.3"), rc=0, options=(), **keywords):
        words = [word for output in outputs for word in ("-o", output)]
        done = self.tacho("run", "-q", "-i", "0.1", "--store", self.path("store"), *options, *words, "--", *command, **keywords)
        self.assertEqual(done.rc, rc, done)
        return done

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def exported(self, form, *options, **keywords):
        done = self.tacho("export", "last", "-f", form, "--store", self.path("store"), *options, **keywords)
        self.assertEqual(done.rc, 0, done)
        return done.out

    def test_nextflow_trace(self):
        self.record(self.path("x.nftrace"), "nextflow:" + self.path("any"), self.path(".command.trace"))
        text = self.read("x.nftrace")
        lines = text.splitlines()
        self.assertEqual(lines[0], "nextflow.trace/v2")
        pairs = dict(line.split("=", 1) for line in lines[1:])
        self.assertLessEqual(set(pairs), KEYS)
        self.assertGreaterEqual(int(pairs["realtime"]), 300)
        self.assertEqual(text, self.read("any"))
        self.assertEqual(text, self.read(".command.trace"))
        self.assertEqual(text, self.exported("nextflow"))
        self.assertEqual([name for name in os.listdir(self.dir) if ".tmp" in name], [])

    def test_trace_is_merged(self):
        self.write("x.nftrace", "nextflow.trace/v2\nrealtime=987654\nodd=3\n")
        self.record(self.path("x.nftrace"), command=("sh", "-c", "exit 3"), rc=3)
        text = self.read("x.nftrace")
        self.assertIn("\nodd=3\n", text)
        self.assertNotIn("realtime=987654", text)

    def test_snakemake_benchmark(self):
        self.record(self.path("x.benchmark.tsv"), self.path("x.benchmark.jsonl"), "snakemake:" + self.path("y"))
        header, line = self.read("x.benchmark.tsv").splitlines()
        self.assertEqual(header.split("\t"), "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split())
        self.assertEqual(len(line.split("\t")), 10)
        self.assertEqual(json.loads(self.read("x.benchmark.jsonl"))["h:m:s"], "0:00:00")
        self.assertEqual(self.read("y"), self.read("x.benchmark.tsv"))
        self.assertEqual(self.read("y"), self.exported("snakemake"))
        self.assertEqual(self.read("x.benchmark.jsonl"), self.exported("snakemake-jsonl"))

    def test_metrics_text(self):
        self.record(self.path("x.prom"), self.path("x.openmetrics"), command=("sh", "-c", "grep -c running x.prom; sleep 0.3"))
        text = self.read("x.prom")
        self.assertIn('tacho_job_running{job_name="sh"} 0\n', text)
        self.assertIn('tacho_job_exit_code{job_name="sh"} 0\n', text)
        self.assertLessEqual(sum(not line.startswith("#") for line in text.splitlines()), 19)
        self.assertTrue(self.read("x.openmetrics").endswith("# EOF\n"))

    def test_metric_labels(self):
        done = self.tacho("run", "-q", "--no-store", "--metric-label", "lab=a\"b", "-o", "prom:-", "--", "true")
        self.assertEqual(done.rc, 0, done)
        self.assertIn('lab="a\\"b"', done.out)
        for bad in ("job=x", "run_id=5", "__a=1", "1a=2", "x", "a=" + "v" * 129):
            self.assertEqual(self.tacho("run", "--metric-label", bad, "--", "true").rc, 125, bad)

    def test_export_has_the_labels_of_the_run(self):
        self.record(self.path("x.prom"), "openmetrics:" + self.path("y"),
                    options=("--metric-label", 'lab=a"b\\\n=\udcff', "--metric-label", "run_id={run_id}", "--metric-label", "lab2=", "--metric-label", "lab2=7"))
        for form, name in (("prom", "x.prom"), ("openmetrics", "y")):
            text = self.read(name)
            self.assertIn('lab="a\\"b\\\\\\n=\ufffd",lab2="7",', text)
            self.assertEqual(self.exported(form), text)
        self.assertIn('{job_name="sh",other="1"}', self.exported("prom", "--metric-label", "other=1"))
        self.assertIn('{job_name="sh",site="2"}', self.exported("prom", env={"TACHO_METRIC_LABELS": "site=2"}))
        for bad in ("job=x", "1a=2"):
            self.assertEqual(self.tacho("export", "last", "-f", "prom", "--metric-label", bad, "--store", self.path("store")).rc, 125)

    def test_jobstats(self):
        self.record("jobstats:" + self.path("x"), command=("sh", "-c", "sleep 1.1"), env={"SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "2"})
        text = self.read("x").strip()
        self.assertTrue(text.startswith("JS1:H4sIAAAAAAA"), text)
        data = json.loads(gzip.decompress(base64.b64decode(text[4:])))
        self.assertEqual(data["total_time"], 1)
        (node,) = data["nodes"].values()
        self.assertEqual(node["cpus"], 2)
        self.assertNotIn("used_memory", node)
        self.record("jobstats:" + self.path("short"), command=("true",))
        self.assertEqual(self.read("short").strip(), "JS1:Short")

    def test_bad_places_refuse_the_start(self):
        for place in ("nextflow:" + self.path("none", "x"), self.path("none", "x.prom"), "prom:" + self.dir, self.path("x.parquet")):
            done = self.tacho("run", "-o", place, "--", "touch", self.path("started"))
            self.assertEqual(done.rc, 125, done)
            self.assertFalse(os.path.exists(self.path("started")))
        self.assertIn("docs/query.md", done.err)

    def test_a_link_is_followed_and_its_target_replaced(self):
        os.mkdir(self.path("real"))
        self.write("real/x", "old")
        os.symlink(self.path("real", "x"), self.path("link.prom"))
        self.record(self.path("link.prom"))
        self.assertTrue(os.path.islink(self.path("link.prom")))
        self.assertIn("tacho_job_running", self.read("real/x"))

    def test_a_link_to_what_is_not_there_yet(self):
        os.symlink("later", self.path("x.nftrace"))
        self.record(self.path("x.nftrace"))
        self.assertTrue(os.path.islink(self.path("x.nftrace")))
        self.assertIn("realtime=", self.read("later"))
        os.symlink(self.path("none", "x"), self.path("y.nftrace"))
        self.assertEqual(self.tacho("run", "-o", self.path("y.nftrace"), "--", "true").rc, 125)

    def test_a_link_is_followed_by_every_writer(self):
        self.record()
        for name, words in (("x", ("export", "last", "-f", "prom", "-o")), ("y", ("report", "last", "-o"))):
            os.symlink(name + "-real", self.path(name))
            self.assertEqual(self.tacho(*words, self.path(name), "--store", self.path("store")).rc, 0)
        os.symlink("z-real", self.path("z.html"))
        self.record(self.path("z.html"))
        for name in ("x", "y", "z.html"):
            self.assertTrue(os.path.islink(self.path(name)), name)
        for name in ("x-real", "y-real", "z-real"):
            self.assertGreater(os.path.getsize(self.path(name)), 100, name)

    def test_a_strangers_link_where_everybody_writes(self):
        """As the kernel does it for those who open a path: root's files are not replaced through /tmp."""
        self.need_root()
        self.write("precious", "mine\n")
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o1777)
        for ending in (".prom", ".nftrace", ".md", ".html", ".benchmark.tsv", ".csv", ".csv.gz", ".jsonl", ""):
            link = self.path("open", "x" + ending)
            os.symlink("../precious", link)
            os.lchown(link, 65534, 65534)
            output = link if ending else "jobstats:" + link
            done = self.tacho("run", "-q", "--no-store", "-o", output, "--", "true")
            self.assertEqual((done.rc, len(done.err.splitlines())), (125, 1), done)
        self.assertEqual(self.read("precious"), "mine\n")

    def test_files_of_others_where_everybody_writes(self):
        """As the kernel has it with fs.protected_regular and _fifos, also where those are off."""
        self.need_root()
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o1777)
        for ending in (".prom", ".nftrace", ".md", ".html", ".benchmark.tsv", ".csv", ".csv.gz", ".jsonl"):
            for make in (lambda path: self.write(os.path.relpath(path, self.dir), "theirs\n", 0o666), os.mkfifo):
                path = self.path("open", "x" + ending)
                make(path)
                os.chown(path, 65534, 65534)
                done = self.tacho("run", "-q", "--no-store", "-o", path, "--", "true")
                self.assertEqual((done.rc, len(done.err.splitlines())), (125, 1), done)
                self.assertIn("somebody else's file", done.err)
                if os.path.isfile(path):
                    self.assertEqual(self.read(os.path.relpath(path, self.dir)), "theirs\n")
                os.unlink(path)
                self.record(path, command=("true",))  # and our own
                self.record(path, command=("true",))
                os.unlink(path)

    def test_what_is_special_is_written_to_and_stays(self):
        self.need_root()
        device = self.path("null")
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.symlink("null", self.path("link.prom"))
        self.record(*(prefix + device for prefix in ("nextflow:", "prom:", "snakemake:", "openmetrics:", "jobstats:", "markdown:")), self.path("link.prom"))
        store = ["--store", self.path("store")]
        self.assertEqual(self.tacho("export", "last", "-f", "csv", "-o", device, *store).rc, 0)
        self.assertEqual(self.tacho("report", "last", "-o", device, *store).rc, 0)
        self.assertTrue(stat.S_ISCHR(os.lstat(device).st_mode))
        self.assertTrue(os.path.islink(self.path("link.prom")))
        fifo = self.path("x.nftrace")
        os.mkfifo(fifo)
        done = self.record(fifo)
        self.assertEqual(len(done.err.splitlines()), 1, done)
        self.assertTrue(stat.S_ISFIFO(os.lstat(fifo).st_mode))

    def test_a_place_that_goes_away(self):
        for ending in (".prom", ".nftrace", ".md", ".benchmark.tsv"):
            os.mkdir(self.path("d"))
            done = self.record(self.path("d", "x" + ending), command=("sh", "-c", f"rm -r {self.path('d')}; exit 3"), rc=3)
            self.assertEqual(len(done.err.splitlines()), 1, done)

    def test_traces_that_are_there_already(self):
        for before, kept in (("nextflow.trace/v2\nrealti", ""), ("pid state\n1 0\n", ""), ("nextflow.trace/v2\na=1\nrealtime=5\nrealtime=6\n", "a=1\n"), ("\0" * 2_000_000, "")):
            self.write("x.nftrace", before)
            self.record(self.path("x.nftrace"))
            text = self.read("x.nftrace")
            self.assertTrue(text.startswith("nextflow.trace/v2\n" + kept + "realtime="), text[:100])
            self.assertEqual(text.count("realtime="), 1)

    def test_no_password_is_repeated(self):
        done = self.tacho("run", "-o", "prometheus+https://user:s3cret@host/x", "--", "true")
        self.assertEqual(done.rc, 125, done)
        self.assertNotIn("s3cret", done.err)

    def test_export_usage(self):
        self.record()
        store = ["--store", self.path("store")]
        self.assertEqual(self.tacho("export", "-f", "prom", *store).rc, 125)
        self.assertEqual(self.tacho("export", "last", *store).rc, 125)
        self.assertEqual(self.tacho("export", "last", "-f", "snakmake", *store).rc, 125)
        self.assertEqual(self.tacho("export", "last", "last", "-f", "prom", *store).rc, 125)
        self.assertEqual(self.tacho("export", "nosuchrun", "-f", "prom", *store).rc, 125)
        self.assertEqual(self.tacho("export", "last", "-f", "csv", "-o", self.path("none", "x"), *store).rc, 1)
        done = self.tacho("export", "last", "last", "-f", "nextflow-tsv", *store)
        self.assertEqual(len(done.out.splitlines()), 3, done)
        folder = self.run_folders(self.path("store"))[0]
        with open(os.path.join(folder, "metrics.csv"), encoding="utf-8") as file:
            self.assertEqual(self.exported("csv"), file.read())

    def test_markdown(self):
        self.write("README.md", "# Before\n")
        name = "a|b`<c>&\nd"
        self.record(self.path("README.md"), "markdown:" + self.path("y"), command=("sh", "-c", "tacho mark 'p|1' 2>&1; sleep 0.1; echo " + "x" * 500),
                    env={"PATH": os.path.dirname(TACHO) + ":" + os.environ["PATH"], "TACHO_JOB_NAME": name})
        text = self.read("README.md")
        self.assertTrue(text.startswith("# Before\n### tacho: a&#124;b&#96;&lt;c&gt;&amp; d\n\n"), text)
        self.assertIn("\n| result | ok |\n", text)
        self.assertIn("\n| p&#124;1 | ", text)
        self.assertNotIn("x" * 201, text)
        self.assertEqual(text, "# Before\n" + self.read("y"))
        self.assertEqual(self.read("y"), self.exported("markdown"))
        self.record("markdown:" + self.path("y"))
        self.assertEqual(self.read("y").count("### tacho: "), 2)
        self.write("large", "x" * (1 << 20))
        done = self.record("markdown:" + self.path("large"))
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.assertNotIn("rows", done.err)  # the job is over, and every row was written
        self.assertEqual(os.path.getsize(self.path("large")), 1 << 20)
        done = self.tacho("run", "-q", "--no-store", "-o", "markdown:-", "--", "true")
        self.assertTrue(done.out.startswith("### tacho: true\n"), done)
        self.assertEqual(self.tacho("run", "-o", "markdown:/nonexistent/x", "--", "true").rc, 125)

    def test_json_lines_of_a_stored_run(self):
        self.record()
        lines = [json.loads(line) for line in self.exported("jsonl").splitlines()]
        self.assertGreater(len(lines), 1)

    def test_totals_of_the_whole_tree(self):
        self.record(self.path("x.nftrace"), command=("sh", "-c", "head -c 5000000 /dev/zero | cat >/dev/null; sleep 0.2"))
        pairs = dict(line.split("=", 1) for line in self.read("x.nftrace").splitlines()[1:])
        self.assertLessEqual(set(pairs), KEYS)
        self.assertEqual(set(pairs), KEYS)
        for key in ("rchar", "wchar"):
            self.assertTrue(10_000_000 <= int(pairs[key]) < 10_300_000, pairs)
        if not SANITIZED:  # a sanitized tacho is larger than the job, which begins as a copy of it
            self.assertGreaterEqual(int(pairs["peak_vmem"]), int(pairs["peak_rss"]))

    def test_what_is_resident_is_mapped(self):
        """However short the job: a process that ends before it is looked at again has grown since it was seen."""
        for number in range(10):
            self.record(self.path(f"{number}.nftrace"), command=("true",))
            pairs = dict(line.split("=", 1) for line in self.read(f"{number}.nftrace").splitlines()[1:])
            self.assertGreaterEqual(int(pairs.get("peak_vmem", 1 << 40)), int(pairs["peak_rss"]))
