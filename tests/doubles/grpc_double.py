"""A gRPC service that answers every unary call with an empty message, or with the next of the scripted codes. It speaks just
enough HTTP/2 (cleartext) for that and notes the first string field of each request: the Trial's name.

    service = GrpcDouble(codes=[14, 14]); service.port; service.calls -> ["trial-a", …], with the time of each in service.times
"""
import socket
import struct
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """HPACK: a literal header field without indexing."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


class GrpcDouble:
    def __init__(self, codes=()):
        self.codes = list(codes)
        self.calls, self.times = [], []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _answer(self, body):
        """The next code; notes the request."""
        message = body[5:]
        name = ""
        if message[:1] == b"\x0a":
            name = message[2:2 + message[1]].decode()
        with self.lock:
            code = self.codes.pop(0) if self.codes else 0
            self.calls.append(name)
            self.times.append(time.time())
        return code

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                if stream.read(len(PREFACE)) != PREFACE:
                    return
                connection.sendall(frame(SETTINGS, 0, 0))
                bodies = {}
                while head := stream.read(9):
                    size = int.from_bytes(head[:3], "big")
                    kind, flags, number = head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF
                    payload = stream.read(size)
                    if kind == SETTINGS and not flags & ACK:
                        connection.sendall(frame(SETTINGS, ACK, 0))
                    elif kind == PING and not flags & ACK:
                        connection.sendall(frame(PING, ACK, 0, payload))
                    elif kind == DATA:
                        bodies[number] = bodies.get(number, b"") + payload
                        if flags & END_STREAM:
                            self._reply(connection, number, self._answer(bodies.pop(number)))
            except OSError:
                pass

    @staticmethod
    def _reply(connection, number, code):
        start = b"\x88" + literal(b"content-type", b"application/grpc")
        trailer = literal(b"grpc-status", str(code).encode())
        out = frame(HEADERS, END_HEADERS, number, start)
        if code == 0:
            out += frame(DATA, 0, number, b"\0\0\0\0\0")
        connection.sendall(out + frame(HEADERS, END_HEADERS | END_STREAM, number, trailer))
