"""scripts/package with the programs of this build, and the step of the GitHub action in an imitated workflow."""
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import time

from support import BUILD, SANITIZED, TACHO, Case

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ACTION = os.path.join(ROOT, "packaging", "github-action")
PACKAGE = os.path.join(ROOT, "scripts", "package")
sys.path.insert(0, os.path.join(ROOT, "packaging"))
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


class Package(Case):
    def package(self, *words, env=None):
        return subprocess.run([PACKAGE, *words], capture_output=True, text=True, check=False, timeout=300,
                              env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **(env or {})})

    def programs(self):
        """Small ones: only what is packed matters here."""
        folder = self.path("programs")
        os.makedirs(folder)
        for name in ("tacho", "tacho-gpu"):
            shutil.copy2(os.path.join(BUILD, "bin", name), folder)
            subprocess.run(["strip", os.path.join(folder, name)], check=False)
        for name in ("tacho-deliver", "tacho-query"):
            shutil.copy2(os.path.join(folder, "tacho-gpu"), os.path.join(folder, name))
        return folder

    def test_usage(self):
        for words in (["nonsense"], ["tar", "--arch", "mips"], ["--os", "beos"], ["tar", "--nonsense"]):
            done = self.package(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertEqual(self.package("tar", env={"TACHO_DIST": "../x"}).returncode, 2)
        for words in (["tar", "--os", "macos"], ["tar", "--programs", "/nonexistent", "--out", self.path("out")]):
            done = self.package(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertTrue(done.stderr)
        done = self.package("tar", "--programs", self.path("."), "--out", self.path("out"), env={"SOURCE_DATE_EPOCH": "yesterday"})
        self.assertEqual(done.returncode, 1)

    def test_tar_and_deb(self):
        if SANITIZED:
            self.skipTest("sanitized programs are not packed")
        folder, outs = self.programs(), (self.path("one"), self.path("two"))
        version = json.loads(self.tacho("version", "--json").out)["version"]
        printed = []
        for out, kinds in zip(outs, (("deb", "tar"), ("tar",))):
            done = self.package(*kinds, "--programs", folder, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            printed.append(done.stdout.splitlines())
            time.sleep(1.1)  # another second, the same bytes
        tar, deb = f"tacho-{version}-linux-{ARCH}.tar.gz", f"tacho_{version}_{ARCH}.deb"
        self.assertEqual(printed[0], [os.path.join(outs[0], name) for name in (tar, deb)])
        sums = self.read("one/SHA256SUMS")
        self.assertLess(set(self.read("two/SHA256SUMS").splitlines()), set(sums.splitlines()))
        names = [line.split("  ")[1] for line in sums.splitlines()]
        self.assertEqual(names, sorted([tar, deb, f"tacho-{version}-{ARCH}.spdx.json"]))
        subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=outs[0], check=True)
        self.look_into_tar(os.path.join(outs[0], tar), f"tacho-{version}", version)
        self.look_into_deb(os.path.join(outs[0], deb))
        self.look_into_bill(os.path.join(outs[0], f"tacho-{version}-{ARCH}.spdx.json"), folder)

    def look_into_tar(self, path, top, version):
        with tarfile.open(path) as archive:
            members = {member.name: member for member in archive.getmembers()}
        files = {name[len(top) + 1:] for name, member in members.items() if not member.isdir()}
        shells = {f"{place}{name}" for name in ("bash", "sh") for place in ("bin/tacho-", "libexec/tacho/shell/")}
        slurm = {f"share/doc/tacho/slurm/{name}" for name in ("README.md", "taskprolog", "epilogslurmctld")}
        other_pages = {f"share/man/man1/{name}.1" for name in ("resource-tracker", "tacho-bash", "tacho-sh", "tacho-deliver", "tacho-gpu", "tacho-query")}
        self.assertEqual({members[f"{top}/{name}"].linkname for name in other_pages}, {"tacho.1"})
        self.assertEqual(files, {*shells, *slurm, *other_pages, "bin/tacho", "bin/tacho-deliver", "bin/tacho-gpu", "bin/tacho-query", "bin/resource-tracker", "share/man/man1/tacho.1",
                                 "share/bash-completion/completions/tacho", "share/zsh/site-functions/_tacho", "share/fish/vendor_completions.d/tacho.fish",
                                 *(f"share/doc/tacho/{name}" for name in ("LICENSE", "README.md", "tacho.toml", f"tacho-{version}-{ARCH}.spdx.json"))})
        self.assertEqual(members[f"{top}/bin/resource-tracker"].linkname, "tacho")
        self.assertEqual(members[f"{top}/libexec/tacho/shell/bash"].linkname, "../../../bin/tacho")
        for member in members.values():
            self.assertEqual((member.uid, member.gid, member.uname, member.mtime), (0, 0, "", 1700000000), member.name)
        self.assertEqual(stat.S_IMODE(members[f"{top}/bin/tacho"].mode), 0o755)
        self.assertEqual(list(members), sorted(members))

    def look_into_deb(self, path):
        if not shutil.which("dpkg-deb"):
            return
        control = subprocess.run(f"dpkg-deb --ctrl-tarfile '{path}' | tar -t", shell=True, capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(sorted(control), ["./", "./control", "./md5sums"])
        fields = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("Depends", fields)
        self.assertIn("Suggests: libc6 (>= 2.17)", fields)
        files = subprocess.run(["dpkg-deb", "-c", path], capture_output=True, text=True, check=True).stdout
        for name in ("./usr/bin/tacho-deliver\n", "./usr/share/doc/tacho/copyright\n", "./usr/share/doc/tacho/changelog.gz\n", "/tacho.1.gz\n",
                     "/resource-tracker.1.gz -> tacho.1.gz\n", "/tacho-gpu.1.gz -> tacho.1.gz\n"):
            self.assertIn(name, files)
        self.assertTrue(all(line.split()[1] == "root/root" for line in files.splitlines()))

    def look_into_bill(self, path, folder):
        with open(path, encoding="utf-8") as file:
            bill = json.load(file)
        self.assertEqual((bill["spdxVersion"], bill["creationInfo"]["created"]), ("SPDX-2.3", "2023-11-14T22:13:20Z"))
        names = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
        self.assertEqual(len(names), len(bill["packages"]) + 1)
        for relation in bill["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, names)
        sums = {package["name"]: package["checksums"][0]["checksumValue"] for package in bill["packages"] if "checksums" in package}
        with open(os.path.join(folder, "tacho"), "rb") as file:
            self.assertEqual(sums["tacho"], hashlib.sha256(file.read()).hexdigest())

    def test_what_is_linked_is_listed(self):
        """A new archive is in the bill of materials, and among what packages for arm64 are built with."""
        from pack import sbom  # pylint: disable=import-outside-toplevel
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            uses = re.findall(r"^\s*tacho_uses\((\S+) ([^)]*)\)", file.read(), re.M)
        with open(os.path.join(ROOT, "packaging", "sysroot"), encoding="utf-8") as file:
            sysroot = file.read()
        archives = {name for folder, words in uses if not folder.startswith(("katib", "kube")) for name in re.findall(r"lib(\w+)\.a", words)}
        self.assertIn("snappy", archives)
        for name in archives:
            self.assertIn(f"lib{name}-dev", [label for label, _, _ in sbom.LINKED])
            self.assertIn(f" lib{name}-dev ", sysroot)

    def test_image(self):
        if SANITIZED:
            self.skipTest("sanitized programs are not packed")
        folder, out = self.programs(), self.path("out")
        done = self.package("image", "--programs", folder, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(done.stdout.strip()) as archive:
            blobs = {member.name.rsplit("/", 1)[-1]: archive.extractfile(member).read() for member in archive if member.isfile()}
        manifest = json.loads(blobs[json.loads(blobs["index.json"])["manifests"][0]["digest"][7:]])
        with tarfile.open(fileobj=io.BytesIO(blobs[manifest["layers"][0]["digest"][7:]])) as layer:
            members = {member.name: member for member in layer}
        for name in ("tacho", "tacho-deliver", "tacho-gpu", "tacho-query"):
            self.assertEqual(stat.S_IMODE(members[f"usr/bin/{name}"].mode), 0o755)
        for name in ("resource-tracker", "tacho-bash", "tacho-sh"):
            self.assertEqual(members[f"usr/bin/{name}"].linkname, "tacho")
        self.assertEqual(members["usr/libexec/tacho/shell/sh"].linkname, "../../../bin/tacho")
        config = json.loads(blobs[manifest["config"]["digest"][7:]])
        self.assertEqual((config["config"]["User"], config["config"]["Entrypoint"], config["architecture"]), ("65534", ["/usr/bin/tacho"], ARCH))

    def test_formula(self):
        from pack import formula  # pylint: disable=import-outside-toplevel
        import pathlib  # pylint: disable=import-outside-toplevel
        tar = pathlib.Path(self.write("tacho-0.1.0-linux-arm64.tar.gz", "x"))
        text = formula.filled(formula.FORMULA.read_text(), tar)
        digest = hashlib.sha256(b"x").hexdigest()
        self.assertEqual(text.count(digest), 1)
        self.assertRegex(text, r'on_linux do\s+on_arm do\s+url "[^"]*"\s+sha256 "' + digest)

    def test_r_description(self):
        from pack import rpackage  # pylint: disable=import-outside-toplevel
        text = rpackage.description('Package: tacho\nVersion: 0.0.9\nAuthors@R: person("The tacho", "authors", email = "a@b.c", role = c("aut", "cre"))\n')
        self.assertRegex(text, r"Version: \d+\.\d+\.\d+\n")
        for line in ("NeedsCompilation: no", "Author: The tacho authors [aut, cre]", "Maintainer: The tacho authors <a@b.c>"):
            self.assertIn(line + "\n", text)
        self.assertRegex(text, r"\nPackaged: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; tacho\n")


GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$GH_LOG"
case "$*" in
  *--paginate*) [ ! -f "$GH_LOG.comments" ] || cat "$GH_LOG.comments" ;;
  *) [ ! -f "$GH_LOG.fail" ] || { echo 'HTTP 403: Resource not accessible by integration' >&2; exit 1; }
     for word; do case "$word" in body=@*) cp "${word#body=@}" "$GH_LOG.body" ;; esac; done ;;
esac
"""


class Action(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("bin"))
        os.symlink(TACHO, self.path("bin/tacho"))
        self.write("bin/gh", GH, 0o755)

    def act(self, command, gh=True, path=None, ref="refs/pull/17/merge", **inputs):
        """Runs the step; (status, outputs, log)."""
        output = self.write("output", "")
        env = {"PATH": path or self.path("bin") + os.pathsep + os.environ["PATH"], "GITHUB_OUTPUT": output, "RUNNER_TEMP": self.path("."),
               "GITHUB_REF": ref, "GITHUB_REPOSITORY": "a/b", "GH_LOG": self.path("gh.log"), "INPUT_COMMAND": command,
               "HOME": self.path("."), "TACHO_STORE": self.path("runs"), "INPUT_COMMENT": "false"}
        if gh:
            env["GH_TOKEN"] = "secret-token"
        env.update({"INPUT_" + name.upper(): value for name, value in inputs.items()})
        done = subprocess.run(["bash", os.path.join(ACTION, "record")], cwd=self.path("."), env=env, capture_output=True, text=True, check=False, timeout=120)
        outputs = dict(line.split("=", 1) for line in self.read("output").splitlines())
        return done.returncode, outputs, done.stdout + done.stderr

    def test_no_input_in_a_script(self):
        with open(os.path.join(ACTION, "action.yml"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("${{", text.split("run: ", 1)[1])
        inputs = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", text))
        self.assertEqual(inputs, {"command", "job-name", "args", "baseline", "fail-if", "comment"})
        self.assertEqual(set(re.findall(r"steps\.record\.outputs\.([a-z-]+) \}\}", text)),
                         {"run-id", "run-folder", "exit-code", "seconds", "cpu-mean", "memory-peak-bytes"})
        for line in text.splitlines():
            if "${{ inputs." in line:
                self.assertRegex(line, r"^        INPUT_[A-Z_]+: \$\{\{ inputs\.[a-z-]+ \}\}$")

    def test_outputs(self):
        command = "echo \"it's $(echo fine)\"\nx='a \"b\" $c'\nprintf '%s|' \"$x\" '%0A' `echo tick`\nenv | grep -c ^INPUT_ || :\nsleep 0.2"
        status, outputs, log = self.act(command, job_name="a 'b' $(c)", args="-i 100ms --tag 'k=v w'")
        self.assertEqual(status, 0, log)
        self.assertIn("it's fine", log)
        self.assertIn('a "b" $c|%0A|tick|0\n', log)
        self.assertEqual(set(outputs), {"run-id", "run-folder", "exit-code", "seconds", "cpu-mean", "memory-peak-bytes"})
        self.assertEqual(outputs["exit-code"], "0")
        self.assertEqual(outputs["run-id"], os.path.basename(outputs["run-folder"]))
        self.assertGreater(float(outputs["seconds"]), 0.15)
        self.assertGreaterEqual(float(outputs["cpu-mean"]), 0)
        self.assertGreater(int(outputs["memory-peak-bytes"]), 100_000)
        with open(os.path.join(outputs["run-folder"], "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual(run["metadata"]["job_name"], "a 'b' $(c)")
        self.assertEqual((run["outcome"]["exit_code"], run["interval_s"]), (0, 0.1))
        self.assertIn("v w", json.dumps(run["metadata"]["tags"]))
        self.assertEqual([name for name in os.listdir(self.path(".")) if name.startswith("tacho-")], [])

    def test_status(self):
        self.assertEqual(self.act("false; echo not reached")[0], 1)
        self.assertEqual(self.act("exit 7")[:1], (7,))
        self.assertEqual(self.act("exit 7")[1]["exit-code"], "7")
        self.assertEqual(self.act("false | true")[0], 1)
        self.assertEqual(self.act("kill -TERM $$")[0], 143)
        self.assertEqual(self.act("true", args="--nonsense")[0], 125)
        self.assertEqual(self.act("true", args="'unbalanced")[0], 125)
        self.assertEqual(self.act("")[0], 125)
        os.makedirs(self.path("few"))
        for name in ("bash", "xargs", "mktemp", "env"):
            os.symlink(shutil.which(name), self.path(f"few/{name}"))
        status, _, log = self.act("true", path=self.path("few"))
        self.assertEqual(status, 125)
        self.assertIn("::error title=tacho::tacho is not on PATH", log)
        status, outputs, log = self.act("exit 3", args="--no-store")
        self.assertEqual((status, outputs), (3, {"exit-code": "3"}))
        self.assertEqual(log.count("::warning"), 1)

    def test_comparison(self):
        _, outputs, _ = self.act("true", job_name="j")
        baseline = outputs["run-folder"]
        for place in (baseline, os.path.join(baseline, "run.json")):
            self.assertEqual(self.act("true", job_name="j", baseline=place)[0], 0)
        status, _, log = self.act("sleep 0.3", job_name="j", baseline=baseline, fail_if="\n  \nmemory_peak > 900 GB\ntime > 100ms\n")
        self.assertEqual(status, 3, log)
        self.assertIn("<!-- tacho:compare j -->", log)
        self.assertEqual(self.act("exit 9", job_name="j", baseline=baseline, fail_if="time > 0s")[0], 9)
        self.assertEqual(self.act("true", job_name="j", baseline=baseline, fail_if="tyme > 1s")[0], 125)
        status, _, log = self.act("true", baseline="/nonexistent", fail_if="time > 0s")
        self.assertEqual(status, 0)
        self.assertIn("::notice", log)

    def test_comment(self):
        _, outputs, _ = self.act("true", job_name="j")
        with_comment = {"job_name": "j", "baseline": outputs["run-folder"], "comment": "true"}
        self.assertEqual(self.act("true", **with_comment)[0], 0)
        self.assertIn("api --silent -X POST repos/a/b/issues/17/comments", self.read("gh.log"))
        self.assertTrue(self.read("gh.log.body").startswith("<!-- tacho:compare j -->\n"))
        self.write("gh.log.comments", "5 <!-- tacho:compare other -->\n6 <!-- tacho:compare j -->\r\n7 hello\n")
        os.unlink(self.path("gh.log"))
        self.assertEqual(self.act("true", **with_comment)[0], 0)
        self.assertIn("api --silent -X PATCH repos/a/b/issues/comments/6", self.read("gh.log"))
        self.assertNotIn("POST", self.read("gh.log"))
        # Whatever is in the way: one warning, the same status, and the token is nowhere.
        self.write("gh.log.fail", "")
        for status in (0, 4):
            for change in ({}, {"gh": False}, {"ref": "refs/heads/main"}):
                done, _, log = self.act(f"exit {status}", **{**with_comment, **change})
                self.assertEqual((done, log.count("::warning")), (status, 1), log)
                self.assertNotIn("secret-token", log)
        os.unlink(self.path("bin/gh"))
        if not shutil.which("gh"):
            done, _, log = self.act("true", **with_comment)
            self.assertEqual((done, log.count("::warning")), (0, 1))

    def test_outputs_that_cannot_be_written(self):
        done = subprocess.run(["bash", os.path.join(ACTION, "record")], cwd=self.path("."), capture_output=True, text=True, check=False, timeout=60,
                                  env={"PATH": self.path("bin") + os.pathsep + os.environ["PATH"], "INPUT_COMMAND": "exit 2", "HOME": self.path("."),
                                       "TACHO_STORE": self.path("runs"), "GITHUB_OUTPUT": "/nonexistent/output"})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout.count("::warning"), 1)
