"""What a receiver of metrics must have of a run: the cells of its CSV, as series."""
import csv
import time


def rows_of(folder):
    with open(folder / "metrics.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def expected(folder):
    """{series: {ms: value}} by the local CSV: what is counted is summed, exactly, from 0 at the start."""
    rows = rows_of(folder)
    ms = [round(float(row["timestamp"]) * 1000) for row in rows]
    series = {}
    for name, column in (("cpu_seconds_total mode=user", "process_utime"), ("cpu_seconds_total mode=system", "process_stime"),
                         ("disk_bytes_total direction=read", "process_disk_read_bytes"),
                         ("disk_bytes_total direction=write", "process_disk_write_bytes")):
        total, own = 0, {}
        for t, row in zip(ms, rows):
            if row[column] != "":
                total += round(float(row[column]) * 1e6)
                own[t] = total / 1e6
        series[tuple(("tacho_job_" + name).split())] = own
    series[("tacho_job_memory_bytes",)] = {t: float(row["process_memory_mib"]) * 2 ** 20 for t, row in zip(ms, rows) if row["process_memory_mib"]}
    series[("tacho_job_processes",)] = {t: float(row["process_children"]) + 1 for t, row in zip(ms, rows)} | {ms[-1]: 0.0}
    series[("tacho_job_update_time_seconds",)] = {t: t / 1000 for t in ms}
    series[("tacho_job_running",)] = {t: 1.0 for t in ms} | {ms[-1]: 0.0}
    return series


def compare(server, folder, selector=None, letters=()):
    """'' when the server has exactly the cells of the CSV (and the letters the rest), else what differs. VictoriaMetrics shows what it
    took some seconds later."""
    end = time.monotonic() + 15
    while True:
        why = difference(server, folder, selector, letters)
        if not why or server.name != "victoria" or time.monotonic() > end:
            return why
        time.sleep(0.3)


def difference(server, folder, selector, letters):
    stored, _ = server.stored(selector or f'run_id="{folder.name}"')
    wanted = expected(folder)
    for line in letters:
        name, rest = line.split("{", 1)
        labels, value, seconds = rest.rsplit("}", 1)[0], *rest.rsplit("}", 1)[1].split()
        key = (name, *(part.replace('"', "") for part in sorted(labels.split(",")) if part.startswith(("mode=", "direction="))))
        stored.setdefault(key, {}).setdefault(round(float(seconds) * 1000), float(value))
    for key, cells in wanted.items():
        have = {t: value for t, value in stored.get(key, {}).items() if min(cells) <= t <= max(cells)}
        if have != cells:
            return f"{server.name} {folder.name} {key}: {len(have)} of {len(cells)}; e.g. {sorted(set(have.items()) ^ set(cells.items()))[:3]}"
    if len(stored) > 20:
        return f"{len(stored)} series"
    return ""
