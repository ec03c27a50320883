"""The rules of docs/bottlenecks.md in plain Python: the class of a row, and the verdict over rows. Fractions, so that a limit is met exactly."""
from fractions import Fraction

STATES = ("cpu", "disk", "network", "lock", "child", "pipe", "sleep", "gpu", "idle", "other")
CLASSES = ("memory", "cpu_quota", "gpu_compute", "gpu_memory_bandwidth", "pcie", "nvlink", "disk", "network", "lock", "cpu", "single_thread", "waiting", "none")


def number(text):
    return Fraction(text)


class Row:
    """The cells of one row; what is empty fails each comparison."""

    def __init__(self, cells, seconds):
        self.cells, self.seconds = cells, seconds

    def __call__(self, name):
        text = self.cells.get(name, "")
        return None if text == "" else number(text)

    def rate(self, name):
        value = self(name)
        return None if value is None else value / self.seconds


def least(value, limit):
    return value is not None and limit is not None and value >= limit


def below(value, limit):
    return value is not None and limit is not None and value < limit


def times(factor, value):
    return None if value is None else number(factor) * value


def plus(*values):
    return None if None in values else sum(values)


class Judge:
    """One row beside the facts of its run, by the letters of the rules."""

    def __init__(self, row, run):
        self.row, self.machine = row, run["machine"]
        self.cpu = row("system_cpu_usage" if self.machine else "process_cpu_usage")
        self.cores, self.kills = run["cores"], run["own"]
        self.throttled = None if self.machine else row.rate("cgroup_throttled_time")
        self.some, self.some_counts = self.pressure("cpu_some", "cpu", run["own"])
        self.io, self.io_counts = self.pressure("io_some", "disk", run["own"])
        self.full, self.full_counts = self.pressure("memory_full", "disk", run["own"])
        self.waits = plus(*(row(f"process_waits_{state}") for state in ("disk", "network", "lock", "gpu", "other")))
        self.has_gpu = self.machine or least(row("process_gpu_utilized"), 1)

    def pressure(self, what, state, own):
        """Its own, else the machine's, which a thread of the job in that state must confirm."""
        if self.machine:
            return self.row(f"system_pressure_{what}"), True
        value = self.row(f"cgroup_pressure_{what}") if own else None
        return (value, True) if value is not None else (self.row(f"system_pressure_{what}"), least(self.row(f"process_waits_{state}"), 1))

    def gpu(self, what):
        of_job = None if self.machine else self.row(f"process_gpu_{what}")
        return self.row(f"system_gpu_{what}") if of_job is None else of_job

    def link(self, name):
        busiest = None if self.machine else self.row(f"process_gpu_{name}_busiest")
        if busiest is not None:
            return least(busiest, number("0.6"))
        most = self.row(f"system_gpu_{name}_max_bytes_per_s")
        return most is not None and most > 0 and any(least(self.row.rate(f"system_gpu_{name}_{way}_bytes"), times("0.6", most)) for way in ("rx", "tx"))

    def is_memory(self):
        faults = self.row.rate("system_major_page_faults" if self.machine else "process_major_page_faults")
        swapped = plus(self.row.rate("system_swap_in_bytes"), self.row.rate("system_swap_out_bytes"))
        return (self.full_counts and least(self.full, number("0.1"))) or (not self.machine and self.kills and least(self.row("cgroup_oom_kills"), 1)) or \
            (least(swapped, 10**6) and least(faults, 10))

    def is_throttled(self):
        return least(self.throttled, number("0.05")) and least(self.throttled, times("0.1", plus(self.throttled, self.cpu)))

    def waits_for(self, state):
        count = self.row(f"process_waits_{state}")
        return least(count, 1) and least(count, times("0.5", self.waits)) and below(self.cpu, number("0.5")) and below(self.some, number("0.3"))

    def is_disk(self):
        pressed = self.io_counts and least(self.io, number("0.2")) and least(self.io, self.some) and below(self.cpu, times("0.9", self.cores))
        return pressed or self.waits_for("disk")

    def disk_detail(self):
        moved, requests = plus(self.row("system_disk_read_bytes"), self.row("system_disk_write_bytes")), self.row("system_disk_requests")
        return "throughput" if moved is not None and requests and moved / requests >= 65536 else "latency"

    def is_lock(self):
        count = self.row("process_waits_lock")
        return least(count, 2) and least(count, times("0.5", plus(self.waits, self.row("process_waits_cpu")))) and below(self.cpu, times("0.9", self.cores))

    def is_saturated(self):
        return least(self.cpu, times("0.9", self.cores))

    def is_contended(self):
        return self.some_counts and least(self.some, number("0.3"))

    def is_single_thread(self):
        return self.cores is not None and self.cores > 1 and self.cpu is not None and self.cpu <= number("1.15") and self.some_counts and \
            least(plus(self.cpu, self.some), number("0.85"))

    def waiting_detail(self):
        for states in ([state for state in STATES if state not in ("child", "idle")], ["child", "idle"]):
            counts = [(self.row(f"process_waits_{state}") or 0, state) for state in states]
            most = max(count for count, _ in counts)
            if most > 0:
                return next(state for count, state in counts if count == most)
        return None

    def row_class(self):
        """(class, detail), or None for a row without threads."""
        if not self.machine and self.row("process_threads") == 0:
            return None
        if self.is_memory():
            return "memory", None
        if self.is_throttled():
            return "cpu_quota", None
        if self.has_gpu:
            if least(self.gpu("sm_active"), number("0.6")) or least(self.gpu("tensor_active"), number("0.4")):
                return "gpu_compute", None
            if least(self.gpu("dram_active"), number("0.6")):
                return "gpu_memory_bandwidth", None
            for name in ("pcie", "nvlink"):
                if self.link(name):
                    return name, None
        return self.class_without_gpu()

    def class_without_gpu(self):
        if self.is_disk():
            return "disk", self.disk_detail()
        if least(self.row("system_net_busiest"), number("0.7")):
            return "network", "bandwidth"
        if self.waits_for("network"):
            return "network", "peer"
        if not self.machine and self.is_lock():
            return "lock", None
        if self.is_saturated():
            return "cpu", "saturated"
        if self.is_contended():
            return "cpu", "contended" if below(self.cpu, times("0.9", self.cores)) else None
        if not self.machine and self.is_single_thread():
            return "single_thread", None
        if not self.machine and below(self.cpu, number("0.1")):
            return "waiting", self.waiting_detail()
        return "none", None


def judge(rows, lowered):
    """verdict, detail (several where two are as large), confidence, share and classes of (class, detail, seconds)."""
    total, spent, details = sum(row[2] for row in rows), {}, {}
    for name, detail, seconds in rows:
        spent[name] = spent.get(name, 0) + seconds
        if detail:
            details.setdefault(name, {}).setdefault(detail, 0)
            details[name][detail] += seconds
    classes = {name: seconds / total for name, seconds in spent.items()}
    if len(rows) < 5:
        return "unknown", {None}, "low", Fraction(0), classes
    order = sorted(classes.values(), reverse=True)
    first = {name for name, share in classes.items() if share == order[0]}
    if order[0] >= number("0.6") or len(order) == 1:
        (verdict,) = first
        found = details.get(verdict, {})
        detail, share = {name for name, seconds in found.items() if seconds == max(found.values())} or {None}, order[0]
    else:
        second = {name for name, share in classes.items() if share == order[1]}
        verdict, detail, share = "mixed", {f"{a}+{b}" for a in first for b in second if a != b}, order[0] + order[1]
    level = 2 if share >= number("0.8") else 1 if share >= number("0.6") else 0
    return verdict, detail, ("low", "medium", "high")[max(0, level - lowered)], share, classes
