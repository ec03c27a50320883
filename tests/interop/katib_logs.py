"""Training logs for katib.py, the same for the same seed: all that the rules of TEXT and JSON parsing speak of."""
import json
import random

NAMES = ["loss", "accuracy", "val-loss", "f1|macro"]
METRICS = ";".join(NAMES)


def number(rng):
    return rng.choice([f"{rng.uniform(-5, 5):.{rng.randint(0, 8)}f}", str(rng.randint(-9, 10**6)), f"{rng.random():.3e}",
                       f"{rng.random() * 1e9:.2E}", f"+{rng.random():.2f}", f".{rng.randint(0, 999)}", f"{rng.randint(0, 9)}."])


def time_stamp(rng):
    base = f"20{rng.randint(16, 38):02}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
    digits = rng.choice([0, 0, 1, 3, 6, 6, 7, 9, 12])
    fraction = "" if digits == 0 else "." + "".join(rng.choice("0123456789") for _ in range(digits))
    return base + fraction + rng.choice(["Z", "Z", "+01:00", "-07:30", "+00:00"])


def no_time_stamp(rng):
    return rng.choice(["", "INFO", "2026-11-15", "2026-11-15T09:30:00", "2026-02-30T00:00:00Z", "[12:00:01]", "2026-11-15T25:00:00Z", "epoch"])


def text_line(rng):
    front = time_stamp(rng) if rng.random() < 0.6 else no_time_stamp(rng)
    pairs = []
    for _ in range(rng.randint(0, 4)):
        name = rng.choice(NAMES + ["lossy", "xloss", "step", "Loss", "train/loss", "val.loss"])
        equals = rng.choice(["=", "=", "=", " = ", "= ", ":", "=="])
        value = number(rng) + rng.choice(["", "", "%", "s", ","]) if rng.random() < 0.93 else rng.choice(["nan", "NaN", "inf", "-inf", "n/a", "", "€ 3"])
        pairs.append(name + equals + value)
    return front + rng.choice([" ", " ", "  ", "\t"]) + rng.choice([" ", ", ", "; "]).join(pairs) + rng.choice(["", "", "\r", " ✓"])


def filter_line(rng):
    name, value = rng.choice(NAMES), number(rng)
    return f"{time_stamp(rng)} {{metricName: {name}, metricValue: {value}}} " + (text_line(rng) if rng.random() < 0.3 else "")


def text_log(seed, lines, line=text_line):
    rng = random.Random(seed)
    out = [line(rng) for _ in range(lines)]
    out.append(f"{time_stamp(rng)} loss=0.25")  # the objective is always there
    return "\n".join(out) + rng.choice(["", "\n"])


def json_log(seed, lines):
    """Only what the other collector takes too: it gives up at the first bad line, and leaves numbers out."""
    rng = random.Random(seed)
    out = []
    for _ in range(lines):
        row = {}
        for name in NAMES:
            if rng.random() < 0.5:
                row[name] = rng.choice([str(rng.uniform(-5, 5)), number(rng), "relu→softmax", "0"])
        if rng.random() < 0.2:
            row["step"] = rng.randint(0, 1000)
        if rng.random() < 0.85:
            row["timestamp"] = rng.choice([time_stamp(rng), no_time_stamp(rng), rng.randint(0, 2 * 10**9), round(rng.uniform(1e9, 2e9), rng.randint(1, 6)),
                                           None, True, 1e9 + 0.5])
        items = list(row.items())
        rng.shuffle(items)
        out.append("" if rng.random() < 0.05 else json.dumps(dict(items), ensure_ascii=rng.random() < 0.5))
    out.append(json.dumps({"timestamp": time_stamp(rng), "loss": "0.5"}))
    return "\n".join(out) + "\n"
