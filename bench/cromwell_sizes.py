"""File sizes from object storage: a server that takes 50 ms for every answer, and `tacho cromwell upload` with 32 and 500 look-ups at once."""
import asyncio
import json
import os
import subprocess
import threading
import time

FILES, DELAY_S = 5_000, 0.05


class Storage:
    """Answers GET /storage/v1/b/BUCKET/o/NAME, all connections in one thread; counts how many wait at once."""

    def __init__(self):
        self.open = self.most = 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024))
        self.host = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def serve(self, reader, writer):
        body = b'{"size":"1500000000","generation":"1"}'
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.open += 1
                self.most = max(self.most, self.open)
                await asyncio.sleep(DELAY_S)
                self.open -= 1
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def document(path, files):
    calls = [{"jes": {}, "executionStatus": "Done", "start": "2026-10-01T00:00:00Z", "attempt": 1, "shardIndex": shard,
              "inputs": {"files": [f"gs://bucket/{shard}/{i}.bam" for i in range(1000)]}} for shard in range(files // 1000)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"id": "5d96fd3c-1a89-40ae-8095-c364181cda46", "status": "Succeeded", "calls": {"w.t": calls}}, file)


def sizes(bench):
    print(f"\n## File sizes from object storage, {DELAY_S * 1000:.0f} ms an answer\n")
    print("| at once, asked for | at once, seen | look-ups a second | memory, MiB |\n|---:|---:|---:|---:|")
    path = os.path.join(bench.folder, "sizes.json")
    document(path, FILES)
    for parallel in (32, 500):
        storage = Storage()
        env = {**bench.env, "STORAGE_EMULATOR_HOST": storage.host, "GCE_METADATA_HOST": "127.0.0.1:1", "DATASET_ID": "d", "GCP_PROJECT": "p"}
        begun = time.monotonic()
        process = subprocess.Popen([bench.program("tacho"), "cromwell", "upload", "--metadata", path, "--dry-run", "--gcs-parallel", str(parallel)], env=env,
                                   stdout=subprocess.DEVNULL)
        peak_kib = 0
        while process.poll() is None:
            peak_kib = max(peak_kib, bench.status_kib(process.pid, "VmHWM"))
            time.sleep(0.02)
        took_s = time.monotonic() - begun
        if process.returncode != 0:
            raise SystemExit("the sizes were not found")
        print(f"| {parallel} | {storage.most} | {FILES / took_s:.0f} | {peak_kib / 1024:.1f} |", flush=True)
