"""tacho advise, and the answers to mistakes."""
import json
import os
import subprocess

from stored_runs import make_run
from support import TACHO, Case


class Advise(Case):
    def make(self, digit, **more):
        return make_run(self.store, f"20261115-00000000000{digit}", **more)

    def advice(self, *words):
        done = self.tacho("advise", *words, "--json")
        self.assertEqual(done.rc, 0, done)
        return json.loads(done.out)["advice"]

    def test_refused(self):
        self.make(1, seconds=9, job="short")
        self.make(2, seconds=60, samples=9)
        self.make(3, state="failed", exit_code=127, seconds=1, samples=1)  # it failed to start
        self.make(4, job="bad", state="failed", exit_code=1)
        for words in (["last:short"], ["000000000002"], ["000000000003"], ["--job", "nosuch"], ["--job", "short"], ["--job", "bad"]):
            with self.subTest(words):
                done = self.tacho("advise", *words, "--json")
                self.assertEqual(done.rc, 4, done)
                self.assertIsNone(json.loads(done.out)["advice"])
                self.assertTrue(json.loads(done.out)["reason"])
                done = self.tacho("advise", *words)
                self.assertEqual((done.rc, done.out), (4, ""), done)
                self.assertIn("no advice", done.err)
        self.make(5, job="late", state="failed", exit_code=127)  # a shell that found no command after 100 s
        for name in ("last:bad", "last:late"):  # one that failed, by its name: with a warning
            done = self.tacho("advise", name)
            self.assertEqual(done.rc, 0, done)
            self.assertIn("did not end well", done.err)
        for words in (["nosuch"], [], ["--job", "x", "last"], ["last", "--for", "lsf"]):
            self.assertEqual(self.tacho("advise", *words).rc, 125, words)

    def test_history(self):
        for digit in range(1, 5):
            self.make(digit, job="train", cores=digit, seconds=100 * digit, peak_bytes=digit << 30, ago_s=digit * 100)
        self.make(5, job="train", state="failed", exit_code=1, peak_bytes=100 << 30)
        advice = self.advice("--job", "train")
        self.assertEqual((advice["cpu"]["advised"], advice["memory"]["advised"], advice["time"]["advised"]), (4, 4916, 500))
        one = self.advice("000000000001")
        self.assertEqual((one["cpu"]["used"], one["cpu"]["state"], one["memory"]["advised"], one["gpu"]["advised"]), (1, "over", 1280, 0))
        for what in ("cpu", "memory", "gpu"):
            self.assertIn(advice[what]["state"], ("under", "right", "over"))
            self.assertTrue(advice[what]["risk"])

    def test_out_of_memory(self):
        self.make(1, state="failed", exit_code=137, peak_bytes=1 << 30, outcome={"oom_killed": True}, limits={"memory_limit_bytes": 3 << 30})
        advice = self.advice("last")
        self.assertEqual((advice["memory"]["advised"], advice["guess"], advice["memory"]["state"], advice["memory"]["asked"]), (6144, True, "under", 3072))
        self.assertIn("guess", self.tacho("advise", "last").err)

    def test_lines(self):
        self.make(1, cores=3.5, seconds=100, requested={"cpus": 8, "memory_bytes": 16 << 30, "source": "slurm"})
        for target, wanted in (("slurm", "#SBATCH --cpus-per-task=4\n#SBATCH --mem=1280M\n#SBATCH --time=00:03:00\n"),
                               ("kubernetes", 'resources: {requests: {cpu: "4", memory: 1280Mi}, limits: {cpu: "4", memory: 1280Mi}}\n'),
                               ("nextflow", "process { cpus = 4; memory = '1280 MB' }\n"), ("snakemake", "threads: 4\nresources: mem_mb=1343\n"),
                               ("wdl", 'runtime { cpu: 4 memory: "1280 MiB" }\n'), ("docker", "docker run --cpus 4 --memory 1280m\n")):
            self.assertEqual(self.tacho("advise", "last", "--for", target).out, wanted)
            self.assertEqual("\n".join(json.loads(self.tacho("advise", "last", "--json", "--for", target).out)["lines"]) + "\n", wanted)
        self.assertEqual((self.advice("last")["cpu"]["asked"], self.advice("last")["cpu"]["state"]), (8, "over"))

    def test_prices(self):
        self.make(1, cores=2, seconds=3600, peak_bytes=8 << 30)
        rows = "".join(f"s{i},v,{i},{i * 4},0,0,0.{i},USD\n" for i in range(1, 9))
        prices = self.write("p.csv", "server,vendor,vcpus,memory_gib,gpus,gpu_memory_gib,price_per_hour,currency\n" + rows + "broken,v,,,,,,\n")
        done = self.tacho("advise", "last", "--prices", prices, "--json")
        found = json.loads(done.out)["prices"]
        self.assertEqual([(row["server"], row["run_cost"]) for row in found], [("s3", 0.3), ("s4", 0.4), ("s5", 0.5), ("s6", 0.6), ("s7", 0.7)])
        self.assertIn("1 line without", done.err)
        self.assertIn("0.300000", self.tacho("advise", "last", "--prices", prices).out)
        for text, word in (("server,vcpus\nx,1\n", "memory_gib"), ("", "lacks"), ("\x00\xff,,\n", "lacks")):
            done = self.tacho("advise", "last", "--prices", self.write("bad.csv", text))
            self.assertEqual(done.rc, 125, done)
            self.assertIn(word, done.err)
        self.assertEqual(self.tacho("advise", "last", "--prices", self.path("nosuch")).rc, 125)


class Coach(Case):
    def test_mistakes(self):
        self.write("job.py", "print(1)\n")
        self.write("tool.py", "#!/bin/sh\n", 0o755)
        for words, rc, wanted in ((["run", "a | b"], 127, "tacho run -- sh -c 'a | b'"), (["run", "FOO=1", "cmd"], 127, "tacho run -- env FOO=1 cmd"),
                                  (["run", "FOO=1 cmd"], 127, "tacho run -- sh -c 'FOO=1 cmd'"), (["run", "cd", "/tmp"], 127, "cd /tmp && tacho run"),
                                  (["run", "job.py", "x"], 127, "tacho run -- python3 job.py x"), (["run", "./job.py"], 126, "tacho run -- python3 ./job.py"),
                                  (["run", "tool.py"], 127, "tacho run -- ./tool.py"), (["run", "--", "/tmp"], 126, "folder"),
                                  (["attach", "4242"], 125, "tacho attach --pid 4242"), (["attach", "--name", "python"], 125, "tacho attach --pid PID"),
                                  (["report", "x.pdf"], 125, "tacho report last -o x.html"), (["report", "last", "-o", "x.pdf"], 125, "-o x.html"),
                                  (["compare", "a.jsonl", "b.jsonl"], 125, "a.csv"), (["run", "--pid", "1", "--", "true"], 125, "tacho attach --pid 1"),
                                  (["run", "-o", "gs://b/x", "--", "true"], 125, "bq://"), (["rm"], 125, "tacho rm RUN"), (["prune"], 125, "--older 30d"),
                                  (["FOO=1", "cmd", "x y"], 125, "tacho run -- env FOO=1 cmd 'x y'"), (["python3", "train.py"], 125, "tacho run -- python3 train.py"),
                                  (["job.py"], 125, "tacho run -- python3 job.py"), (["rusn"], 125, "did you mean runs?"), (["ls"], 125, "did you mean runs?"), (["record", "--", "make"], 125, "tacho run -- make)"),
                                  (["top", "4242424"], 125, "tacho top --pid 4242424"), (["report", "last", "-o", "."], 125, "-o ./report.html"), (["list"], 125, "tacho runs"),
                                  (["report", "last", "-o", "no/r.html"], 125, "mkdir -p no"), (["run", "-o", "x.pdf", "--", "true"], 125, "-o x.html"),
                                  (["run", "-o", ".", "--", "true"], 125, "./run.csv"), (["run", "-o", "s3:/b/x", "--", "true"], 125, "s3://b/x"),
                                  (["run", "-o", "http://h/x", "--", "true"], 125, "prometheus+http://h/x"), (["run", "--", "-i", "1s"], 127, "before the dashes"),
                                  (["run", "./nosuch.sh"], 127, "no such file"), (["run", "cd"], 127, "(cd FOLDER &&"),
                                  (["run", "ulimit", "-n", "64"], 127, "sh -c 'ulimit -n 64; CMD'"), (["run", "-o", "az://x", "--", "true"], 125, "cannot write to \"az://\"")):
            with self.subTest(words):
                done = self.tacho(*words)
                self.assertEqual(done.rc, rc, done)
                self.assertIn(wanted, done.err)
                if words in (["run", "--", "/tmp"], ["run", "-o", "az://x", "--", "true"]):
                    self.assertNotRegex(done.err, "chmod|did you mean")
        self.assertEqual(self.run_folders(), [])

    def test_what_is_ignored_is_said(self):
        done = self.tacho("run", "--", "true", env={"TACHO_INTERVALL": "2s"})
        self.assertEqual(done.rc, 0)
        self.assertIn("TACHO_INTERVALL; did you mean TACHO_INTERVAL?", done.err)
        self.assertNotIn("nobody reads", self.tacho("run", "--", "true").err)
        self.assertNotIn("did you mean", self.tacho("run", "--", "true", env={"TACHO_FOO": "1"}).err)
        missing = [probe["name"] for probe in json.loads(self.tacho("list", "probes", "--json").out) if not probe["available"]]
        for name in missing[:2]:
            done = self.tacho("run", "--probe", name, "--", "true")
            self.assertEqual(done.rc, 0)
            self.assertIn(f"the probe {name} cannot work here", done.err)

    def test_config(self):
        os.makedirs(self.path("config", "tacho"))
        self.write("config/tacho/tacho.toml", 'interval = "3s"\nteam = "vision"\ntags = ["a=1", "b=2"]\n')
        env = {"TACHO_INTERVAL": "2s", "TRACKER_JOB_NAME": "old"}
        rows = {row["name"]: row for row in json.loads(self.tacho("config", "--json", env=env).out)}
        self.assertEqual((rows["interval"]["value"], rows["interval"]["source"]), ("2s", "TACHO_INTERVAL"))
        self.assertEqual((rows["job-name"]["value"], rows["job-name"]["source"]), ("old", "TRACKER_JOB_NAME"))
        self.assertEqual(rows["team"]["value"], "vision")
        self.assertRegex(rows["team"]["source"], r"tacho.toml:2")
        self.assertEqual(rows["tag"]["value"], ["a=1", "b=2"])
        self.assertEqual(rows["summary"]["source"], "default")
        told = json.loads(self.tacho("config", "--json", env={"TACHO_QUIET": "1", "TACHO_NO_CLOUD": "no"}).out)
        self.assertEqual([row["value"] for row in told if row["name"] in ("quiet", "no-cloud", "live")], ["on", "off", "off"])
        self.assertEqual(rows["store"]["value"], self.store)
        self.assertRegex(self.tacho("config", env=env).out, r"interval +2s +TACHO_INTERVAL\n")
        self.assertEqual(self.tacho("config", env={"TACHO_INTERVAL": "soon"}).rc, 125)
        self.assertEqual(self.tacho("config", "x").rc, 125)

    def test_no_id_without_a_store(self):
        self.assertNotIn(" run ", self.tacho("run", "--no-store", "--", "true").err)
        self.assertIn(" run ", self.tacho("run", "--", "true").err)
        self.assertNotIn("  run  ", self.tacho("run", "--no-store", "--summary", "full", "--", "true").err)

    def test_figures_agree(self):
        """No average above its maximum, milliseconds, and the same figures wherever they stand."""
        for job in ("true", "sleep 0.3"):
            line = self.tacho("run", "--", "sh", "-c", job).err.strip()
            time, cpu, memory, _ = [part.strip() for part in line[len("tacho: ok"):].split("·")]
            row = self.tacho("runs", "--limit", "1").out.splitlines()[1]
            show = self.tacho("show", "last").out
            self.assertIn(f" {time} ", row)
            self.assertIn(cpu.split()[1] + " ", row)
            self.assertIn(f"tacho: ok {time}\n", show)
            self.assertIn(cpu[len("cpu "):], show)
            self.assertIn(memory[len("memory "):], show)
            self.assertRegex(time, r"^[\d.]+ms$")
            facts = {m["name"]: m["values"][0] for m in json.loads(self.tacho("compare", "last", "last", "--json").out)["metrics"]}
            self.assertLessEqual(facts["cpu_mean"], facts["cpu_max"])
            self.assertLessEqual(facts["memory_mean"], facts["memory_peak"])

    def test_ascii_in_a_c_locale(self):
        env = {"LC_ALL": "C"}
        make_run(self.store, "20261115-000000000001", job="jöb", command=["x" * 300, "ü"])
        self.tacho("run", "--", "true", env=env).err.encode("ascii")
        for words in (["runs"], ["show", "000000000001"], ["compare", "last", "last"], ["advise", "000000000001"], ["doctor"], ["config"], ["list", "metrics"]):
            self.tacho(*words, env=env).out.encode("ascii")
        self.assertIn("jöb", self.tacho("show", "000000000001", "--json", env=env).out)

    def make_odd(self):
        make_run(self.store, "20261115-000000000001", job="jöb", command=["ü" * 10, "…"], phases=[
            {"name": "äöü", "started": 0, "ended": 5, "seconds": 5, "cpu_s": 1, "cpu_mean": 1, "memory_peak_mib": 5}])

    def test_messages_are_ascii_in_a_c_locale(self):
        """Hints, warnings and what they quote, of every program that speaks to a person."""
        self.write("jöb.py", "")
        self.make_odd()
        for words in (["run", "ä | b"], ["run", "jöb.py"], ["run", "ünknown"], ["run", "--tag", "…", "--", "true"], ["run", "--probe", "µ", "--", "true"],
                      ["run", "-i", "5µs", "--", "true"], ["attach", "tränen"], ["show", "jöb"], ["show", "nö"], ["show"], ["compare", "ä", "b"], ["rm", "ü"],
                      ["report", "x…pdf"], ["prune"], ["nosuch–command"], ["advise", "last", "--for", "…"], ["why", "last"], ["why", "ä.csv"], ["top", "ä"],
                      ["runs", "--since", "µ"], ["config", "--interval", "…"], ["query", "SELECT 'ä' AS x, 'b' AS ü"], ["query", "SELECT … FROM runs"],
                      ["deliver", "ä"], ["discover", "--ä"], ["cromwell", "upload", "ä"], ["bq", "ä"], ["list", "ä"], ["hook", "ä"], ["export", "ä", "-f", "µ"],
                      ["mark", "ä"], ["doctor", "ä"], ["help", "ä"], ["help"], ["run", "--help"], ["doctor", "--no-store"], ["list", "probes"], ["show", "last"],
                      ["compare", "last", "last"], ["run", "--summary", "full", "-n", "jöb", "--", "true"], ["top", "last", "--once"]):
            for locale in ({"LC_ALL": "C"}, {"LC_ALL": None, "LC_CTYPE": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}):
                with self.subTest(words=words, locale=locale):
                    done = self.tacho(*words, env={**locale, "TACHO_ÄÖ": "1"}, text=False)
                    done.err.decode("ascii")
                    done.out.decode("ascii")

    def test_completion_of_runs_and_jobs(self):
        make_run(self.store, "20261115-000000000001", job="train")
        make_run(self.store, "20261115-000000000002", job=f"$(touch {self.path('owned')})")
        make_run(self.store, "20261115-000000000003", job="two words")
        self.write("c.bash", self.tacho("docs", "completion-bash").out)
        script = f'PATH={os.path.dirname(TACHO)}:$PATH; source {self.path("c.bash")}; COMP_WORDS=(tacho "$@"); COMP_CWORD=$#; _tacho; printf "%s\\n" "${{COMPREPLY[@]}}"'

        def complete(*words):
            return subprocess.run(["bash", "-c", script, "bash", *words], env=self.environment(), stdout=subprocess.PIPE, text=True, check=True).stdout
        found = complete("show", "")
        for word in ("last\n", "20261115-0000", "train\n", "two\\ words\n"):
            self.assertIn(word, found)
        self.assertEqual(complete("rm", "tr"), "train\n")
        self.assertEqual(complete("runs", "--job", "tr"), "train\n")
        self.assertFalse(os.path.exists(self.path("owned")))
        for shell in ("zsh", "fish"):
            self.assertIn("tacho docs", self.tacho("docs", "completion-" + shell).out)

    def test_doctor(self):
        done = self.tacho("doctor", "--json", "--no-store")
        self.assertEqual(done.rc, 0, done)
        self.assertLessEqual({row["state"] for row in json.loads(done.out)}, {"ok", "limited", "not applicable"})
        self.write("file", "x")
        done = self.tacho("doctor", "--json", "--store", self.path("file", "runs"))
        self.assertEqual(done.rc, 1, done)
        self.assertEqual([row["name"] for row in json.loads(done.out) if row["state"] == "broken"], ["run store"])
