"""The columns behind the compatible ones beside the kernel's own counters: a job reads them at its begin and its end, the test before and after all.
What the rows add up to lies between the two differences."""
import json
import os
import sys

from support import Case

# Reads its own counters and the machine's, works in between, rests for some rows, and prints both readings.
JOB = """
import json, mmap, os, resource, sys, time
sys.path.insert(0, {folder!r})
from test_wishlist import kernel
def own():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {{"minor": sum(one.ru_minflt for one in used), "major": sum(one.ru_majflt for one in used), "switches": sum(one.ru_nvcsw + one.ru_nivcsw for one in used)}}
before = kernel()
with open("written", "wb") as file:
    for _ in range(20):
        file.write(os.urandom(65536))
        os.fsync(file.fileno())
for _ in range(300):
    time.sleep(0.001)
pages = mmap.mmap(-1, 3000 * 4096)
for at in range(0, len(pages), 4096):
    pages[at] = 1
if os.fork() == 0:
    os._exit(0)
os.wait()
after = kernel()
time.sleep(0.5)
print(json.dumps([before, after, own()]), flush=True)
os._exit(0)
"""


def numbers(path):
    with open(path, encoding="ascii") as file:
        return [line.split() for line in file]


def kernel():
    """Counters of the machine, by the columns that are made of them."""
    found = {}
    for words in numbers("/proc/stat"):
        if words[0] == "cpu":
            ticks = os.sysconf("SC_CLK_TCK")
            found["system_iowait"], found["system_steal"] = int(words[5]) / ticks, int(words[8]) / ticks
        if words[0] == "ctxt":
            found["system_ctxt_switches"] = int(words[1])
    memory = {words[0]: int(words[1]) for words in numbers("/proc/vmstat")}
    page = os.sysconf("SC_PAGE_SIZE")
    found["system_major_page_faults"] = memory["pgmajfault"]
    found["system_swap_in_bytes"], found["system_swap_out_bytes"] = memory["pswpin"] * page, memory["pswpout"] * page
    names, values = [words for words in numbers("/proc/net/snmp") if words[0] == "Tcp:"]
    found["system_net_retransmits"] = int(values[names.index("RetransSegs")])
    return found


class Wishlist(Case):
    def test_the_machines_counters(self):
        outer = kernel()
        done, _, table = self.tracked(sys.executable, "-c", JOB.format(folder=os.path.dirname(os.path.abspath(__file__))),
                                      options=["-q", "-i", "100ms", "--probe", "vmstat,switches"])
        end = kernel()
        before, after, own = json.loads(done.out)
        for name in before:
            seen = sum(float(value or 0) for value in table.column(name))
            # CPU time is told in ticks, and iowait of a CPU may go back.
            spare = 0.05 if name in ("system_iowait", "system_steal") else 0
            self.assertGreaterEqual(seen, after[name] - before[name] - spare, name)
            self.assertLessEqual(seen, end[name] - outer[name] + spare, name)
        self.assertGreaterEqual(sum(int(value) for value in table.column("process_ctxt_switches") if value), 300)
        minor = sum(int(value) for value in table.column("process_minor_page_faults"))
        self.assertGreaterEqual(minor, 3000)
        self.assertLess(abs(minor - own["minor"]), 300)  # it goes on for a moment
        self.assertGreaterEqual(sum(int(value) for value in table.column("process_major_page_faults")), own["major"])
        self.assertLessEqual(own["switches"], sum(int(value) for value in table.column("process_ctxt_switches") if value) + 50)

    def test_levels_and_disks(self):
        """Load is what the kernel says; twenty writes to a disk, each with its fsync, are requests with a latency."""
        with open("/proc/loadavg", encoding="ascii") as file:
            loads = {file.read().split()[0]}
        _, _, table = self.tracked("sh", "-c", "for i in 1 2 3 4 5; do dd if=/dev/zero of=written bs=64k count=4 oflag=dsync status=none; sleep 0.1; done",
                                   options=["-q", "-i", "100ms"])
        with open("/proc/loadavg", encoding="ascii") as file:
            loads.add(file.read().split()[0])
        low, high = min(map(float, loads)), max(map(float, loads))
        for row in table.rows:
            self.assertTrue(low - 2 <= float(row["system_load1"]) <= high + 2, (row["system_load1"], loads))
            requests = int(row["system_disk_requests"] or 0)
            self.assertEqual(row["system_disk_latency_ms"] == "", requests == 0, row)
            if requests and float(row["system_disk_latency_ms"]) > 0:
                self.assertGreaterEqual(float(row["system_disk_queue_length"]), 0)
        if os.stat(self.dir).st_dev >> 8:  # a disk, no tmpfs
            self.assertGreaterEqual(sum(int(row["system_disk_requests"] or 0) for row in table.rows), 5)
