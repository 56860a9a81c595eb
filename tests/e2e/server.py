"""A real server as a child process, on the GPUs of a fake driver.

Every test has its own folders and socket; processes that it leaves are killed.
"""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import time

import cli

PATIENCE_S = 60
ENDED = ("succeeded", "failed", "cancelled")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def until(condition, what, patience=PATIENCE_S):
    """Polls a condition for which there is no event; returns its value."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s for {what}")
        time.sleep(0.02)


def has_ended(pid):
    """Whether a process that need not be a child is gone or a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:  # also where the process ends while its file is read
        return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerTest(cli.CarpoolTest):
    GPUS = 2

    def setUp(self):
        super().setUp()
        self.settings = self.write("nvml", f"gpus = {self.GPUS}\nmemory_used = 0\nprocesses =\n")
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        self.state = self.folder / "state"
        self.socket = self.runtime / "s"
        self.server = None
        self.addCleanup(self.end_everything)

    def change_gpus(self, text):
        """Gives the fake driver new settings at once: it never reads half of them."""
        self.write("nvml.new", text).replace(self.settings)

    def write_tokens(self, **tokens):
        """A file of tokens for --tokens: user = token."""
        lines = (f"sha256:{hashlib.sha256(token.encode()).hexdigest()} {user}\n" for user, token in tokens.items())
        file = self.write("tokens", "".join(lines))
        os.chmod(file, 0o600)
        return file

    def surroundings(self, **more):
        return {**cli.fake_driver(self.settings), **cli.FAKE_MPS, "CARPOOL_SOCKET": str(self.socket),
                "XDG_RUNTIME_DIR": str(self.runtime), **more}

    def carpool(self, *arguments, env=None, **options):
        return super().carpool(*arguments, env=self.surroundings(**(env or {})), **options)

    def start(self, *options):
        self.log = open(self.folder / "server.log", "ab")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [cli.PROGRAM, "serve", "--state", str(self.state), "--stop-grace", "5", *options],
            env=cli.environment(self.folder, **self.surroundings()), cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until(self.answers, "the server to answer")
        return self.server

    def answers(self):
        if self.server.poll() is not None:
            raise AssertionError("the server ended: " + (self.folder / "server.log").read_text())
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/healthz")[0] == 200
        return False

    def request(self, method, path, body=None, headers=None):
        connection = UnixConnection(self.socket)
        try:
            text = json.dumps(body) if isinstance(body, (dict, list)) else body
            connection.request(method, path, text, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request("GET", path)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def stop_server(self):
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(PATIENCE_S), 0, (self.folder / "server.log").read_text())

    def submit(self, *arguments):
        return int(self.succeeds("submit", "--parsable", *arguments))

    def job(self, number):
        return self.get(f"/v1/jobs/{number}")

    def event_lines(self):
        """Lines of the event stream from its beginning, as they arrive."""
        connection = UnixConnection(self.socket)
        try:
            connection.request("GET", "/v1/events?since=0")
            stream = connection.getresponse()
            self.assertEqual(stream.status, 200)
            yield ""  # the stream is open: nothing that happens from now on is missed
            while line := stream.readline():
                yield line.decode().strip()
        finally:
            connection.close()

    def await_job(self, number, condition, what):
        """The job as soon as the condition holds; looks again after every event."""
        end = time.monotonic() + PATIENCE_S
        for line in self.event_lines():
            if line == "" and condition(job := self.job(number)):
                return job
            if time.monotonic() > end:
                break
        raise AssertionError(f"waited {PATIENCE_S} s for job {number} {what}: {self.job(number)}")

    def await_state(self, number, *states):
        return self.await_job(number, lambda job: job["state"] in states, f"to be {states}")

    def await_end(self, number):
        job = {"state": ""}
        end = time.monotonic() + PATIENCE_S
        while job["state"] not in ENDED and time.monotonic() < end:
            job = self.get(f"/v1/jobs/{number}/wait?wait_s=20")
        self.assertIn(job["state"], ENDED, job)
        return job

    def claims(self):
        """pid of the supervisor of every attempt that ever began."""
        found = {}
        for file in (self.state / "runs").glob("*/claim"):
            with contextlib.suppress(OSError, ValueError):
                claim = json.loads(file.read_text())
                if not claim["abandoned"]:
                    found[file.parent.name] = claim["pid"]
        return found

    def end_everything(self):
        if self.server is not None and self.server.poll() is None:
            self.server.kill()
            self.server.wait()
        own = str(self.state)
        supervisors = set(self.claims().values())
        for process in pathlib.Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                arguments = (process / "cmdline").read_bytes()
                variables = (process / "environ").read_bytes()
                marked = f"HOME={self.folder}\0".encode() in variables and b"CARPOOL_RUN_ID=" in variables
                # A supervisor has nothing of the server's environment.
                marked |= b"\0guard\0" in arguments and int(process.name) in supervisors
                # An MPS daemon survives a supervisor that is killed.
                daemon = f"CUDA_MPS_PIPE_DIRECTORY={self.folder}/".encode() in variables
                keeper = b"\0--mps\0" in arguments and f"\0{self.folder}/".encode() in arguments
                if marked or daemon or keeper or own.encode() in arguments:
                    os.kill(int(process.name), signal.SIGKILL)
        for record in (self.state / "runs").glob("*/cgroup"):
            with contextlib.suppress(OSError):
                self.end_cgroup(pathlib.Path(record.read_text()))

    @staticmethod
    def end_cgroup(cgroup):
        """Kills what a test left in the cgroup of an attempt, and removes it."""
        if not cgroup.exists():
            return
        (cgroup / "cgroup.kill").write_text("1")
        until(lambda: "populated 0" in (cgroup / "cgroup.events").read_text(), f"{cgroup} to empty")
        cgroup.rmdir()


def nobody():
    return pwd.getpwnam("nobody").pw_uid


class SystemServerTest(ServerTest):
    """A server for all users, started by root, and one of its users."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.mine = self.folder / "mine"
        self.mine.mkdir()
        os.chmod(self.mine, 0o777)
        os.chmod(self.runtime, 0o711)
        self.start("--system", "--group", "nogroup", "--socket", str(self.socket))

    def as_nobody(self, *arguments, before=lambda: None):
        def change():
            before()
            os.setgroups([])
            os.setgid(pwd.getpwnam("nobody").pw_gid)
            os.setuid(nobody())
        return subprocess.run(
            [cli.PROGRAM, *map(str, arguments)], cwd=self.mine, text=True, capture_output=True,
            timeout=cli.TIMEOUT_S, check=False, preexec_fn=change, stdin=subprocess.DEVNULL,
            env=cli.environment(self.mine, **self.surroundings()))


class MpsTest(ServerTest):
    """A control program with settings of its own: nothing of the server's environment reaches it."""

    CONTROL = ""

    def setUp(self):
        super().setUp()
        self.control = self.write("nvidia-cuda-mps-control",
                                  f'#!/bin/sh\n{self.CONTROL.format(folder=self.folder)}\n'
                                  f'exec {os.environ["FAKE_MPS_CONTROL"]} "$@"\n')
        self.control.chmod(0o755)

    def surroundings(self, **more):
        return super().surroundings(CARPOOL_MPS_CONTROL=str(self.control), **more)
