#!/usr/bin/env python3
"""Clients that want to fill the server's memory, its connections, threads or file descriptors.

While each of them tries, another client is answered, and the server's memory stays below a limit.
"""

import contextlib
import gzip
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time
import unittest

import cli
import server

MOST_MEMORY_MB = 300
SOON_S = 5  # an answer to another client; 1 s on a machine that is not loaded
OTHER = 65534
MIB = 1 << 20


class Hostile(server.ServerTest):
    """A server for all users; the hostile ones are not root."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("other users need root")
        os.chmod(self.folder, 0o755)
        os.chmod(self.runtime, 0o711)
        self.clients = []
        self.addCleanup(self.close_clients)

    def start_system(self, *options):
        self.start("--system", "--group", "nogroup", "--socket", str(self.socket), *options)

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients = []

    @contextlib.contextmanager
    def as_user(self, uid=OTHER):
        """The kernel takes the caller of a socket from the moment of connect()."""
        os.setegid(65534)
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    def connect(self, uid=OTHER, timeout=server.PATIENCE_S):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(timeout)
        with self.as_user(uid):
            client.connect(str(self.socket))
        self.clients.append(client)
        return client

    def memory_mb(self, field="VmHWM"):
        for line in pathlib.Path(f"/proc/{self.server.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        raise AssertionError(f"no {field}")

    def assert_unharmed(self, what):
        begin = time.monotonic()
        self.assertEqual(self.request("GET", "/v1/status")[0], 200, what)
        self.assertLess(time.monotonic() - begin, SOON_S, what)
        self.assertLess(self.memory_mb(), MOST_MEMORY_MB, what)

    def first_line(self, client, data):
        """Sends what the server takes; the first line of its answer."""
        with contextlib.suppress(OSError):
            client.sendall(data)
        with contextlib.suppress(OSError):
            return client.recv(4096).split(b"\r\n")[0].decode()
        return ""


def post(body, headers=""):
    return (f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode()
            + (body if isinstance(body, bytes) else body.encode()))


class Memory(Hostile):
    def test_requests_that_would_fill_the_memory(self):
        self.start_system()
        bomb = gzip.compress(b" " * (64 * MIB))
        environment = {f"V{i}": "x" * 100_000 for i in range(4)}
        values = "[" + ",".join(["0"] * (2 * MIB - 1)) + "]"
        keys = json.dumps({f"{i:x}": 0 for i in range(300_000)})
        kinds = {
            "a compressed body": (post(bomb, "Content-Encoding: gzip\r\n"), "415"),
            "a body in chunks": (
                b"POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                + (b"100000\r\n" + b"[" * MIB + b"\r\n") * 30, "411"),
            "a length that is a lie": (
                b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + b"[" * MIB, "413"),
            "headers without an end": (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1_000_000, "431"),
            "a request line without an end": (b"GET /" + b"a" * (8 * MIB), "414"),
            "nested JSON": (post("[" * (4 * MIB)), "400"),
            "many JSON values": (post(values), "400"),
            "many JSON keys": (post(keys), "400"),
            "an environment times an array": (
                post(json.dumps({"argv": ["true"], "env": environment, "array": "1-10000"})), "400"),
            "a command times an array": (
                post(json.dumps({"argv": ["true"] + ["x" * 1000] * 400, "array": "1-10000"})), "400"),
        }
        for what, (data, status) in kinds.items():
            for _ in range(8):
                line = self.first_line(self.connect(), data)
                # A client that is cut off while it sends may not see the answer.
                self.assertIn(status, line or status, what)
            self.assert_unharmed(what)
            self.close_clients()

    def test_bodies_that_are_never_complete(self):
        self.start_system()
        for uid in (60001, 60002, 60003, 60004):
            for _ in range(10):
                client = self.connect(uid)
                client.settimeout(0.2)
                with contextlib.suppress(OSError):
                    client.sendall(post("[" * (4 * MIB))[:-10])
        self.assert_unharmed("bodies that are never complete")
        line = self.first_line(self.connect(60005), post('{"argv": ["true"], "mem": "1G"}'))
        self.assertIn("200", line)  # of a user who holds little

    def test_a_queue_of_one_user(self):
        self.start_system()
        self.succeeds("drain")
        body = json.dumps({"argv": ["true"], "mem": "1G", "array": "1-10000"})
        status = ""
        for _ in range(40):
            client = self.connect()
            client.sendall(post(body))
            status = client.recv(4096).split(b"\r\n")[0].decode()
            client.close()
            if "200" not in status:
                break
        self.assertIn("429", status)
        self.assert_unharmed("a queue of one user")
        listing = b"GET /v1/jobs?all=1&limit=20000 HTTP/1.1\r\n\r\n"
        for uid in (60001, 60002, 60003, 60004):
            for _ in range(20):
                self.connect(uid).sendall(listing)  # and never reads the answer
        self.assert_unharmed("listings that nobody reads")
        self.assertIn("200", self.first_line(self.connect(60005), b"GET /healthz HTTP/1.1\r\n\r\n"))


class Connections(Hostile):
    def test_many_connections_of_some_users_leave_a_place_for_others(self):
        self.start_system()
        for uid in (60001, 60002, 60003, 60004):
            for _ in range(300):
                with contextlib.suppress(OSError):
                    self.connect(uid).sendall(b"GET /v1/jobs HTTP/1.1\r\nA: b")
        self.assert_unharmed("many connections")
        self.assertIn("200", self.first_line(self.connect(60005), b"GET /healthz HTTP/1.1\r\n\r\n"))

    def test_a_client_that_sends_byte_by_byte_is_cut_off(self):
        self.start_system()
        client = self.connect()
        begin = time.monotonic()
        line = b""
        with contextlib.suppress(OSError):
            for byte in b"GET /healthz HTTP/1.1\r\n" + b"A: bcdefgh\r\n" * 1000:
                client.send(bytes([byte]))
                client.settimeout(0.2)
                with contextlib.suppress(TimeoutError):
                    line = client.recv(100)
                    break
        self.assertIn(b"408", line)
        self.assertLess(time.monotonic() - begin, 40)

    def test_callers_without_a_token_have_connections_of_their_own(self):
        tokens = self.write_tokens(daemon="0123456789abcdef")
        port = server.free_port()
        self.start_system("--listen", f"127.0.0.1:{port}", "--tokens", str(tokens))
        flood = b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000
        for _ in range(256):
            client = socket.create_connection(("127.0.0.1", port), timeout=server.PATIENCE_S)
            self.clients.append(client)
            with contextlib.suppress(OSError):
                client.sendall(flood)
        self.assert_unharmed("256 callers without a token")
        self.assertIn("200", self.first_line(self.connect(), b"GET /healthz HTTP/1.1\r\n\r\n"))
        # They are cut off, and one with a token is answered.
        good = b"GET /v1/jobs HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"

        def answered():
            with socket.create_connection(("127.0.0.1", port), timeout=server.PATIENCE_S) as client:
                return "200" in self.first_line(client, good)
        server.until(answered, "an answer over TCP", 30)

    def test_clients_that_read_nothing_do_not_hold_up_the_end(self):
        self.start_system()
        self.succeeds("drain")
        self.succeeds("submit", "--array", "1-5000", "--mem", "1G", "--name", "n" * 200, "--", "true")
        for _ in range(20):
            self.connect().sendall(b"GET /v1/jobs?all=1&limit=20000 HTTP/1.1\r\n\r\n")
        for _ in range(3):
            self.connect().sendall(b"GET /v1/events?since=0 HTTP/1.1\r\n\r\n")
            self.connect().sendall(b"GET /v1/jobs/1/wait HTTP/1.1\r\n\r\n")
            self.connect().sendall(b"GET /v1/jobs/1/logs?wait_s=60 HTTP/1.1\r\n\r\n")
        self.assert_unharmed("clients that read nothing")
        begin = time.monotonic()
        self.stop_server()
        self.assertLess(time.monotonic() - begin, 25)


class Limits(Hostile):
    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.server.pid}/fd"))

    def test_without_descriptors_the_server_waits_and_answers_operators(self):
        self.start_system("--simulated", "1xA100-40")  # the fake driver needs a descriptor
        before = resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, (self.open_files(), before[1]))
        refused = [self.first_line(self.connect(), b"GET /v1/status HTTP/1.1\r\n\r\n") for _ in range(50)]
        self.assertTrue(any("503" in line for line in refused), refused)
        spent = self.cpu_seconds()
        begin = time.monotonic()
        for _ in range(10):
            self.assertEqual(self.request("GET", "/v1/status")[0], 200)
            self.connect().sendall(b"GET /v1/status HTTP/1.1\r\n\r\n")
            self.assertEqual(self.server.poll(), None)
        server.until(lambda: time.monotonic() - begin > 2, "two seconds")
        self.assertLess(self.cpu_seconds() - spent, 1.0)
        resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE, before)
        self.close_clients()
        server.until(lambda: "200" in self.first_line(self.connect(), b"GET /healthz HTTP/1.1\r\n\r\n"),
                     "an answer to another user")

    def limit_threads(self, count):
        subprocess.run(["prlimit", "--pid", str(self.server.pid), f"--nproc={count}:"], check=True,
                       user=OTHER, group=65534)

    def test_without_threads_the_server_lives_and_answers_operators(self):
        for folder in (self.folder, self.runtime):
            os.chown(folder, OTHER, 65534)
        os.chmod(self.runtime, 0o700)
        tokens = self.write_tokens(nobody="0123456789abcdef")
        os.chown(tokens, OTHER, 65534)
        port = server.free_port()
        self.log = open(self.folder / "server.log", "ab")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [cli.PROGRAM, "serve", "--state", str(self.state), "--simulated", "1xA100-40", "--listen",
             f"127.0.0.1:{port}", "--tokens", str(tokens)],
            env=cli.environment(self.folder, **self.surroundings()), cwd=self.folder, user=OTHER,
            group=65534, extra_groups=[], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        server.until(self.answers, "the server to answer")
        good = b"GET /v1/status HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"

        def over_tcp():
            with socket.create_connection(("127.0.0.1", port), timeout=server.PATIENCE_S) as client:
                return self.first_line(client, good)
        self.assertIn("200", over_tcp())
        before = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        self.limit_threads(1)
        for _ in range(20):
            self.assertIn("503", over_tcp())
            self.assertEqual(self.request("GET", "/v1/status")[0], 200)  # root
        self.assertIsNone(self.server.poll())
        self.limit_threads("unlimited" if before == resource.RLIM_INFINITY else before)
        self.assertIn("200", over_tcp())
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(server.PATIENCE_S), 0)


class Places(server.ServerTest):
    @unittest.skipUnless(os.geteuid() == 0, "a folder of another user needs root")
    def test_a_socket_in_a_folder_of_others_is_refused(self):
        shared = self.folder / "shared"
        shared.mkdir()
        os.chmod(shared, 0o1777)
        self.refuses("serve", "--simulated", "1xA100-40", "--state", self.state, "--socket", shared / "s",
                     says="other users can write")
        os.chmod(shared, 0o755)
        target = self.folder / "target"
        (shared / "s").symlink_to(target)
        self.refuses("serve", "--simulated", "1xA100-40", "--state", self.state, "--socket", shared / "s",
                     says="not a socket")
        self.assertFalse(target.exists())
        self.assertTrue((shared / "s").is_symlink())

    def test_a_pipe_instead_of_an_output_is_not_waited_for(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sh", "-c",
                          'f=$(readlink -f /proc/self/fd/2); rm "$f"; mkfifo "$f"; sleep 600')
        self.await_state(job, "running")
        server.until(lambda: any(file.is_fifo() for file in (self.state / "runs").glob("*/stderr")), "the pipe")
        for _ in range(3):
            status, body = self.request("GET", f"/v1/jobs/{job}/logs?stream=stderr")
            self.assertEqual((status, body), (200, b""))
        self.succeeds("cancel", job)


if __name__ == "__main__":
    unittest.main()
