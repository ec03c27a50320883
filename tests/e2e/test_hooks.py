"""A shell that records (tacho-bash, tacho-sh), --nested, --fail-open, and the hooks of engines, with a wrapper of the shape that
Nextflow gives its tasks: functions, and the first argument names the one to run."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

from support import BUILD, TACHO, Case, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHELLS = os.path.join(BUILD, "libexec", "tacho", "shell")
WRAPPER = """#!/bin/bash
# NEXTFLOW TASK: align (s1)
set -e
set -u
NXF_ENTRY=${1:-nxf_main}
on_exit() { printf %s "${nxf_main_ret:=$?}" > .exitcode; exit $nxf_main_ret; }
on_term() { set +e; [[ "$pid" ]] && kill -TERM "$pid" 2>/dev/null; }
nxf_launch() {
    /bin/bash -ue @SH@
}
nxf_main() {
    trap on_exit EXIT
    trap on_term TERM INT USR2
    NXF_SCRATCH=@SCRATCH@
    touch .command.begin
    @BEFORE@
    [[ $NXF_SCRATCH ]] && cd $NXF_SCRATCH
    export NXF_TASK_WORKDIR="$PWD"
    set +e
    (nxf_launch > .command.out 2> .command.err) &
    pid=$!
    wait $pid || nxf_main_ret=$?
    if [[ $NXF_SCRATCH ]]; then cp .command.out .command.err "$NXF_HOME_DIR"; cp .command.trace "$NXF_HOME_DIR" || true; cd "$NXF_HOME_DIR"; fi
}
$NXF_ENTRY
"""
BEFORE = 'command -v tacho >/dev/null && eval "$(tacho hook nextflow)" || true'


class Recorded(Case):
    def bash(self, *arguments, program="tacho-bash", **keywords):
        env = {"TACHO_STORE": self.path("store"), **keywords.pop("env", {})}
        return self.start([os.path.join(BUILD, "bin", program), *arguments], env=env, **keywords)

    def start(self, words, env, **keywords):
        environment = {**os.environ, "TACHO_TEST_MARK": self.id(), **env}
        done = subprocess.run(words, env=environment, cwd=keywords.pop("cwd", self.dir), capture_output=True, text=True, timeout=60,
                              check=False, **keywords)
        return done

    def stored(self):
        runs = []
        for path in glob.glob(self.path("store", "*", "run.json")):
            with open(path, encoding="utf-8") as file:
                runs.append(json.load(file))
        return runs


class Shell(Recorded):
    def test_is_a_shell(self):
        done = self.bash("-c", "echo $0; echo \"$1\"; exit 3", "a", "b c")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "a\nb c\n", ""))
        (run,) = self.stored()
        self.assertEqual(run["nested"], "pass")
        self.assertEqual(run["outcome"]["exit_code"], 3)
        self.assertEqual(self.bash("--help").stdout.split()[:2], ["GNU", "bash,"])
        self.assertEqual(self.bash("-s", input="echo $((6 * 7))").stdout, "42\n")
        self.assertEqual(self.bash("-c", "echo $0", program="tacho-sh").stdout.strip().rsplit("/", 1)[-1], "sh")
        script = self.write("x.sh", f"#!{SHELLS}/bash\necho \"$0 $1\"\n")
        os.chmod(script, 0o755)
        self.assertEqual(self.start([script, "arg"], {"TACHO_STORE": self.path("store")}).stdout, script + " arg\n")

    def test_scripts_in_the_place_of_links(self):
        """What a wheel has, as it holds no links; two of them in PATH, and links too, find the real shell in the end."""
        sys.path.insert(0, os.path.join(ROOT, "python"))
        import build_wheel  # pylint: disable=import-outside-toplevel
        for prefix in ("one", "two"):
            for name, way in build_wheel.SHELLS.items():
                os.makedirs(os.path.dirname(self.path(prefix, name)), exist_ok=True)
                self.write(f"{prefix}/{name}", build_wheel.SHELL.replace("WAY", way), 0o755)
            os.symlink(TACHO, self.path(prefix, "bin", "tacho"))
        shells = [self.path(prefix, "libexec", "tacho", "shell") for prefix in ("one", "two")]
        env = {"TACHO_STORE": self.path("store"), "PATH": os.pathsep.join([*shells, SHELLS, os.environ["PATH"]])}
        for count, program in enumerate([shells[0] + "/bash", self.path("one", "bin", "tacho-bash"), "bash"], 1):
            done = self.start([program, "-c", 'echo "$1" "${0##*/}"; exit 3', "a", "b c"], env)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "b c a\n", ""))
            self.assertEqual(len(self.stored()), count)
        os.symlink(shells[0] + "/sh", self.path("link"))
        self.assertEqual(self.start([self.path("link"), "-c", "echo x"], env).stdout, "x\n")
        self.assertEqual(len(self.stored()), 4)
        script = self.write("x.sh", f"#!{shells[0]}/bash\necho \"$0 $1\"\n", 0o755)
        self.assertEqual(self.start([script, "arg"], env).stdout, script + " arg\n")
        os.unlink(self.path("one", "bin", "tacho"))
        done = self.start([shells[0] + "/bash", "-c", "exit 4"], env)
        self.assertEqual((done.returncode, done.stderr, len(self.stored())), (4, "", 5))

    def test_login_form(self):
        done = self.start(["-bash", "-c", "shopt -q login_shell && echo login"], {"TACHO_STORE": self.path("store")},
                            executable=os.path.join(SHELLS, "bash"))
        self.assertEqual((done.returncode, done.stdout), (0, "login\n"), done)

    def test_nested_calls_are_one_run(self):
        script = self.write("deep.sh", 'n=$1; [ "$n" -le 0 ] && exit 7; exec 2>&1; bash "$0" $((n - 1))\n')
        done = self.bash(script, "50", env={"PATH": SHELLS + ":" + os.environ["PATH"]})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "", ""))
        self.assertEqual(len(self.stored()), 1)

    def test_a_plain_run_around_suppresses_nothing(self):
        done = self.start([TACHO, "run", "-q", "--", os.path.join(SHELLS, "bash"), "-c", "true"], {"TACHO_STORE": self.path("store")})
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(sorted(run.get("nested", "") for run in self.stored()), ["", "pass"])

    def test_a_run_that_is_no_ancestor_suppresses_nothing(self):
        self.bash("-c", "true")
        folder = os.path.dirname(glob.glob(self.path("store", "*", "run.json"))[0])
        self.bash("-c", "true", env={"TACHO_RUN": folder})
        self.bash("-c", "true", env={"TACHO_RUN": "/nonexistent"})
        self.assertEqual(len(self.stored()), 3)

    def test_fail_open(self):
        for name, text in (("tacho.toml", "interval = [\n"), ("tacho.toml", 'interval = "never"\n')):
            self.write(name, text)
            named = {"TACHO_CONFIG": self.path(name)}
            done = self.bash("-c", "echo on; exit 4", env=named)
            self.assertEqual((done.returncode, done.stdout), (4, "on\n"), done)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            plain = self.start([TACHO, "run", "--", "true"], named)
            self.assertEqual(plain.returncode, 125, plain)
        os.remove(self.path("tacho.toml"))
        for words in (["-o", "/nonexistent/x.csv"], ["--bogus"], ["-o", "x.parquet"]):
            done = self.tacho("run", "-q", "--fail-open", *words, "--", "sh", "-c", "ulimit -n; trap; kill -l 15; exit 5")
            plain = subprocess.run(["sh", "-c", "ulimit -n; trap; kill -l 15"], capture_output=True, text=True, check=False)
            self.assertEqual((done.rc, done.out), (5, plain.stdout), done)
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.assertEqual(self.tacho("run", "--fail-open", "-o", "/nonexistent/x.csv", "--", "no-such-command").rc, 127)
        self.assertEqual(self.tacho("run", "--fail-open", "--", "/etc/passwd").rc, 126)
        self.assertEqual(self.tacho("run", "-o", "/nonexistent/x.csv", "--", "true", env={"TACHO_FAIL_OPEN": "1"}).rc, 0)

    def test_path_without_a_shell(self):
        self.assertEqual(self.bash("-c", "echo $BASH", env={"PATH": SHELLS}).stdout, "/bin/bash\n")

    def test_hook_of_snakemake(self):
        done = self.start(["sh", "-euc", f'eval "$({TACHO} hook snakemake)"; command -v bash; bash -c "exit 3"'],
                            {"TACHO_STORE": self.path("store")})
        self.assertEqual((done.returncode, done.stdout), (3, SHELLS + "/bash\n"), done)
        self.assertEqual(len(self.stored()), 1)
        self.assertEqual(self.tacho("hook", "make").rc, 125)
        self.assertEqual(self.tacho("hook").rc, 125)


class Nextflow(Recorded):
    def task(self, script, before=BEFORE, scratch=False, path=None, name=".command.run"):
        work = self.path("work", "3f", "9a1c2b")
        os.makedirs(work, exist_ok=True)
        room = self.path("scratch")
        os.makedirs(room, exist_ok=True)
        with open(os.path.join(work, ".command.sh"), "w", encoding="utf-8") as file:
            file.write(script)
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(WRAPPER.replace("@SH@", os.path.join(work, ".command.sh")).replace("@BEFORE@", before)
                       .replace("@SCRATCH@", room if scratch else "''"))
        env = {"TACHO_STORE": self.path("store"), "NXF_HOME_DIR": work,
               "PATH": (os.path.join(BUILD, "bin") + ":" if path is None else path) + os.environ["PATH"]}
        return work, env

    def read(self, work, name):
        with open(os.path.join(work, name), encoding="utf-8") as file:
            return file.read()

    def check(self, code, **keywords):
        work, env = self.task(f"echo out; echo err >&2; env > {self.path('env')}; exit {code}\n", **keywords)
        done = self.start(["/bin/bash", ".command.run"], env, cwd=work)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(self.read(work, ".exitcode"), str(code))
        self.assertEqual((self.read(work, ".command.out"), self.read(work, ".command.err")), ("out\n", "err\n"))
        return work

    def test_plain_and_scratch(self):
        for scratch in (False, True):
            for code in (0, 3):
                shutil.rmtree(self.path("store"), ignore_errors=True)
                work = self.check(code, scratch=scratch)
                self.assertTrue(self.read(work, ".command.trace").startswith("nextflow.trace/v2\nrealtime="))
                (run,) = self.stored()
                self.assertEqual(run["metadata"]["orchestrator"], "nextflow")
                self.assertEqual(run["metadata"]["task_name"], "align (s1)")
                self.assertEqual(run["metadata"]["external_run_id"], "3f/9a1c2b")
                task = self.read(self.dir, "env").splitlines()
                self.assertIn("NXF_TASK_WORKDIR=" + (self.path("scratch") if scratch else work), task)
                self.assertEqual([line for line in task if line.startswith("TACHO_NXF")], [])

    def test_takes_the_place_of_a_subshell_that_is_its_own(self):
        """A process less where the calling line has nothing else to do in its subshell; otherwise what follows is done."""
        plain = "(nxf_launch > .command.out 2> .command.err) &"
        piped = "(set -o pipefail; (nxf_launch | tee .command.out) 3>&1 1>&2 2>&3 | tee .command.err >/dev/null) &"
        shapes = ((plain, True), (piped, True), ("( nxf_launch ) >.command.out 2>.command.err &", True),
                  ("(nxf_launch > .command.out 2> .command.err; ret=$?; touch after; exit $ret) &", False),
                  ("(nxf_launch > .command.out 2> .command.err || { ret=$?; touch after; exit $ret; }) &", False),
                  ("(nxf_launch > .command.out 2> .command.err & wait $! || { ret=$?; touch after; exit $ret; }) &", False),
                  ("{ nxf_launch > .command.out 2> .command.err || { ret=$?; touch after; (exit $ret); }; } &", False))
        for call, alone in shapes:
            work, env = self.task(f"ps -o ppid= -p $(ps -o ppid= -p $PPID) > {self.path('above')}; echo out; echo err >&2; exit 3\n")
            with open(os.path.join(work, ".command.run"), "r+", encoding="utf-8") as file:
                text = file.read().replace(plain, call)
                file.seek(0)
                file.write(text.replace("trap on_exit EXIT", f"trap on_exit EXIT; echo $$ > {self.path('wrapper')}"))
                file.truncate()
            self.assertIn(call, self.read(work, ".command.run"))
            done = self.start(["/bin/bash", ".command.run"], env, cwd=work)
            self.assertEqual((done.returncode, self.read(work, ".exitcode")), (3, "3"), (call, done))
            self.assertEqual((self.read(work, ".command.out"), self.read(work, ".command.err")), ("out\n", "err\n"), call)
            self.assertIn("realtime=", self.read(work, ".command.trace"))
            self.assertEqual(os.path.exists(os.path.join(work, "after")), not alone, call)
            if call == plain:
                self.assertEqual(self.read(self.dir, "above").strip(), self.read(self.dir, "wrapper").strip())
            shutil.rmtree(work)

    def test_without_tacho_the_task_runs_as_before(self):
        work = self.check(3, path="")
        self.assertFalse(os.path.exists(os.path.join(work, ".command.trace")))
        os.mkdir(self.path("bin"))
        broken = self.write("bin/tacho", "#!/nonexistent\n")
        os.chmod(broken, 0o755)
        self.check(0, path=self.path("bin") + ":")

    def test_what_is_not_the_wrapper_is_left_alone(self):
        for shell in ("bash", "sh"):
            done = self.start([f"/bin/{shell}", "-euc", f'eval "$({TACHO} hook nextflow)"; echo done'], {})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))
        work, env = self.task("exit 3\n")
        with open(os.path.join(work, ".command.run"), encoding="utf-8") as file:
            done = self.start(["/bin/bash"], env, cwd=work, stdin=file)
        self.assertEqual(done.returncode, 3, done)
        self.assertEqual(self.stored(), [])

    def test_bad_surroundings(self):
        work, env = self.task("echo out; echo err >&2; exit 3\n")
        with open(os.path.join(work, "tacho.toml"), "w", encoding="utf-8") as file:
            file.write("interval = [\n")
        self.assertEqual(self.start(["/bin/bash", ".command.run"], env, cwd=work).returncode, 3)
        said, err = self.read(work, ".command.err").splitlines()
        self.assertTrue(said.startswith("tacho: tacho.toml:1: "), said)
        self.assertEqual((self.read(work, ".command.out"), err), ("out\n", "err"))

    def test_a_trace_that_is_a_folder(self):
        work, env = self.task("echo out; exit 3\n")
        os.mkdir(os.path.join(work, ".command.trace"))
        self.assertEqual(self.start(["/bin/bash", ".command.run"], env, cwd=work).returncode, 3)
        self.assertEqual(self.read(work, ".command.out"), "out\n")

    def test_a_wrapper_that_cannot_be_found_again(self):
        """$0 is gone, or cannot be read: the task runs as before."""
        for away in ("rm .command.run", "chmod 0 .command.run; rm -f .command.run"):
            work, env = self.task("exit 3\n", before=away + "\n    " + BEFORE)
            done = self.start(["/bin/bash", ".command.run"], env, cwd=work)
            self.assertEqual((done.returncode, done.stderr), (3, ""), done)
        self.assertEqual(self.stored(), [])

    def test_a_time_limit_ends_the_whole_tree(self):
        """As Nextflow's nxf_kill does, and a scheduler: every process gets SIGTERM, tacho too."""
        work, env = self.task("echo $$ > pid; exec sleep 60\n")
        process = subprocess.Popen(["/bin/bash", ".command.run"], env={**os.environ, "TACHO_TEST_MARK": self.id(), **env}, cwd=work, start_new_session=True)
        self.addCleanup(process.wait)
        self.assertTrue(until(lambda: self.read(work, "pid")))
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
        self.assertTrue(until(lambda: self.stored()[0]["outcome"]["state"] == "failed"))
        self.assertEqual(self.stored()[0]["outcome"]["signal"], signal.SIGTERM)
        self.assertTrue(until(lambda: "realtime=" in self.read(work, ".command.trace")))

    def test_a_task_that_is_told_to_end(self):
        for number, script in ((signal.SIGTERM, "kill -TERM $$; sleep 30\n"), (signal.SIGKILL, "kill -KILL $$; sleep 30\n")):
            work, env = self.task(script)
            done = self.start(["/bin/bash", ".command.run"], env, cwd=work)
            self.assertEqual(done.returncode, 128 + number, done)
            self.assertIn("realtime=", self.read(work, ".command.trace"))

    def test_the_task_goes_on_when_tacho_is_killed(self):
        work, env = self.task("kill -KILL $(ps -o ppid= -p $PPID); sleep 0.2; echo on > lives\n")
        self.start(["/bin/bash", ".command.run"], env, cwd=work)
        self.assertTrue(until(lambda: self.read(work, "lives") == "on\n"))
