"""Text files of metrics beside whoever reads them: a file is whole or not there, whatever happens to its folder."""
import os
import shutil
import threading
import time

from support import Case


class Files(Case):
    def look(self, name, last, found):
        """Polls as fast as a reader may, from the first time that it is there."""
        there = False
        while not self.done:
            try:
                text = self.read(name)
            except FileNotFoundError:
                if there:
                    found.append("gone")
                time.sleep(0.001)
                continue
            there = True
            lines = text.splitlines()
            whole = text.endswith("\n") and (not last or lines[-1] == last) and sum(line.startswith("tacho_job_running{") for line in lines) == 1
            series = [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")]
            if not whole or len(series) != len(set(series)) or not 3 < len(series) <= 20:
                found.append(text)
            self.looks += 1
            time.sleep(0.001)

    def test_a_reader_never_sees_a_torn_file(self):
        self.done, self.looks, found = False, 0, []
        readers = [threading.Thread(target=self.look, args=(name, last, found)) for name, last in (("x.prom", ""), ("x.openmetrics", "# EOF"))]
        for reader in readers:
            reader.start()
        for _ in range(40):
            self.assertEqual(self.tacho("run", "-q", "-n", "same", "-o", self.path("x.prom"), "-o", self.path("x.openmetrics"), "--", "true").rc, 0)
        self.done = True
        for reader in readers:
            reader.join()
        self.assertEqual(found[:1], [])
        self.assertGreater(self.looks, 100)
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith(".x")], [])

    def test_a_folder_that_goes_in_mid_run(self):
        os.mkdir(self.path("out"))
        done = self.tacho("run", "-q", "-o", self.path("out", "x.prom"), "--", "sh", "-c", f"rm -r {self.path('out')}; exit 3")
        self.assertEqual(done.rc, 3)
        self.assertEqual(done.err.count("x.prom"), 1, done)
        self.assertFalse(os.path.exists(self.path("out")))
        os.mkdir(self.path("out"))
        self.tacho("run", "-q", "-o", self.path("out", "x.prom"), "--", "sh", "-c", f"mv {self.path('out')} {self.path('moved')}")
        self.assertIn("tacho_job_running", self.read("moved/x.prom"))
        shutil.rmtree(self.path("moved"))

    def test_a_job_that_never_started_leaves_no_trace(self):
        """tacho_job_running 1 would stand there for ever."""
        self.write("old.prom", "tacho_job_running 0\n")
        os.symlink(self.path("old.prom"), self.path("link.prom"))
        words = [word for name in ("new.prom", "new.openmetrics", "link.prom") for word in ("-o", self.path(name))]
        self.assertEqual(self.tacho("run", "-q", *words, "--", "no-such-command").rc, 127)
        self.assertEqual(self.read("old.prom"), "tacho_job_running 0\n")
        self.assertEqual(sorted(name for name in os.listdir(self.dir) if "new" in name), [])
        self.assertEqual(self.tacho("run", "-q", *words, "--", self.dir).rc, 126)
        self.assertEqual(sorted(name for name in os.listdir(self.dir) if "new" in name), [])

    def test_what_a_killed_tacho_leaves_is_whole(self):
        run = self.spawn("run", "-q", "-o", self.path("x.prom"), "--", "sh", "-c", "sleep 0.3; kill -9 $PPID")
        run.wait(30)
        text = self.read("x.prom")
        self.assertRegex(text, r'(?m)^tacho_job_running\{job_name="sh"\} 1$')
        self.assertNotIn("tacho_job_end_time_seconds{", text)
