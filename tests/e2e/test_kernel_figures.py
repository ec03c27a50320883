"""Each row of the machine's columns says what the kernel's own files said at that moment: a second reader, which shares no line with
tacho, reads them without pause, and every row is held against the readings around it."""
import os
import subprocess
import threading
import time

from support import Case, Table, burner

HZ = os.sysconf("SC_CLK_TCK")
MIB_COLUMNS = {"system_memory_free_mib": ("MemFree",), "system_memory_buffers_mib": ("Buffers",), "system_memory_cached_mib": ("Cached", "SReclaimable"),
               "system_memory_active_mib": ("Active",), "system_memory_inactive_mib": ("Inactive",)}
SPACE_COLUMNS = ("system_disk_space_total_gb", "system_disk_space_used_gb", "system_disk_space_free_gb")
NOT_LOCAL = {"squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs", "fuseblk", "gfs2", "ocfs2"}
LATE_S = 0.15  # what a row says was read at the latest so long after its time stamp, however loaded the machine is


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def first_line(path):
    try:
        return lines_of(path)[0]
    except (OSError, IndexError):
        return ""


def bottom_disks():
    """Names below /sys/block that carry bytes nobody below them carries."""
    found = set()
    for name in os.listdir("/sys/block"):
        folder = "/sys/block/" + name
        virtual = name.rstrip("0123456789") in ("loop", "ram", "zram", "sr", "fd")
        if not virtual and not os.listdir(folder + "/slaves") and first_line(folder + "/hidden") != "1":
            found.add(name)
    return found


def counted_interfaces():
    base = "/sys/class/net/"
    names = [name for name in os.listdir(base) if os.path.isdir(base + name)]
    real = {name for name in names if os.path.exists(base + name + "/device")}
    if real:
        return {name for name in real if not os.path.exists(base + name + "/master/device")}
    return {name for name in names if name != "lo" and not os.path.isdir(base + name + "/bridge") and not os.path.isdir(base + name + "/bonding")
            and not any(entry.startswith("lower_") for entry in os.listdir(base + name))}


def space():
    """Bytes in all and free for everybody, of each local file system once."""
    places = {}
    for line in lines_of("/proc/self/mountinfo"):
        left, right = line.split(" - ", 1)
        fields, kind = left.split(), right.split()[0]
        if not fields[2].startswith("0:") and kind not in NOT_LOCAL and not kind.startswith("fuse."):
            point = fields[4].encode().decode("unicode_escape")
            places[fields[2]] = min(places.get(fields[2], point), point, key=len)
    facts = [os.statvfs(point) for point in places.values() or ["/"]]
    return sum(fact.f_blocks * fact.f_frsize for fact in facts), sum(fact.f_bavail * fact.f_frsize for fact in facts)


class Reader(threading.Thread):
    """Readings: when begun, when ended, and name: value."""

    def __init__(self):
        super().__init__(daemon=True)
        self.all, self.over = [], False
        self.disks, self.interfaces = bottom_disks(), counted_interfaces()

    def look(self):
        now = {}
        stat = {line.split()[0]: line.split()[1:] for line in lines_of("/proc/stat")}
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, stat["cpu"][:8])
        now.update(utime=(user + nice) / HZ, stime=system / HZ, busy=(user + nice + system + irq + softirq) / HZ,
                   all=(user + nice + system + idle + iowait + irq + softirq + steal) / HZ)
        now["cores"] = sum(1 for name in stat if name.startswith("cpu")) - 1
        now["processes"] = sum(name.isdigit() for name in os.listdir("/proc"))
        now["forks"] = int(stat["processes"][0])
        memory = {line.split(":")[0]: int(line.split()[1]) for line in lines_of("/proc/meminfo")}
        for column, names in MIB_COLUMNS.items():
            now[column] = sum(memory[name] for name in names) / 1024
        now["system_memory_used_mib"] = (memory["MemTotal"] - memory["MemAvailable"]) / 1024
        read = written = received = sent = 0
        for fields in map(str.split, lines_of("/proc/diskstats")):
            if fields[2] in self.disks:
                read, written = read + 512 * int(fields[5]), written + 512 * int(fields[9])
        for line in lines_of("/proc/net/dev")[2:]:
            name, counters = line.split(":", 1)
            if name.strip() in self.interfaces:
                received, sent = received + int(counters.split()[0]), sent + int(counters.split()[8])
        now.update(read=read, written=written, received=received, sent=sent)
        total, free = space()
        now.update(zip(SPACE_COLUMNS, (total / 1e9, (total - free) / 1e9, free / 1e9)))
        return now

    def run(self):
        while not self.over:
            begin = time.time()
            values = self.look()
            self.all.append((begin, time.time(), values))
            time.sleep(0.003)

    def around(self, stamp):
        """The last reading that ended before this time, all in between, and the first that began when all had been read."""
        first = max((i for i, reading in enumerate(self.all) if reading[1] <= stamp), default=None)
        last = min((i for i, reading in enumerate(self.all) if reading[0] >= stamp + LATE_S), default=None)
        return None if first is None or last is None else [reading[2] for reading in self.all[first:last + 1]]


class KernelFigures(Case):
    weight = 2

    def test_each_row_of_the_machine(self):
        reader = Reader()
        reader.start()
        load = subprocess.Popen([burner("memory"), "150", "700", "900", "400"], stdout=subprocess.DEVNULL, env=self.environment())
        writer = subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5 6; do dd if=/dev/zero of={self.path('x')} bs=1M count=12 conv=fsync 2>&1; sleep 0.2; done"],
                                  stdout=subprocess.DEVNULL, env=self.environment())
        out = self.path("rows.csv")
        process = self.spawn("watch", "-q", "--no-store", "-i", "0.25", "-o", out)
        for job in (load, writer):
            self.assertEqual(job.wait(60), 0)
        time.sleep(0.6)
        process.terminate()
        self.assertEqual(process.wait(30), 0)
        time.sleep(LATE_S + 0.1)
        reader.over = True
        reader.join()
        rows = Table(self.read("rows.csv")).rows
        windows = [reader.around(float(row["timestamp"])) for row in rows]
        self.assertGreater(sum(window is not None for window in windows), 5, len(reader.all))
        self.levels(rows, windows)
        self.sums(rows, windows)

    def levels(self, rows, windows):
        for row, window in zip(rows, windows):
            if window is None:
                continue
            spares = {name: 2.1 for name in [*MIB_COLUMNS, "system_memory_used_mib"]}  # between two readings some pages come and go
            forks = window[-1]["forks"] - window[0]["forks"]  # whoever came and went between two readings is in none
            spares.update({name: 0.0061 for name in SPACE_COLUMNS}, system_processes=2 + forks)
            for name, spare in spares.items():
                seen = [values["processes" if name == "system_processes" else name] for values in window]
                with self.subTest(column=name, row=row["timestamp"]):
                    self.assertLessEqual(min(seen) - spare, float(row[name]), seen)
                    self.assertGreaterEqual(max(seen) + spare, float(row[name]), seen)
            total, used, free = (float(row[name]) for name in SPACE_COLUMNS)
            self.assertAlmostEqual(total, used + free, delta=0.0011)

    def sums(self, rows, windows):
        """From the first row on that has readings around it, to each behind it."""
        first = next(i for i, window in enumerate(windows) if window is not None)
        columns = {"system_utime": "utime", "system_stime": "stime", "system_disk_read_bytes": "read", "system_disk_write_bytes": "written",
                   "system_net_recv_bytes": "received", "system_net_sent_bytes": "sent"}
        for column, name in columns.items():
            told = 0.0
            for row, window in zip(rows[first + 1:], windows[first + 1:]):
                told += float(row[column])
                if window is None:
                    continue
                with self.subTest(column=column, row=row["timestamp"]):
                    spare = 0.001 * len(rows)  # rounding
                    self.assertLessEqual(window[0][name] - windows[first][-1][name] - spare, told)
                    self.assertGreaterEqual(window[-1][name] - windows[first][0][name] + spare, told)
        last = max(i for i, window in enumerate(windows) if window is not None)
        stamps = [float(row["timestamp"]) for row in rows]
        cores = sum(float(row["system_cpu_usage"]) * (stamps[i] - stamps[i - 1]) for i, row in enumerate(rows) if first < i <= last)
        cores /= stamps[last] - stamps[first]
        begin, end = windows[first][0], windows[last][-1]
        seen = end["cores"] * (end["busy"] - begin["busy"]) / (end["all"] - begin["all"])
        self.assertAlmostEqual(cores, seen, delta=0.1 * end["cores"])


class Mounts(Case):
    def test_a_file_system_that_comes_and_goes_is_in_the_next_row(self):
        """Below the mount point of one that went is a folder of another, which is in the sum already."""
        self.need_root()
        self.need("cannot make a mount namespace", "unshare", "-m", "true")
        os.mkdir(self.path("disk"))
        with open(self.path("image"), "wb") as file:
            file.truncate(16 << 20)
        self.need("cannot make a file system", "mkfs.ext4", "-q", "-F", self.path("image"))
        self.need("cannot mount an image", "unshare", "-m", "mount", "-o", "loop", self.path("image"), self.path("disk"))
        job = "sleep 0.2; mount -o loop image disk; sleep 0.3; umount disk; sleep 0.3"
        done = self.tacho("run", "-q", "-i", "50ms", "--", "sh", "-c", job, wrap=["unshare", "-m"])
        self.assertEqual(done.rc, 0, done)
        totals = [float(value) for value in self.the_run()[1].column("system_disk_space_total_gb")]
        changes = [round(b - a, 3) for a, b in zip(totals, totals[1:]) if a != b]
        self.assertEqual(len(changes), 2, totals)
        self.assertEqual(totals[0], totals[-1])
        self.assertLess(0, changes[0])
        self.assertLess(changes[0], 0.02)
