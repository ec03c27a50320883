"""A TCP proxy on loopback that misbehaves on request, to put between a client and a service.

    proxy = TcpFaults(("127.0.0.1", 6789)); proxy.port
    proxy.lose_replies(2, b"trial-a")   the next two connections that carry this text: the service gets the whole request and
                                        does its work, the client gets no answer but the end of its connection
    proxy.refuse(True)                  nobody listens any more; False: again
    proxy.delay_s = 0.5                 every byte from the service comes so much later
    proxy.cut()                         ends all connections now

Thread-safe: each direction of a connection has a thread.
"""
import socket
import threading
import time


class TcpFaults:
    def __init__(self, target):
        self.target = target
        self.delay_s = 0.0
        self.lock = threading.Lock()
        self.to_lose, self.text, self.lost = 0, b"", 0
        self.pairs = []
        self.listener = None
        self.port = 0
        self.closed = False
        self._listen()

    def _listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target, timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            pair = {"client": client, "server": server, "losing": False}
            with self.lock:
                self.pairs.append(pair)
            threading.Thread(target=self._to_server, args=(pair,), daemon=True).start()
            threading.Thread(target=self._to_client, args=(pair,), daemon=True).start()

    def _to_server(self, pair):
        try:
            while data := pair["client"].recv(65536):
                with self.lock:
                    if self.to_lose > 0 and self.text in data and not pair["losing"]:
                        self.to_lose -= 1
                        self.lost += 1
                        pair["losing"] = True
                        threading.Timer(0.7, self._end, args=(pair,)).start()
                pair["server"].sendall(data)
        except OSError:
            pass
        self._half_end(pair, "server")

    def _to_client(self, pair):
        try:
            while data := pair["server"].recv(65536):
                if self.delay_s:
                    time.sleep(self.delay_s)
                if not pair["losing"]:
                    pair["client"].sendall(data)
        except OSError:
            pass
        self._half_end(pair, "client")

    def _half_end(self, pair, side):
        if pair["losing"]:
            return
        try:
            pair[side].shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _end(self, pair):
        for side in ("client", "server"):
            try:
                pair[side].shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            pair[side].close()
        with self.lock:
            if pair in self.pairs:
                self.pairs.remove(pair)

    def lose_replies(self, count, text):
        with self.lock:
            self.to_lose, self.text = count, text

    def refuse(self, yes):
        if yes and self.listener:
            listener, self.listener = self.listener, None
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.cut()
        elif not yes and not self.listener:
            self._listen()

    def cut(self):
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            self._end(pair)

    def close(self):
        self.refuse(True)
