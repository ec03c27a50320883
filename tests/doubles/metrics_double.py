#!/usr/bin/env python3
"""A receiver of remote write and OTLP/HTTP: takes samples apart by hand, so that no code of ours is on both sides. Faults come from
faults.py; "do": {"refuse": {"name": …, "value": …}} answers 400 to each request that holds such a sample, with "status" another one;
"do": {"most": 100} 413 to more samples than that; "do": {"body": …, "type": …} answers 200 with a body; "do": {"stall_s": 9} takes
the samples, answers the head of a 200 and the first byte of its body, and then nothing for so long; "do": {"in_order": true} is as strict
as Prometheus: older than the newest of its series, or of its time and another value, refuses the whole request."""
import gzip
import json
import struct
import time

import faults


def unsnappy(data):
    """Snappy's block format."""
    at, shift, size = 0, 0, 0
    while True:
        byte = data[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                extra = length - 60
                length = int.from_bytes(data[at:at + extra], "little") + 1
                at += extra
            out += data[at:at + length]
            at += length
            continue
        if tag & 3 == 1:
            length, offset, at = ((tag >> 2) & 7) + 4, (tag >> 5) << 8 | data[at], at + 1
        else:
            bytes_ = 2 if tag & 3 == 2 else 4
            length, offset, at = (tag >> 2) + 1, int.from_bytes(data[at:at + bytes_], "little"), at + bytes_
        for _ in range(length):
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError("not as long as it says")
    return bytes(out)


def fields(data):
    """(number, value) of a protobuf message: int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at:at + size]
            at += size


def samples_of(message):
    """[({label: value}, [(ms, raw 8 bytes)…])…] of a WriteRequest; labels in the order they came."""
    found = []
    for _, series in fields(message):
        labels, samples = {}, []
        for number, value in fields(series):
            parts = dict(fields(value))
            if number == 1:
                labels[parts[1].decode()] = parts[2].decode()
            else:
                samples.append((parts[2], parts[1]))
        found.append((labels, samples))
    return found


class Receiver(faults.Double):
    def __init__(self, rules=()):
        super().__init__(rules)
        self.series = {}     # sorted labels -> {ms: raw value}
        self.order = []      # label names of each series as they came
        self.requests = []   # OTLP, as they came: bytes or JSON
        self.bodies = []
        self.twice = 0       # samples that came again, as they were
        self.changed = 0     # … with another value
        self.sizes = []      # samples and runs of each request that was taken

    def values(self, name, **labels):
        """[(ms, value or None for the end)] of the series with these labels."""
        for key, samples in self.series.items():
            own = dict(key)
            if own["__name__"] == name and all(own.get(k) == v for k, v in labels.items()):
                return [(ms, None if raw == struct.pack("<Q", 0x7ff0000000000002) else struct.unpack("<d", raw)[0])
                        for ms, raw in sorted(samples.items())]
        return []


class Handler(faults.Handler):
    def error_body(self, action):
        return action.get("message", "no\n"), "text/plain"

    def answer(self, body):
        double, do = self.double, self.action.get("do", {})
        with double.lock:
            double.bodies.append(body)
        if self.headers.get("Content-Encoding") == "snappy":
            return self.take_samples(unsnappy(body), do)
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if len(body) > do.get("most", len(body)):
            return faults.Answer(413, "too many\n", content_type="text/plain")
        with double.lock:
            double.requests.append(json.loads(body) if "json" in self.headers["Content-Type"] else body)
        if "body" in do:
            return faults.Answer(200, do["body"].encode("latin-1"), do.get("headers"), do.get("type", "application/x-protobuf"))
        return faults.Answer(200, b"", content_type="application/x-protobuf")

    def is_late(self, labels, ms, raw):
        own = self.double.series.get(tuple(sorted(labels.items())), {})
        newest = max(own, default=ms)
        return ms < newest or own.get(ms, raw) != raw

    def take_samples(self, message, do):
        series = samples_of(message)
        count = sum(len(samples) for _, samples in series)
        if count > do.get("most", count):
            return faults.Answer(413, "too many\n", content_type="text/plain")
        refuse = do.get("refuse")
        for labels, samples in series:
            for ms, raw in samples:
                if refuse and refuse.get("run_id", labels.get("run_id")) != labels.get("run_id"):
                    continue
                if refuse and labels["__name__"] == refuse["name"] and struct.unpack("<d", raw)[0] == refuse.get("value", struct.unpack("<d", raw)[0]):
                    return faults.Answer(do.get("status", 400), "out of order sample\n", content_type="text/plain")
        if do.get("in_order") and any(self.is_late(labels, *sample) for labels, samples in series for sample in samples):
            return faults.Answer(400, "out of order sample\n", content_type="text/plain")
        with self.double.lock:
            for labels, samples in series:
                self.double.order.append(list(labels))
                own = self.double.series.setdefault(tuple(sorted(labels.items())), {})
                for ms, raw in samples:
                    self.double.twice += own.get(ms) == raw
                    self.double.changed += own.get(ms, raw) != raw
                    own[ms] = raw
            if count:
                self.double.sizes.append((count, len({labels.get("run_id") for labels, _ in series})))
        if "stall_s" in do:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            time.sleep(do["stall_s"])
            raise faults.Reset
        return faults.Answer(204)


def main():
    options = faults.arguments("A receiver of metrics.").parse_args()
    faults.serve(Handler, Receiver(faults.rules_of(options)), options)


if __name__ == "__main__":
    main()
