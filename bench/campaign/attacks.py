"""Hostile requests. Each attack runs in a process of its own, as a made-up user where the campaign runs as root, until
its deadline; it ignores what the server does to it."""

import contextlib
import dataclasses
import encodings.idna  # noqa: F401  (sockets load it when first used; another user may not be able to)
import json
import random
import socket
import time
import zlib

CONNECT_S = 5
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Aim:
    """What an attack may reach."""
    socket: str
    port: int       # TCP; callers need a token that the attacker does not have
    job: int        # a job of the attacker with a large output
    until: float    # time.monotonic()
    seed: int
    bomb_mib: int = 1024

    @property
    def over(self):
        return time.monotonic() >= self.until


def unix(aim):
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(CONNECT_S)
    caller.connect(aim.socket)
    return caller


def tcp(aim):
    return socket.create_connection(("127.0.0.1", aim.port), CONNECT_S)


def open_many(connect, aim, count):
    found, tries = [], 0
    while len(found) < count and tries < 3 * count and not aim.over:
        tries += 1
        try:
            found.append(connect(aim))
        except OSError:  # many at once: the backlog is full
            time.sleep(0.005)
    return found


def insist(aim, connect, head, parts=()):
    """The same request again and again."""
    while not aim.over:
        with contextlib.suppress(OSError):
            with connect(aim) as caller:
                caller.sendall(head)
                for part in parts() if callable(parts) else parts:
                    if aim.over:
                        return
                    caller.sendall(part)
                caller.settimeout(1)
                caller.recv(4096)
        time.sleep(0.01)


def post(path, body, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: carpool", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def bomb(mib):
    """A gzip stream of zeros. Each part ends with a full flush, so the same part repeats."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"{") + packer.flush(zlib.Z_FULL_FLUSH)
    part = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + part * mib


def gzip_bomb(aim):
    insist(aim, unix, post("/v1/jobs", bomb(aim.bomb_mib), "Content-Encoding: gzip"))


def chunked(aim):
    part = b"100000\r\n" + b" " * MIB + b"\r\n"
    insist(aim, unix, b"POST /v1/jobs HTTP/1.1\r\nHost: carpool\r\nTransfer-Encoding: chunked\r\n\r\n", lambda: (part for _ in range(512)))


def header_flood(aim):
    line = b"X-Flood: " + b"y" * 8000 + b"\r\n"
    callers = []
    while not aim.over:
        callers += open_many(tcp, aim, 8) if len(callers) < 64 else []
        for caller in callers:
            with contextlib.suppress(OSError):
                caller.setblocking(False)
                caller.send(b"GET /v1/jobs HTTP/1.1\r\n" + line * 50)
        time.sleep(0.02)


def environment_times_array(aim):
    # What one request may hold, for as many jobs as one request may have.
    env = {f"V{i}": "x" * 100_000 for i in range(38)}
    body = json.dumps({"argv": ["true"], "cwd": "/", "mem": "1G", "env": env, "array": "0-9999"}).encode()
    insist(aim, unix, post("/v1/jobs", body))


def json_depth(aim):
    for text in (b"[" * (4 * MIB - 1000), b'{"a":' * 800_000):
        with contextlib.suppress(OSError):
            with unix(aim) as caller:
                caller.sendall(post("/v1/jobs", text))
                caller.recv(4096)
    insist(aim, unix, post("/v1/jobs", b'{"argv":' + b"[" * 2_000_000))


def drips(aim):
    """A byte now and then on many connections; four users do it."""
    callers = open_many(unix, aim, 300)
    text = b"POST /v1/jobs HTTP/1.1\r\nHost: carpool\r\nContent-Length: 100000\r\nX: " + b"a" * 100_000
    for byte in text:
        for caller in callers:
            with contextlib.suppress(OSError):
                caller.setblocking(False)
                caller.send(bytes([byte]))
        if aim.over:
            return
        time.sleep(0.2)


def never_reading(aim):
    heads = (b"GET /v1/events?since=0 HTTP/1.1\r\nHost: c\r\n\r\n",
             f"GET /v1/jobs/{aim.job}/logs?limit=100000000 HTTP/1.1\r\nHost: c\r\n\r\n".encode())
    callers = []
    for i, caller in enumerate(open_many(unix, aim, 300)):
        with contextlib.suppress(OSError):
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.sendall(heads[i % 2] * 20)
            callers.append(caller)
    while not aim.over:
        time.sleep(0.1)


def tokenless(aim):
    callers = open_many(tcp, aim, 300)
    while not aim.over:
        time.sleep(0.1)
    del callers


def bodiless(aim):
    """POST without a length, with a length and no body, with a body that never comes."""
    callers = []
    heads = (f"POST /v1/jobs/{aim.job}/hold HTTP/1.1\r\nHost: c\r\n\r\n".encode(),
             b"POST /v1/jobs HTTP/1.1\r\nHost: c\r\nContent-Length: 1000\r\n\r\n",
             b"POST /v1/jobs HTTP/1.1\r\nHost: c\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
    while not aim.over:
        if len(callers) < 120:
            callers += open_many(unix, aim, 3)
            for caller, head in zip(callers[-3:], heads):
                with contextlib.suppress(OSError):
                    caller.sendall(head)
        time.sleep(0.02)


def pipelined(aim):
    chance = random.Random(aim.seed)
    listing = b"GET /v1/jobs?all=1&limit=10000 HTTP/1.1\r\nHost: c\r\n\r\n"
    while not aim.over:
        with contextlib.suppress(OSError):
            with unix(aim) as caller:
                caller.settimeout(0.5)
                for _ in range(200):
                    caller.sendall(listing if chance.random() < 0.7 else chance.randbytes(chance.randrange(1, 3000)) + b"\r\n\r\n")


# Kind: attack, number of users who do it at the same time.
KINDS = {"gzip-bomb": (gzip_bomb, 2), "chunked": (chunked, 4), "header-flood": (header_flood, 1),
         "environment-array": (environment_times_array, 2), "json-depth": (json_depth, 2), "drips": (drips, 4),
         "never-reading": (never_reading, 4), "tokenless": (tokenless, 1), "bodiless": (bodiless, 2), "pipelined": (pipelined, 4)}
