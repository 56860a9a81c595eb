"""A server of its own: folders, fake or real GPUs, processes, requests.

Instances share nothing, so that several run at the same time: each has its own folder, socket and
GPU identities. `close()` kills every process that belongs to the folder.
"""

import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ENDED = ("succeeded", "failed", "cancelled")
START_S = 60
ROOT = os.geteuid() == 0


@dataclasses.dataclass(frozen=True)
class Places:
    """The program under test and what stands for the driver."""
    program: pathlib.Path
    nvml: pathlib.Path  # folder of the fake libnvidia-ml.so.1
    mps: pathlib.Path   # the fake nvidia-cuda-mps-control
    real_gpu: bool = False
    scratch: pathlib.Path | None = None

    def driver(self, settings):
        if self.real_gpu:
            return {}
        return {"LD_LIBRARY_PATH": str(self.nvml), "CARPOOL_FAKE_NVML": str(settings),
                "CARPOOL_MPS_CONTROL": str(self.mps)}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        """Waits while the backlog is full, as a program with a blocking socket does."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        end = time.monotonic() + self.timeout
        while True:
            try:
                return self.sock.connect(self.path)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)


def until(condition, patience, pause=0.02):
    """The first true value of the condition; None after `patience` seconds."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            return None
        time.sleep(pause)


def boot_seconds():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Died(Exception):
    """The server ended by itself; the text is what it said."""


class Instance:
    def __init__(self, places, seed, gpus=4, options=(), variables=None, wrap=(), uid=None):
        self.places, self.uid, self.wrap = places, uid, list(wrap)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cc-", dir=places.scratch)).resolve()
        os.chmod(self.folder, 0o711)
        self.state, self.runtime = self.folder / "state", self.folder / "run"
        self.work, self.socket = self.folder / "work", self.folder / "run" / "s"
        for folder, mode in ((self.runtime, 0o711), (self.work, 0o777)):
            folder.mkdir()
            os.chmod(folder, mode)
        self.settings = self.folder / "nvml"
        tag = f"{seed & 0xffffffff:08x}-{os.getpid() & 0xffff:04x}"
        names = "".join(f"gpu{i}.uuid = GPU-{tag}-0000-0000-{i:012x}\n" for i in range(gpus))
        self.settings.write_text(f"gpus = {gpus}\nmemory_used = 0\nprocesses =\n{names}")
        self.log_file = self.folder / "server.log"
        self.log_file.touch()
        self.options, self.variables = list(options), dict(variables or {})
        self.server = None
        if uid is not None:
            for path in (self.folder, self.runtime, self.work, self.settings, self.log_file):
                os.chown(path, uid, uid)

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        return {**kept, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": str(self.runtime),
                "XDG_CONFIG_HOME": str(self.folder / "config"), "CARPOOL_SOCKET": str(self.socket),
                **self.places.driver(self.settings), **self.variables, **more}

    def become(self):
        if self.uid is not None:
            os.setgroups([])
            os.setresgid(self.uid, self.uid, self.uid)
            os.setresuid(self.uid, self.uid, self.uid)

    def launch(self, *options):
        """Starts the server and does not wait for it."""
        with open(self.log_file, "ab") as log:
            self.server = subprocess.Popen(
                [*self.wrap, str(self.places.program), "serve", "--state", str(self.state), "--socket",
                 str(self.socket), "--stop-grace", "2", *self.options, *options],
                env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=self.become if self.uid is not None else None)

    def start(self, *options):
        self.launch(*options)
        if not until(self.answers, START_S):
            raise Died(f"no answer in {START_S} s: {self.said()}")
        return self

    def answers(self):
        if self.server.poll() is not None:
            raise Died(f"exit code {self.server.returncode}: {self.said()}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/healthz", timeout=5)[0] == 200
        return False

    def said(self, length=2000):
        return self.log_file.read_text(errors="replace")[-length:]

    def request(self, method, path, body=None, headers=None, timeout=30):
        connection = UnixConnection(self.socket, timeout)
        try:
            text = json.dumps(body) if isinstance(body, (dict, list)) else body
            connection.request(method, path, text, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request("GET", path)
        if status != 200:
            raise OSError(f"{path}: {status} {body[:300]!r}")
        return json.loads(body)

    def job(self, number):
        """The job as the server shows it; None where the server does not know it."""
        status, body = self.request("GET", f"/v1/jobs/{number}")
        return json.loads(body) if status == 200 else None

    def submit(self, script, **keys):
        """The numbers of the acknowledged jobs."""
        body = {"argv": ["sh", "-c", script], "cwd": str(self.work), "mem": "1G",
                "env": {"PATH": os.environ["PATH"], "LEDGER": str(self.ledger)}, **keys}
        status, answer = self.request("POST", "/v1/jobs", body)
        if status != 200:
            raise OSError(f"submission: {status} {answer[:300]!r}")
        return json.loads(answer)["ids"]

    @property
    def ledger(self):
        return self.work / "ledger"

    def drain(self, on):
        status, body = self.request("POST", "/v1/drain", {"drain": on})
        if status != 200:
            raise OSError(f"drain: {status} {body[:300]!r}")

    def kill(self):
        if self.server is not None:
            self.server.kill()
            self.server.wait()

    def memory(self, key):
        """A value of /proc/PID/status in MB, for example VmHWM; 0 where the process has ended."""
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{self.server.pid}/status").read_text().splitlines():
                if line.startswith(key + ":"):
                    return int(line.split()[1]) / 1000
        return 0.0

    def own_processes(self):
        """Processes that this instance started, directly or not."""
        mark = str(self.folder).encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                place = f"/proc/{entry}"
                if (os.readlink(f"{place}/cwd").encode() + b"/").startswith(mark + b"/"):
                    found.append(int(entry))
                elif mark in pathlib.Path(f"{place}/cmdline").read_bytes() \
                        or mark in pathlib.Path(f"{place}/environ").read_bytes():
                    found.append(int(entry))
        return found

    def end_processes(self):
        """Kills the server, supervisors, jobs and MPS daemons of this instance."""
        if self.server is not None and self.server.poll() is None:
            self.server.kill()
        for _ in range(5):  # a process may fork while it is looked for
            own = self.own_processes()
            if not own:
                break
            for pid in own:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if self.server is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.wait(10)

    def close(self):
        self.end_processes()
        unmount_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


def unmount_below(folder):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in sorted((p for p in points if p.startswith(str(folder) + "/")), reverse=True):
        subprocess.run(["umount", "-l", point], check=False, stderr=subprocess.DEVNULL)
