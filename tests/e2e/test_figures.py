"""One figure, one rounding: the exit line, runs, show, run.json, compare, advise and the page tell the same of one run, no average is above its
maximum, and nothing is wider than the terminal."""
import csv
import json
import os
import re
import signal
import time

from support import Case, burner, until

SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
WHOLE = r"[\d.]+ (?:B|KiB|MiB|GiB|TiB)"


def seconds_of(text):
    """'1m04s' and '340ms' as seconds."""
    if text == "<0.1ms":
        return 0.00005
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
    parts = re.findall(r"([\d.]+)(ms|[dhms])", text)
    assert "".join(number + unit for number, unit in parts) == text, text
    return sum(float(number) * units[unit] for number, unit in parts)


def bytes_of(text):
    number, unit = text.split()
    return float(number) * SIZES[unit]


class Seen:
    """What each place tells of the newest run, as text."""

    def __init__(self, case, line, env):
        def out(*words):
            return case.tacho(*words, env=env).out
        self.line, self.show, self.run = line, out("show", "last"), json.loads(out("show", "last", "--json"))
        heads, row = out("runs", "--limit", "1").splitlines()
        place = {name: (heads.index(name), heads.index(name) + len(name)) for name in ("TIME", "CORES", "MEMORY", "WHEN", "COMMAND")}
        # Right-aligned: a figure ends where its head ends.
        self.row = {name: re.split(r"\s{2,}", row[:place[name][1]])[-1].strip() for name in ("TIME", "CORES", "MEMORY")}
        self.row["WHEN"] = row[place["WHEN"][0]:place["TIME"][0]].split("  ")[0].strip()
        self.compared = {one["name"]: one["values"][0] for one in json.loads(out("compare", "last", "last", "--json"))["metrics"]}
        self.table = {words[0]: words[1] for words in (re.split(r"\s{2,}", one.strip()) for one in out("compare", "last", "last").splitlines()) if len(words) > 2}
        advised = case.tacho("advise", "last", "--json", env=env)
        self.advice = json.loads(advised.out)["advice"] if advised.out else None
        case.tacho("report", "last", "-o", case.path("page.html"), env=env)
        page = case.read("page.html")
        self.tiles = dict(re.findall(r"<div class=tile><b>(.*?)</b><strong>(.*?)</strong>", page))
        self.page = page
        self.folder = out("show", "last", "--path").strip()

    def shown(self, name):
        found = re.search(rf"^  {name} +(.*)$", self.show, re.M)
        return found[1] if found else ""


class Figures(Case):
    def look(self, *job, options=(), line=None, env=None):
        """Runs it, and holds all places against each other."""
        if job:
            done = self.tacho("run", *options, "--", *job, env=env)
            line = done.err.strip().splitlines()[-1]
        seen = Seen(self, line, env)
        self.check_time(seen)
        self.check_cpu(seen)
        self.check_memory(seen)
        self.check_processes(seen)
        return seen

    def check_time(self, seen):
        lasted = seen.run["outcome"]["duration_s"] if seen.run["outcome"]["duration_s"] is not None else seen.run["statistics"]["timestamp"]["duration"]
        told = {"runs": seen.row["TIME"], "page": seen.tiles["Time"].replace("&lt;", "<"), "compare": seen.table["time"], "show": re.split(r" after | ok ", seen.show.splitlines()[0])[-1]}
        if seen.line:
            told["line"] = re.split(r" after | ok ", seen.line.split(" · ")[0])[-1]
        self.assertEqual(len(set(told.values())), 1, told)
        self.assertAlmostEqual(seconds_of(told["runs"]), lasted, delta=max(lasted * 0.051, 0.0006), msg=told)
        if lasted < 1:
            self.assertTrue(told["runs"].endswith("ms") or told["runs"] in ("0s", "1s"), told)

    def check_cpu(self, seen):
        if "CPU" not in seen.tiles:
            self.assertEqual(seen.row["CORES"], "-", seen.show)
            return
        mean, most = (re.search(pattern, seen.shown("cpu")) for pattern in (r"^([\d.<]+)", r"at most ([\d.<]+)"))
        told = {"runs": seen.row["CORES"], "page": seen.tiles["CPU"].replace("&lt;", "<"), "show": mean[1], "compare": seen.table["cpu mean"]}
        if seen.line:
            told["line"] = re.search(r" cpu ([\d.<]+)", seen.line)[1]
        self.assertEqual(len(set(told.values())), 1, told)
        statistics = seen.run["statistics"].get("process_cpu_usage") or {}
        self.assertLessEqual(seen.compared["cpu_mean"], seen.compared["cpu_max"])
        self.assertLessEqual(float(mean[1].strip("<")), float(most[1].strip("<")) if most else 1e9, seen.show)
        if statistics:
            self.assertLessEqual(statistics["mean"], statistics["max"])
            self.assertLessEqual(statistics.get("min", 0), statistics["mean"])
        used = seen.advice and seen.advice["cpu"]["used"]
        if used is not None:
            self.assertLessEqual(used, seen.compared["cpu_max"] + 0.0051, seen.advice)

    def check_memory(self, seen):
        peak = re.search(rf"peak ({WHOLE}|[\d.]+ of {WHOLE})", seen.shown("memory"))
        if not peak:
            self.assertNotIn("Memory peak", seen.tiles)
            return
        told = {"runs": seen.row["MEMORY"], "page": seen.tiles["Memory peak"], "compare": seen.table["memory peak"]}
        self.assertEqual(len(set(told.values())), 1, told)
        number, unit = told["runs"].split()
        for place in (seen.shown("memory"), seen.line or f"peak {told['runs']}"):
            self.assertRegex(place, rf"peak {re.escape(number)} ({unit}\b|of [\d.]+ {unit})")
        average = re.search(rf"({WHOLE}) on average", seen.shown("memory"))
        if average:
            self.assertLessEqual(bytes_of(average[1]), bytes_of(told["runs"]), seen.show)
        self.assertLessEqual(seen.compared["memory_mean"], seen.compared["memory_peak"])
        self.assertAlmostEqual(bytes_of(told["runs"]), seen.compared["memory_peak"], delta=seen.compared["memory_peak"] * 0.051)

    def check_processes(self, seen):
        """Their CPU time is the job's."""
        with open(os.path.join(seen.folder, "processes.csv"), encoding="utf-8") as file:
            lines = sum(float(one["cpu_s"] or 0) for one in csv.DictReader(file))
        total = sum((seen.run["statistics"].get(name) or {}).get("sum", 0) or 0 for name in ("process_utime", "process_stime"))
        self.assertAlmostEqual(lines, total, delta=max(0.05, total / 100), msg=seen.show)

    def test_of_any_length(self):
        for words in (["true"], ["sleep", "0.001"], ["sleep", "0.02"], ["sleep", "0.2"], ["sh", "-c", "exit 3"], [burner("cpu"), "1", "30"], [burner("cpu"), "2", "400"],
                      ["sh", "-c", "kill -9 $$"], ["sh", "-c", f"{burner('cpu')} 1 200; kill -SEGV $$"], ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do true | cat; done"]):
            for options in ((), ("-i", "10ms", "--method", "tree")):
                with self.subTest(words=words, options=options):
                    self.look(*words, options=options)

    def test_after_a_kill(self):
        """tacho itself is killed: its last rows count everywhere."""
        process = self.spawn("run", "-i", "20ms", "--", burner("memory"), "40", "600")
        self.assertTrue(until(lambda: self.run_folders() and len(self.the_run()[1].rows) > 12))
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.end_marked()
        time.sleep(0.05)
        seen = self.look()
        self.assertIn("interrupted", seen.show.splitlines()[0])

    def test_who_rests_has_what_it_used(self):
        """A process that worked and then waits has its CPU time in the file, should tacho be killed."""
        process = self.spawn("run", "-q", "-i", "100ms", "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 60")

        def used():
            with open(os.path.join(self.run_folders()[0], "processes.csv"), encoding="utf-8") as file:
                return [float(line["cpu_s"]) for line in csv.DictReader(file) if line["name"] == "sh" and line["cpu_s"]]
        self.assertTrue(until(lambda: self.run_folders() and used() and used()[-1] > 0.04, 40))
        process.kill()
        process.wait()
        self.end_marked()
