"""attach --detach, --no-children, stop and version --json: what packages of other languages stand on."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from support import IS_ROOT, TACHO, Case, burner, process_state, until

# Waits for lines of "PYTHON" to run, and answers each.
TARGET = """
import os, sys
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Detached(Case):
    def target(self, before="", **keywords):
        process = subprocess.Popen([sys.executable, "-c", before + TARGET], env=self.environment(), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, **keywords)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdin.close(), process.stdout.close()))
        self.do(process, "pass")
        return process

    def do(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def detach(self, pid, *options):
        done = self.tacho("attach", "--detach", *options, "--pid", pid, env={"TACHO_QUIET": "1"})
        self.assertEqual((done.rc, done.err), (0, ""), done)
        self.assertEqual(done.out.count("\n"), 1)
        line = json.loads(done.out)
        self.addCleanup(lambda: process_state(line["agent_pid"]) and os.kill(line["agent_pid"], signal.SIGKILL))
        return line

    def final(self, line):
        """run.json once it is final."""
        def read():
            with open(os.path.join(line["folder"], "run.json"), encoding="utf-8") as file:
                run = json.load(file)
            return run if run["state"] != "running" else None
        run = until(read)
        self.assertTrue(run, "never final")
        return run

    def rows(self, line):
        run, table = self.the_run(os.path.dirname(line["folder"]))
        return table.rows

    def test_quietly(self):
        target = self.target()
        done = self.tacho("attach", "--detach", "-q", "--pid", target.pid)
        self.assertEqual((done.rc, done.out, done.err), (0, "", ""), done)
        self.assertEqual(self.tacho("stop", "last").rc, 0)

    def test_the_machine(self):
        done = self.tacho("watch", "--detach", "-i", "0.1")
        self.assertEqual((done.rc, done.err), (0, ""), done)
        line = json.loads(done.out)
        self.assertIsNone(line["pid"])
        self.assertTrue(until(lambda: len(self.rows(line)) > 1))
        self.assertEqual(self.tacho("stop", "last").rc, 0)
        self.assertEqual(self.final(line)["mode"], "watch")

    def test_line(self):
        target = self.target()
        line = self.detach(target.pid, "-i", "1h")
        self.assertEqual(list(line), ["id", "folder", "pid", "agent_pid", "started"])
        self.assertEqual(line["pid"], target.pid)
        self.assertAlmostEqual(line["started"], time.time(), delta=30)
        self.assertEqual(os.path.basename(line["folder"]), line["id"])
        agent = line["agent_pid"]
        with open(f"/proc/{agent}/stat", encoding="utf-8") as file:
            parent, group, session = (int(word) for word in file.read().rsplit(")", 1)[1].split()[1:4])
        self.assertNotIn(parent, (os.getpid(), target.pid))
        self.assertNotEqual(session, os.getsid(0))
        self.assertNotEqual(group, os.getpgrp())
        for place in (0, 1, 2):
            self.assertEqual(os.readlink(f"/proc/{agent}/fd/{place}"), "/dev/null")
        os.kill(agent, signal.SIGTERM)
        run = self.final(line)
        self.assertEqual((run["state"], run["outcome"]["exit_code"]), ("finished", None))
        self.assertEqual(run["tracker_pid"], agent)
        self.assertEqual(len(self.rows(line)), 1)
        self.assertTrue(until(lambda: process_state(agent) is None))
        self.assertIsNone(target.poll())

    def test_ends_with_its_target(self):
        target = self.target()
        line = self.detach(target.pid, "-i", "1h")
        target.kill()
        run = self.final(line)
        self.assertEqual((run["state"], run["outcome"]["exit_code"]), ("finished", None))
        self.assertTrue(until(lambda: process_state(line["agent_pid"]) is None))

    def test_cannot_start(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.refused(self.tacho("attach", "--detach", "--pid", gone.pid), "there is no process")
        self.refused(self.tacho("attach", "--detach", "--pid", os.getpid(), "-o", "/no/such/folder/a.csv"), "/no/such")
        self.refused(self.tacho("attach", "--detach", "--pid", os.getpid(), "-o", "-"), "name a file")
        self.refused(self.tacho("attach", "--detach", "--pid", os.getpid(), "-o", "prom:-"), "name a file")
        self.refused(self.tacho("attach", "--detach"), "nothing to attach to")
        self.refused(self.tacho("attach", "--no-children", "--cgroup", "/"), "--pid")
        self.assertEqual(self.tacho("run", "--detach", "--", "true").rc, 125)

    def test_without_a_store(self):
        target = self.target()
        line = self.detach(target.pid, "--no-store", "-o", self.path("a.csv"), "-i", "1h")
        self.assertIsNone(line["folder"])
        os.kill(line["agent_pid"], signal.SIGINT)
        self.assertTrue(until(lambda: process_state(line["agent_pid"]) is None))
        self.assertEqual(self.read("a.csv").count("\n"), 2)

    def test_holds_no_descriptor(self):
        """A reader of what the target writes is at its end with the target, whatever tacho was given."""
        reading, writing = os.pipe()
        held = os.open("/dev/null", os.O_RDONLY)
        os.set_inheritable(writing, True)
        os.set_inheritable(held, True)
        target = self.target(pass_fds=(writing,))
        process = self.spawn("attach", "--detach", "-i", "1h", "--pid", target.pid, pass_fds=(writing, held))
        line = json.loads(process.communicate()[0])
        os.close(writing)
        os.close(held)
        target.kill()
        target.wait()
        with open(reading, "rb") as file:
            self.assertEqual(file.read(), b"")
        self.final(line)

    def test_nobody_listens(self):
        """Whoever asked for it was killed before it heard of the agent: there is none."""
        target = self.target()
        fifo = self.path("a.csv")
        os.mkfifo(fifo)  # opening it takes up to a second
        process = self.spawn("attach", "--detach", "-i", "1h", "--pid", target.pid, "-o", fifo)
        self.assertTrue(until(lambda: process_state(process.pid) == "S"))
        process.kill()
        process.wait()
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        # leave_clean() finds an agent that stayed.

    def test_stop(self):
        target = self.target()
        line = self.detach(target.pid, "-i", "1h", "-n", "train")
        done = self.tacho("stop", "last:train")
        self.assertEqual((done.rc, done.out, done.err), (0, "", ""))
        self.assertEqual(self.final(line)["state"], "finished")
        self.assertIsNone(target.poll())
        done = self.tacho("stop", line["id"])
        self.assertEqual(done.rc, 4, done)
        self.assertIn("does not go on", done.err)
        self.assertEqual(self.tacho("stop", "20200101-nope").rc, 125)
        self.assertEqual(self.tacho("stop").rc, 125)
        self.assertEqual(self.tacho("stop", "a", "b").rc, 125)

    def test_stop_of_a_dead_recorder(self):
        target = self.target()
        line = self.detach(target.pid, "-i", "1h")
        os.kill(line["agent_pid"], signal.SIGKILL)
        self.assertTrue(until(lambda: process_state(line["agent_pid"]) is None))
        self.assertEqual(self.tacho("stop", line["folder"]).rc, 4)

    def test_stop_hits_no_stranger(self):
        """The number in run.json is another process's now."""
        target, stranger = self.target(), self.target()
        line = self.detach(target.pid, "-i", "1h")
        copy = os.path.join(self.store, "20200101-abcdefabcdef")
        os.mkdir(copy)
        with open(os.path.join(line["folder"], "run.json"), encoding="utf-8") as file:
            text = file.read().replace(f'"tracker_pid":{line["agent_pid"]},', f'"tracker_pid":{stranger.pid},')
        self.assertIn(f'"tracker_pid":{stranger.pid},', text)
        with open(os.path.join(copy, "run.json"), "w", encoding="utf-8") as file:
            file.write(text)
        os.link(os.path.join(line["folder"], "metrics.csv"), os.path.join(copy, "metrics.csv"))  # whose lock is held
        done = self.tacho("stop", copy)
        self.assertEqual(done.rc, 125, done)
        self.assertIn("not here", done.err)
        self.do(stranger, "pass")
        self.assertEqual(self.tacho("stop", line["folder"]).rc, 0)

    def test_stop_obeys_no_stranger(self):
        """In a store that others write to: another user's run.json names a process of ours."""
        if not IS_ROOT:
            self.skipTest("only root makes another user's file")
        target, ours = self.target(), self.target()
        line = self.detach(target.pid, "-i", "1h")
        with open(f"/proc/{ours.pid}/stat", encoding="utf-8") as file:
            begun = file.read().rsplit(")", 1)[1].split()[19]
        with open(os.path.join(line["folder"], "run.json"), encoding="utf-8") as file:
            text = re.sub(r'"tracker_start_ticks":\d+', f'"tracker_start_ticks":{begun}', file.read())
        planted = os.path.join(self.store, "20200101-abcdefabcdef")
        os.mkdir(planted)
        self.write(os.path.join(planted, "run.json"), text.replace(f'"tracker_pid":{line["agent_pid"]},', f'"tracker_pid":{ours.pid},'))
        os.link(os.path.join(line["folder"], "metrics.csv"), os.path.join(planted, "metrics.csv"))  # whose lock is held
        os.chown(os.path.join(planted, "run.json"), 65534, 65534)
        done = self.tacho("stop", planted)
        self.assertEqual(done.rc, 125, done)
        self.assertIn("of somebody else", done.err)
        self.do(ours, "pass")
        self.assertEqual(self.tacho("stop", line["folder"]).rc, 0)

    def test_alone(self):
        target = self.target("import subprocess\n")
        line = self.detach(target.pid, "--no-children", "-i", "100ms")
        self.do(target, f"child = subprocess.Popen(['{burner('cpu')}', '1', '400'], stdout=subprocess.DEVNULL)")
        self.do(target, "child.wait()")
        self.assertEqual(self.tacho("stop", line["id"]).rc, 0)
        run = self.final(line)
        self.assertLess(run["totals"]["cpu_user_s"] + run["totals"]["cpu_system_s"], 0.2)
        self.assertEqual({row["process_children"] for row in self.rows(line)}, {"0"})
        self.assertTrue(any("ended children" in note for note in run["notes"]), run["notes"])

    def test_own_processes_are_no_members(self):
        """Two agents of a process to which orphans come back; both were started by it."""
        target = self.target("import ctypes, json, subprocess, time\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n")
        words = [TACHO, "attach", "--detach", "-i", "20ms", "--pid", str(target.pid)]
        lines = []
        for name in ("a", "b"):
            store = self.path("store_" + name)
            self.do(target, f"open('{self.path(name)}', 'w').write(subprocess.run({words + ['--store', store]}, "
                            "capture_output=True, text=True).stdout)")
            lines.append(json.loads(self.read(name)))
        for line in lines:
            with open(f"/proc/{line['agent_pid']}/stat", encoding="utf-8") as file:
                self.assertEqual(int(file.read().rsplit(")", 1)[1].split()[1]), target.pid, "no orphan came back")
        self.do(target, "time.sleep(0.3)")
        for line in lines:
            os.kill(line["agent_pid"], signal.SIGTERM)
            self.final(line)
        children = [int(row["process_children"]) for row in self.rows(lines[1])]
        self.assertGreater(len(children), 5)
        self.assertEqual(set(children[1:]), {0})
        # The starter of the second may be there for a moment.
        children = [int(row["process_children"]) for row in self.rows(lines[0])]
        self.assertLessEqual(sum(count > 0 for count in children), 3, children)
        self.do(target, "[os.wait() for _ in range(2)]")

    def test_the_starter_is_no_member(self):
        """In its first milliseconds it is called tacho; another tacho of the job's is a member."""
        folder = self.path("own")
        os.mkdir(folder)
        shutil.copy2(shutil.which("dash") or "/bin/sh", os.path.join(folder, "tacho"))  # a tacho that is slow to begin
        for name in ("attach", "run"):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("sleep 0.4 & wait\nexit\n")
        target = self.target(f"import subprocess, time\nbegin = lambda *words: subprocess.Popen(['./tacho', *words], cwd={folder!r})\n")
        for words, expected in ((("attach", "--detach"), 0), (("run", "--", "x", "attach", "--detach"), 2), (("attach", "--pid"), 2)):
            self.do(target, f"child = begin(*{words!r})")
            self.do(target, "time.sleep(0.05)")
            line = self.detach(target.pid, "-i", "50ms", "--store", self.path("-".join(words)))
            self.do(target, "child.wait()")
            self.assertEqual(self.tacho("stop", line["folder"]).rc, 0)
            self.assertEqual(max(int(row["process_children"]) for row in self.rows(line)), expected, words)

    def test_agents_inside_a_run(self):
        """tacho run adopts the orphans of its job, and the agent of a run inside it is one."""
        script = (f"import subprocess, os, time\nsubprocess.run(['{TACHO}', 'attach', '--detach', '-i', '1h', '--store', "
                  f"'{self.path('inner')}', '--pid', str(os.getpid())], stdout=subprocess.DEVNULL)\ntime.sleep(0.5)\n")
        done, run, table = self.tracked(sys.executable, "-c", script, options=("-i", "50ms", "--method", "tree"))
        self.assertEqual(table.column("process_children")[-3], "0")
        self.assertTrue(until(lambda: self.the_run(self.path("inner"))[0]["state"] == "finished"))

    def test_peak_of_a_block(self):
        mib = 1 << 20
        target = self.target(f"x = bytearray(300 * {mib}); del x\n")
        line = self.detach(target.pid, "-i", "1h", "--store", self.path("calm"))
        self.assertEqual(self.tacho("stop", line["folder"]).rc, 0)
        self.assertLess(self.final(line)["totals"]["memory_peak_bytes"], 100 * mib, "the peak was before")
        line = self.detach(target.pid, "-i", "1h", "--store", self.path("lower"))
        self.do(target, f"x = bytearray(400 * {mib}); del x")
        self.assertEqual(self.tacho("stop", line["folder"]).rc, 0)
        peak = self.final(line)["totals"]["memory_peak_bytes"]
        self.assertGreater(peak, 400 * mib, "no sample saw it")
        self.assertLess(peak, 480 * mib)

    def test_version(self):
        done = self.tacho("version", "--json")
        self.assertEqual(done.rc, 0, done)
        facts = json.loads(done.out)
        self.assertEqual(list(facts), ["version", "os", "arch", "build", "beside"])
        self.assertEqual(self.tacho("--version").out, f"tacho {facts['version']}\n")
        self.assertEqual((facts["os"], facts["arch"]), ("linux", {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]))
        with open(TACHO, "rb") as file:
            self.assertEqual(facts["build"], "dynamic" if b"/ld-linux" in file.read() else "static")
        self.assertEqual(list(facts["beside"]), ["tacho-deliver", "tacho-gpu"])
        for name, there in facts["beside"].items():
            self.assertEqual(there, os.access(os.path.join(os.path.dirname(TACHO), name), os.X_OK))
        self.assertEqual(self.tacho("version", "extra").rc, 125)
