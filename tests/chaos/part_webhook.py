"""The admission webhook among clients that send half, too much, nothing or garbage and never read. Good reviews are answered
rightly all the while, the health port answers, memory stays bounded, and SIGTERM ends it with 0."""
import os
import random
import signal
import socket
import ssl
import threading
import time

from injection import InjectCase
from support import until

MOST_MIB = 160


class Step(InjectCase):
    def connect(self, webhook, tls):
        host, port = "127.0.0.1", int(webhook.url.rsplit(":", 1)[1])
        client = socket.create_connection((host, port), timeout=10)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            client = context.wrap_socket(client)
        client.settimeout(1)
        return client

    def nuisance(self, webhook, dice, ends):
        """One bad client after the other until `ends`."""
        kept = []
        while time.monotonic() < ends:
            try:
                client = self.connect(webhook, tls=dice.random() < 0.8)
                kept.append(client)
                client.sendall(dice.choice([
                    b"", b"POST /mutate-pod HT", b"POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{",
                    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 200, dice.randbytes(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(64),
                    b"POST /mutate-pod HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
                    b"POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
                    b"X: y\r\n" * 2000, b"POST /mutate-pod HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60000]))
                if dice.random() < 0.3:
                    client.close()
            except OSError:
                pass
            if len(kept) > 60:
                kept.pop(0).close()
            time.sleep(dice.uniform(0, 0.02))
        for client in kept:
            client.close()

    def runTest(self):
        dice = self.dice
        name = dice.choice(sorted(name[:-5] for name in os.listdir(os.path.join(os.path.dirname(__file__), "..", "fixtures", "kube"))
                                  if name != "katib_config.json"))
        parts = self.load(name)
        pod = parts.get("pod") or next(iter(parts["pods"].values()))
        webhook = self.start_inject()
        first = self.admit(webhook, pod)[0]
        ends = time.monotonic() + dice.uniform(0.5, 2.5)
        crowd = [threading.Thread(target=self.nuisance, args=(webhook, random.Random(dice.random()), ends)) for _ in range(dice.randint(1, 4))]
        for one in crowd:
            one.start()
        good = 0
        while good == 0 or time.monotonic() < ends:  # on a loaded machine the time may be over before the first
            self.assertEqual(self.admit(webhook, pod)[0], first, f"hurt: another patch after {good}")
            self.assertEqual(self.plain(webhook.health + "/healthz")[0], 200, "hurt: the health port")
            good += 1
        for one in crowd:
            one.join()
        with open(f"/proc/{webhook.pid}/status", encoding="ascii") as file:
            peak_mib = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
        self.assertLess(peak_mib, MOST_MIB)
        webhook.send_signal(signal.SIGTERM)
        self.assertTrue(until(lambda: webhook.poll() is not None, 40), "hurt: it does not end")
        self.assertEqual(webhook.returncode, 0, self.logs())
