"""The launcher in the trainer's container: the command runs as if nobody were there, and leaves a record and a marker."""
import json
import os
import signal
import stat
import struct
import subprocess
import time

from support import BUILD, Case, process_state, until

EXEC = os.path.join(BUILD, "bin", "tacho-katib-exec")


class KatibExec(Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path("katib")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o777)
        self.log = os.path.join(self.shared, "metrics.log")

    def launch(self, *command, log=False, options=(), **keywords):
        words = ["--dir", self.shared, *(["--file", self.log] if log else []), *options, "--", *command]
        return self.spawn(*words, program=EXEC, **keywords)

    def run_to_end(self, *command, input=None, **keywords):
        if input is not None:
            keywords["stdin"] = subprocess.PIPE
        process = self.launch(*command, **keywords)
        out, err = process.communicate(input, 60)
        return process, out, err

    def marker(self, process):
        try:
            with open(os.path.join(self.shared, f"{process.pid}.pid"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def test_small_and_static(self):
        self.assertLess(os.path.getsize(EXEC), 1 << 20)
        with open(EXEC, "rb") as file:
            head = file.read(4096)
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        kinds = [struct.unpack_from("<I", head, at + i * size)[0] for i in range(count)]
        self.assertIn(1, kinds)
        self.assertNotIn(3, kinds, "a program header of type INTERP: it needs a loader")

    def test_success(self):
        process, out, err = self.run_to_end("sh", "-c", "echo out; echo err >&2")
        self.assertEqual((process.returncode, out, err), (0, "out\n", "err\n"))
        self.assertEqual(self.marker(process), "completed\n")
        self.assertFalse(os.path.exists(self.log))

    def test_pipes_in_the_place_of_its_files(self):
        """Whoever shares the volume may plant them: the trainer's end waits for nobody."""
        for script, code in (("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143)):
            plant = "for name in $PPID.pid $PPID.pid.$PPID.tmp .tacho-usage .tacho-usage.$PPID.tmp; do mkfifo $0/$name; done; "
            process, _, _ = self.run_to_end("sh", "-c", plant + script, self.shared)
            self.assertEqual(process.returncode, code, script)
            os.path.exists(os.path.join(self.shared, ".tacho-usage")) and os.unlink(os.path.join(self.shared, ".tacho-usage"))

    def test_codes_are_the_commands_own(self):
        for script, code in (("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("kill -SEGV $$", 139)):
            process, _, _ = self.run_to_end("sh", "-c", script)
            self.assertEqual(process.returncode, code, script)
            self.assertIsNone(self.marker(process), script)

    def test_not_found_and_not_executable(self):
        plain = self.write("plain", "no program")
        for command, code in ((["tacho-no-such"], 127), (["/no/such"], 127), ([""], 127), ([plain], 126), ([self.dir], 126)):
            process, _, err = self.run_to_end(*command)
            self.assertEqual(process.returncode, code, (command, err))
            self.assertIn("tacho-exec: ", err)
            self.assertIsNone(self.marker(process))

    def test_words_arrive_unchanged(self):
        words = ["a b", "", "'\"", "$HOME `x` $(y)", "*", "line\nline", "{\"k\": [1]}", "--", "-c", "ü€", "tab\t", "\\"]
        process, out, _ = self.run_to_end("python3", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
        self.assertEqual(json.loads(out), words)

    def test_same_surroundings(self):
        script = "pwd; echo $MINE; umask; cat; ls /proc/self/fd | wc -l; grep -E 'SigBlk|SigIgn' /proc/self/status"
        options = {"env": {"MINE": "yes"}, "input": "stdin\n"}
        process, out, _ = self.run_to_end("sh", "-c", script, **options)
        plain = subprocess.run(["sh", "-c", script], env=self.environment({"MINE": "yes"}), cwd=self.dir, input="stdin\n", text=True,
                               capture_output=True, check=True)
        self.assertEqual(out, plain.stdout)

    def test_path_search(self):
        first, second = self.path("one"), self.path("two")
        os.mkdir(first), os.mkdir(second)
        self.write("one/tool", "#!/bin/sh\necho no", 0o644)
        self.write("two/tool", "#!/bin/sh\necho two", 0o755)
        _, out, _ = self.run_to_end("tool", env={"PATH": f"{first}:{second}"})
        self.assertEqual(out, "two\n", "a file that cannot be run is passed over")
        process, _, _ = self.run_to_end("tool", env={"PATH": first})
        self.assertEqual(process.returncode, 126)
        process, out, _ = self.run_to_end("true", env={"PATH": None})
        self.assertEqual(process.returncode, 0, "without PATH the usual folders are searched")

    def test_record_names_the_launcher(self):
        process = self.launch("sleep", "30")
        text = until(lambda: open(os.path.join(self.shared, ".tacho-launcher"), encoding="utf-8").read())
        pid, start = text.split()
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            self.assertEqual((int(pid), start), (process.pid, file.read().rsplit(")", 1)[1].split()[19]))
        process.terminate()
        self.assertEqual(process.wait(30), 143)

    def test_output_goes_to_both_places(self):
        script = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; printf last"
        process, out, err = self.run_to_end("sh", "-c", script, log=True)
        self.assertEqual((out, err), ("out1\nout2\nout3\nlast", "err1\nerr2\nerr3\n"))
        with open(self.log, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(sorted(lines), sorted(["out1", "out2", "out3", "err1", "err2", "err3", "last"]))
        self.assertEqual(lines[-1], "last")

    def test_lines_of_two_outputs_do_not_mix(self):
        code = ("import os, threading\n"
                "def talk(fd, letter):\n"
                "    for i in range(4000):\n"
                "        line = letter * 70 + b'\\n'\n"
                "        os.write(fd, line[:i % 70]); os.write(fd, line[i % 70:])\n"
                "threads = [threading.Thread(target=talk, args=a) for a in ((1, b'o'), (2, b'e'))]\n"
                "[t.start() for t in threads]; [t.join() for t in threads]\n")
        process, out, err = self.run_to_end("python3", "-c", code, log=True)
        self.assertEqual(process.returncode, 0)
        with open(self.log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual((lines.count("o" * 70), lines.count("e" * 70), len(lines)), (4000, 4000, 8000))
        self.assertEqual((out, err), (("o" * 70 + "\n") * 4000, ("e" * 70 + "\n") * 4000))

    def test_large_and_binary_output(self):
        size = 3_000_001
        code = f"import os, sys; sys.stdout.buffer.write(os.urandom(1) * 0 + bytes(range(256)) * ({size} // 256 + 1)); sys.exit(4)"
        process = self.launch("python3", "-c", code, log=True, text=False)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4)
        with open(self.log, "rb") as file:
            self.assertEqual(file.read(), out)
        self.assertEqual(out, bytes(range(256)) * (size // 256 + 1))

    def test_a_line_without_end_of_any_length(self):
        process, out, _ = self.run_to_end("python3", "-c", "print('x' * 1000000, end='')", log=True)
        self.assertEqual(len(out), 1_000_000)
        self.assertEqual(os.path.getsize(self.log), 1_000_000)

    def test_a_slow_reader_gets_all_of_what_a_trainer_left(self):
        """Two pipes and the buffer are full when the trainer ends."""
        process = self.launch("python3", "-c", "import os; os.write(1, b'x' * 190_000)", log=True)
        until(lambda: os.path.getsize(self.log) >= 65536)
        time.sleep(0.3)
        out, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, len(out), os.path.getsize(self.log)), (0, 190_000, 190_000))

    def test_nobody_reads_the_output(self):
        process = self.launch("sh", "-c", "sleep 0.3; echo metric=1; echo metric=2; exit 0", log=True)
        process.stdout.close()
        self.assertEqual(process.wait(30), 0)
        with open(self.log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "metric=1\nmetric=2\n")

    def test_a_stuck_reader_does_not_keep_signals_back(self):
        process = self.launch("python3", "-c", "import sys\nwhile True: print('x' * 1000)", log=True)
        self.assertTrue(until(lambda: os.path.getsize(self.log) > 60_000))
        time.sleep(0.2)  # both pipes are full now
        process.terminate()
        self.assertTrue(until(lambda: not [p for p in self.pids_of("python3") if p], 20), "the trainer got the signal")
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)

    def pids_of(self, word):
        from support import marked_pids
        found = []
        for pid in marked_pids(self.mark):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if file.read().startswith(word.encode()):
                        found.append(pid)
            except OSError:
                pass
        return found

    def test_log_begins_anew(self):
        self.run_to_end("echo", "a long first attempt", log=True)
        self.run_to_end("echo", "second", log=True)
        with open(self.log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "second\n")

    def test_signals_reach_the_whole_group(self):
        # Short sleeps: a signal just before one is handled behind it.
        script = ("import os, signal, subprocess, sys, time\n"
                  "if os.fork() == 0:\n"
                  "    signal.signal(signal.SIGTERM, lambda *a: (os.write(1, b'child\\n'), os._exit(0)))\n"
                  "    os.write(1, b'ready\\n')\n"
                  "    while True: time.sleep(0.1)\n"
                  "signal.signal(signal.SIGUSR1, lambda *a: os.write(1, b'usr1\\n'))\n"
                  "signal.signal(signal.SIGTERM, lambda *a: (os.wait(), os.write(1, b'parent\\n'), os._exit(9)))\n"
                  "os.write(1, b'ready\\n')\n"
                  "while True: time.sleep(0.1)\n")
        for log in (False, True):
            process = self.launch("python3", "-c", script, log=log)
            self.assertEqual([process.stdout.readline(), process.stdout.readline()], ["ready\n"] * 2)
            process.send_signal(signal.SIGWINCH)
            process.terminate()
            self.assertEqual(process.stdout.readline(), "child\n")
            self.assertEqual(process.stdout.readline(), "parent\n")
            self.assertEqual(process.wait(30), 9)

    def test_each_signal_is_passed_on_once(self):
        script = ("import os, signal, time\n"
                  "names = ['HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'ALRM', 'WINCH', 'PIPE', 'CONT']\n"
                  "for n in names:\n"
                  "    signal.signal(getattr(signal, 'SIG' + n), lambda s, f, n=n: os.write(1, n.encode() + b'\\n'))\n"
                  "signal.signal(signal.SIGRTMIN, lambda s, f: os.write(1, b'RTMIN\\n'))\n"
                  "signal.signal(signal.SIGTERM, lambda s, f: os._exit(0))\n"
                  "os.write(1, b'ready\\n')\n"
                  "while True: time.sleep(60)\n")
        process = self.launch("python3", "-c", script, log=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "WINCH", "PIPE", "CONT", "RTMIN"):
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.stdout.readline(), name + "\n")
        process.terminate()
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(process.stdout.read(), "")

    def test_own_group_and_subreaper(self):
        process = self.launch("sh", "-c", "ps -o pid=,pgid= -p $$; (setsid sh -c 'sleep 0.3; exit 5' &) ; sleep 1; ps -o ppid=,stat= -e | "
                              "awk -v p=$PPID '$1 == p && $2 ~ /Z/' | wc -l")
        pid, group = process.stdout.readline().split()
        self.assertEqual(pid, group)
        self.assertNotEqual(int(group), os.getpgid(process.pid))
        self.assertEqual(process.stdout.readline().strip(), "0", "orphans are reaped")
        self.assertEqual(process.wait(30), 0)

    def test_does_not_wait_for_what_the_trainer_left(self):
        process = self.launch("sh", "-c", "sleep 100 & echo done", log=True)
        self.assertEqual(process.stdout.readline(), "done\n")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.marker(process), "completed\n")
        self.end_marked()

    def stop_early(self, process, text="early-stopped\n", mode=0o666, owner=None):
        path = os.path.join(self.shared, f"{process.pid}.pid")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    def test_early_stop(self):
        process = self.launch("sh", "-c", "echo ready; sleep 60", log=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        path = self.stop_early(process)
        child = int(until(lambda: open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8").read().split()[0]))
        os.kill(-child, signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(process.stdout.read(), "Training Container was Early Stopped\n")
        self.assertEqual(self.marker(process), "completed\n")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o666)
        with open(self.log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "ready\n")

    def test_other_marks_are_no_early_stop(self):
        for text in ("", "early-stopped-not\n", "completed\n", "x\nearly-stopped\n"):
            process = self.launch("sh", "-c", "echo ready; read line; exit 6", stdin=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), "ready\n")
            self.stop_early(process, text)
            process.communicate("go\n", 30)
            self.assertEqual(process.returncode, 6, text)
            self.assertEqual(self.marker(process), text, "left as it was")

    def test_marker_whatever_the_umask_and_the_user(self):
        self.need_root()
        process = self.launch("sh", "-c", "echo ready; read line; exit 1", user="nobody", wrap=(), stdin=subprocess.PIPE, umask=0o077)
        self.assertEqual(process.stdout.readline(), "ready\n")
        path = self.stop_early(process)  # the collector is root here
        os.chmod(self.shared, 0o755)     # and the folder is closed to the trainer's user
        process.communicate("go\n", 30)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.marker(process), "completed\n", "written over in place")
        os.chmod(self.shared, 0o777)
        process, _, _ = self.run_to_end("true", user="nobody", umask=0o077)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.shared, f"{process.pid}.pid")).st_mode), 0o666)
        self.assertTrue(path)

    def test_a_folder_that_cannot_be_written_does_not_stop_the_job(self):
        process = self.spawn("--dir", "/proc/nowhere", "--file", "/proc/nowhere/log", "--", "echo", "hello", program=EXEC)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (0, "hello\n"))
        self.assertIn("/proc/nowhere", err)

    def test_install(self):
        place = self.path("bin", "deep")
        done = self.spawn("--install", place, program=EXEC)
        self.assertEqual(done.wait(30), 0)
        copy = os.path.join(place, "exec")
        self.assertEqual(stat.S_IMODE(os.stat(copy).st_mode), 0o755)
        self.assertEqual(os.listdir(place), ["exec"])
        process = self.spawn("--", "sh", "-c", "exit 8", program=copy)
        self.assertEqual(process.wait(30), 8)
        again = self.spawn("--install", place, program=copy)
        self.assertEqual(again.wait(30), 0, "over a copy of itself that runs")

    def test_bad_options(self):
        for words in ((), ("--",), ("--dir",), ("--unknown", "x", "--", "true"), ("true",)):
            process = self.spawn(*words, program=EXEC)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 2, words)
            self.assertIn("tacho-exec: ", err)

    def test_idle_launcher_does_not_wake_up(self):
        process = self.launch("sleep", "2", log=True)
        self.assertTrue(until(lambda: process_state(process.pid) == "S"))
        time.sleep(0.2)

        def switches():
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        before = switches()
        time.sleep(1)
        self.assertLessEqual(switches() - before, 1)
        self.assertEqual(process.wait(30), 0)
