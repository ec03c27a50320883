"""The program itself: its sibling, its documents, its other name, and a standard output that cannot be written."""
import json
import os
import re
import subprocess

from support import BUILD, SANITIZED, TACHO, Case


class Program(Case):
    def alone(self):
        """tacho in a folder of its own. Copied by another process: a descriptor open for writing here would leak into what
        other threads fork just now, and the kernel would not execute the file (ETXTBSY)."""
        subprocess.run(["cp", TACHO, self.path("tacho")], check=True)
        return self.path("tacho")

    def test_starts_no_streams(self):
        """std::cin and its kin set up eight streams and a locale at every start, a tenth of its time."""
        with open(TACHO, "rb") as file:
            self.assertNotIn(b"_ZNSt8ios_base4InitC1Ev", file.read())

    def test_sibling_is_missing(self):
        alone = self.alone()
        for words in (["discover"], ["deliver", "--all"], ["cromwell", "upload"], ["bq", "init"]):
            with self.subTest(words=words):
                done = self.tacho(*words, program=alone)
                self.refused(done, "tacho-deliver")
                self.assertIn(words[0], done.err)

    def test_sibling_takes_over(self):
        alone = self.alone()
        script = self.write("script", "#!/bin/sh\necho \"$# $1 $2\"; exit 9\n", 0o755)
        subprocess.run(["cp", script, self.path("tacho-deliver")], check=True)
        done = self.tacho("deliver", "a b", program=alone)
        self.assertEqual((done.rc, done.out), (9, "2 deliver a b\n"))

    def test_documents(self):
        for name in ("metrics", "man", "completion-bash", "completion-zsh", "completion-fish"):
            with self.subTest(name=name):
                done = self.tacho("docs", name)
                self.assertEqual(done.rc, 0, done)
                self.assertGreater(len(done.out), 500)
        self.refused(self.tacho("docs", "mann"), "man")
        self.assertNotIn("docs", self.tacho("--help").out)

    def test_completion_by_bash(self):
        self.write("tacho.bash", self.tacho("docs", "completion-bash").out)

        def complete(*words):
            script = ('source ./tacho.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tacho; printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], cwd=self.dir, capture_output=True,
                                  text=True, check=True)
            return done.stdout.split()
        self.assertEqual(complete("tacho", "atta"), ["attach"])
        self.assertEqual(complete("tacho", "run", "--interv"), ["--interval"])
        self.assertEqual(complete("tacho", "run", "--pss", "a"), ["auto", "always"])
        self.assertEqual(complete("tacho", "list", "pro"), ["probes"])
        self.assertIn("tacho.bash", complete("tacho", "run", "-i", "1", "--", "cat", "tacho.b"))
        self.assertNotIn("--interval", complete("tacho", "run", "ls", "--interv"))

    def test_standard_output_is_full(self):
        for words in (["--version"], ["--help"], ["list", "metrics"], ["runs"], ["doctor", "--json"]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                done = self.spawn(*words, stdout=full)
                _, err = done.communicate(timeout=30)
                self.assertEqual(done.returncode, 1)
                self.assertIn("stdout", err)

    def test_bad_words(self):
        self.refused(self.tacho("list"), "metrics")
        self.refused(self.tacho("runs", "x"), "show")
        self.refused(self.tacho("show", "a", "b"), "show")
        self.refused(self.tacho("doctor", "x"), "doctor")
        self.refused(self.tacho("report"), "report")
        self.refused(self.tacho("runs", "--jsn"), "--json")
        self.refused(self.tacho("-q", "watch"), "tacho watch")

    def test_help_begins_with_examples(self):
        listed = re.findall(r"^  ([a-z]+) ", self.tacho("--help").out.split("\nCommands:\n")[1], re.MULTILINE)
        self.assertGreater(len(listed), 25)
        programs = {"tacho": ["", *listed, "cromwell upload", "cromwell serve", "cromwell import", "cromwell analyze", "bq init"],
                    "tacho-katib": ["", "collect", "db", "log", "inject", "trials"], "resource-tracker": [""]}
        if not all(os.path.exists(os.path.join(BUILD, "bin", name)) for name in [*programs, "tacho-deliver", "tacho-kube"]):
            self.skipTest("not all of it is built here")
        for program, commands in programs.items():
            for command in commands:
                with self.subTest(program=program, command=command):
                    done = self.tacho(*command.split(), "--help", program=os.path.join(BUILD, "bin", program))
                    self.assertEqual((done.rc, done.err), (0, ""))
                    self.assertRegex(done.out, f"^Examples:\n  (.*[= (])?{program}")
        self.assertEqual(self.tacho("help", "discover").out, self.tacho("discover", "--help").out)

    def test_nearest_name_of_siblings(self):
        if not os.path.exists(os.path.join(BUILD, "bin", "tacho-deliver")):
            self.skipTest("tacho-deliver is not built")
        for words, near in ((["discover", "--jsn"], "--json"), (["deliver", "--al"], "--all"), (["bq", "init", "--datset=x"], "--dataset")):
            done = self.tacho(*words)
            self.assertIn(near, done.err, done)
            self.assertNotEqual(done.rc, 0)

    def test_install(self):
        """What was built is what is installed: every program that another one starts, manual and completions too."""
        built = {name for name in os.listdir(os.path.join(BUILD, "bin")) if not name.startswith("burn_") and not name.endswith("_test")}
        parts = {"tacho", "tacho-deliver", "tacho-query", "tacho-katib", "tacho-kube", "tacho-katib-exec", "resource-tracker",
                 "file-metricscollector", "tfevent-metricscollector", "tacho-bash", "tacho-sh"}
        if SANITIZED or not parts <= built or not os.path.exists(os.path.join(BUILD, "share", "tacho.1")):
            self.skipTest("not all of it is built here")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", self.path("usr")], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(set(os.listdir(self.path("usr", "bin"))) & built, parts)
        for name in ("share/man/man1/tacho.1", "share/bash-completion/completions/tacho", "share/zsh/site-functions/_tacho",
                     "share/fish/vendor_completions.d/tacho.fish"):
            self.assertGreater(os.path.getsize(self.path("usr", name)), 500, name)
        for name in parts:  # each command has a page, but Katib's
            self.assertEqual(os.path.exists(self.path("usr", "share", "man", "man1", name + ".1")), "kat" not in name and "kube" not in name and "metrics" not in name, name)
        for words in (["tacho", "deliver", "--help"], ["tacho-katib", "inject", "--help"], ["resource-tracker", "--version"]):
            self.assertEqual(self.tacho(*words[1:], program=self.path("usr", "bin", words[0])).rc, 0, words)

    def test_bare(self):
        done = self.tacho()
        self.assertEqual(done.rc, 0, done)
        self.assertTrue(done.out.startswith("Examples:\n"))

    def test_doctor_leaves_nothing(self):
        before = sorted(os.listdir(self.dir))
        self.assertTrue(json.loads(self.tacho("doctor", "--json").out))
        self.assertEqual(sorted(os.listdir(self.dir)), before)
