"""Processes that wait, each in one way, for the test of process_waits_*: wait_states.py FOLDER [NAME…]. Prints the pid of each; ends when its input does."""
import ctypes
import fcntl
import os
import platform
import pty
import select
import signal
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
FUTEX = 202 if X86 else 98
FOLDER = "."
KEPT = []  # the other sides of connections


def forever(*_):
    while True:
        time.sleep(1000)


def sleeping_child(action=lambda: None):
    """It sleeps after that action, and ends with us."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)
        action()
        os.write(told, b"x")
        forever()
    os.read(ready, 1)
    return pid


def futex(operation, expected, wanted):
    word = ctypes.c_uint32(wanted)
    LIBC.syscall(FUTEX, ctypes.byref(word), operation, ctypes.c_uint32(expected), None, None, ctypes.c_uint32(0xffffffff))


def futex_of_a_holder():
    """FUTEX_LOCK_PI of a word that our parent holds."""
    word = ctypes.c_uint32(os.getppid())
    LIBC.syscall(FUTEX, ctypes.byref(word), 6, 0, None, None, 0)


def full_pipe():
    _, end = os.pipe()
    os.write(end, b"x" * fcntl.fcntl(end, fcntl.F_GETPIPE_SZ))
    os.write(end, b"x")


def fifo():
    path = os.path.join(FOLDER, f"fifo{os.getpid()}")
    os.mkfifo(path)
    return path


def listener(family=socket.AF_INET, kind=socket.SOCK_STREAM):
    server = socket.socket(family, kind)
    server.bind(("127.0.0.1", 0) if family == socket.AF_INET else b"\0tacho%d" % os.getpid())
    if kind == socket.SOCK_STREAM:
        server.listen(0)
    return server


def tcp():
    server = listener()
    client = socket.create_connection(server.getsockname())
    KEPT.append(server.accept()[0])
    return client


def full_socket():
    client = tcp()
    while True:
        client.send(b"x" * 65536)


def connect_to_full_backlog():
    server, waiting = listener(), []
    for _ in range(3):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(server.getsockname())
        waiting.append(one)
    socket.socket().connect(server.getsockname())


def pair(kind=socket.SOCK_STREAM):
    KEPT.extend(socket.socketpair(type=kind))
    return KEPT[-1]


def poll(*descriptors):
    poller = select.poll()
    for one in descriptors:
        poller.register(one, select.POLLIN)
    poller.poll()


def epoll(*descriptors):
    poller = select.epoll()
    for one in descriptors:
        poller.register(one, select.EPOLLIN)
    poller.poll()


def timer():
    number = LIBC.timerfd_create(1, 0)
    LIBC.timerfd_settime(number, 0, struct.pack("4q", 0, 0, 1000, 0), None)
    return number


def taken_away(number, remove, use):
    """What outlives its maker goes with it: SIGTERM ends the wait, and us behind it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        use(number)
    finally:
        remove(number, 0, None)


def queue(use):
    taken_away(LIBC.msgget(0, 0o600), LIBC.msgctl, use)


def full_queue(number):
    while LIBC.msgsnd(number, struct.pack("l4096s", 1, b""), 4096, 0) == 0:
        pass


def semaphore():
    taken_away(LIBC.semget(0, 1, 0o600), LIBC.semctl, lambda number: LIBC.semop(number, struct.pack("Hhh", 0, -1, 0), 1))


def message_queue():
    name = b"/tacho%d" % os.getpid()
    number = LIBC.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None)
    LIBC.mq_unlink(name)
    LIBC.mq_receive(number, ctypes.create_string_buffer(8192), 8192, None)


def held_file(take):
    """A lock that a child holds for good."""
    path = os.path.join(FOLDER, f"lock{os.getpid()}")

    def hold():
        take(os.open(path, os.O_RDWR | os.O_CREAT))
    sleeping_child(hold)
    take(os.open(path, os.O_RDWR))


def record_lock(command):
    return lambda number: LIBC.fcntl(number, command, struct.pack("hhqqi4x", 1, 0, 0, 0, 0))


def inotify():
    number = LIBC.inotify_init()
    LIBC.inotify_add_watch(number, FOLDER.encode(), 0x200)
    os.read(number, 4096)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


# name: how, the state by syscall, and by the name of the kernel's function alone (None: what the kernel calls it has changed)
STATES = {
    "pipe": (lambda: os.read(os.pipe()[0], 1), "pipe", "pipe"), "full pipe": (full_pipe, "pipe", "pipe"),
    "fifo nobody opens": (lambda: os.open(fifo(), os.O_RDONLY), "pipe", "pipe"), "fifo": (lambda: os.read(os.open(fifo(), os.O_RDWR), 1), "pipe", "pipe"),
    "local stream": (lambda: pair().recv(1), "pipe", "pipe"), "local datagram": (lambda: pair(socket.SOCK_DGRAM).recv(1), "pipe", None),
    "local accept": (lambda: listener(socket.AF_UNIX).accept(), "pipe", None), "read of a local socket": (lambda: os.read(pair().fileno(), 1), "pipe", "pipe"),
    "message": (lambda: queue(lambda number: LIBC.msgrcv(number, ctypes.create_string_buffer(100), 50, 0, 0)), "pipe", "pipe"),
    "full message queue": (lambda: queue(full_queue), "pipe", "pipe"), "posix queue": (message_queue, "pipe", "pipe"),
    "poll of a pipe": (lambda: poll(os.pipe()[0]), "pipe", "other"), "epoll of a pipe": (lambda: epoll(os.pipe()[0]), "pipe", "other"),
    "select of a pipe": (lambda: select.select([os.pipe()[0]], [], []), "pipe", "other"),
    "tcp": (lambda: tcp().recv(1), "network", None), "read of tcp": (lambda: os.read(tcp().detach(), 1), "network", None), "full tcp": (full_socket, "network", None),
    "accept": (lambda: listener().accept(), "network", "network"), "connect": (connect_to_full_backlog, "network", None),
    "udp": (lambda: listener(kind=socket.SOCK_DGRAM).recv(1), "network", None), "netlink": (lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).recv(1), "network", None),
    "poll of tcp": (lambda: poll(tcp()), "network", "other"), "poll of a pipe and tcp": (lambda: poll(os.pipe()[0], tcp()), "network", "other"),
    "select of tcp": (lambda: select.select([tcp()], [], []), "network", "other"), "epoll of tcp": (lambda: epoll(tcp()), "network", "other"),
    "mutex": (lambda: futex(0, 2, 2), "lock", "idle"), "private mutex": (lambda: futex(128, 2, 2), "lock", "idle"), "rwlock": (lambda: futex(9 | 128 | 256, 3, 3), "lock", "idle"),
    "mutex of musl": (lambda: futex(0, 0x80000001, 0x80000001), "lock", "idle"), "mutex with priority": (futex_of_a_holder, "lock", None),
    "flock": (lambda: held_file(lambda number: fcntl.flock(number, fcntl.LOCK_EX)), "lock", "lock"), "record lock": (lambda: held_file(record_lock(7)), "lock", "lock"),
    "lock of an open file": (lambda: held_file(record_lock(38)), "lock", "lock"), "semaphore of system v": (semaphore, "lock", "lock"),
    "condition": (lambda: futex(128, 0, 0), "idle", "idle"), "join": (lambda: futex(9 | 256, 4711, 4711), "idle", "idle"),
    "wait": (lambda: os.waitpid(sleeping_child(), 0), "child", "child"), "waitid": (lambda: os.waitid(os.P_PID, sleeping_child(), os.WEXITED), "child", "child"),
    "poll of a process": (lambda: poll(os.pidfd_open(sleeping_child())), "child", "other"), "epoll of a process": (lambda: epoll(os.pidfd_open(sleeping_child())), "child", "other"),
    "sleep": (lambda: time.sleep(1000), "sleep", "sleep"), "usleep": (lambda: LIBC.sleep(1000), "sleep", "sleep"), "pause": (signal.pause, "sleep", "sleep"),
    "sigsuspend": (lambda: LIBC.sigsuspend(ctypes.create_string_buffer(128)), "sleep", "sleep"),
    "sigwait": (lambda: signal.sigwaitinfo([signal.SIGUSR1]), "sleep", "sleep"), "sigtimedwait": (lambda: signal.sigtimedwait([signal.SIGUSR1], 1000), "sleep", "sleep"),
    "poll of nothing": (lambda: LIBC.poll(None, 0, -1), "sleep", "other"), "poll of closed": (lambda: LIBC.poll(struct.pack("ihh", -1, 1, 0), 1, -1), "sleep", "other"),
    "select of nothing": (lambda: select.select([], [], []), "sleep", "other"), "timer": (lambda: os.read(timer(), 8), "sleep", "other"), "poll of a timer": (lambda: poll(timer()), "sleep", "other"),
    "epoll of a timer": (lambda: epoll(timer()), "sleep", "other"),
    "eventfd": (lambda: os.read(LIBC.eventfd(0, 0), 8), "other", "other"), "epoll of an eventfd": (lambda: epoll(LIBC.eventfd(0, 0)), "other", "other"), "inotify": (inotify, "other", "other"),
    "terminal": (lambda: os.read(pty.openpty()[1], 1), "other", "other"), "stopped": (stop, "other", "other"),
}
# What waits for a child has one that sleeps; so does who holds the lock of a file.
WITH_SLEEPER = {"wait", "waitid", "poll of a process", "epoll of a process", "flock", "record lock", "lock of an open file"}


def main():
    global FOLDER
    FOLDER = sys.argv[1]
    for name in sys.argv[2:] or STATES:
        pid = os.fork()
        if pid == 0:
            try:
                STATES[name][0]()
            finally:
                os._exit(1)  # it was ended, or this kernel cannot
        print(name, pid, flush=True)
    print("", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
