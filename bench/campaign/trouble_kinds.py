"""Kinds of trouble: each prepares an instance, begins and ends."""

import contextlib
import http.client
import os
import pathlib
import resource
import signal
import stat
import subprocess
import threading
import time

import faults
import ledger
import namespace
from instance import Instance, ROOT

class Skipped(Exception):
    pass


class Trouble:
    """What a kind of trouble overrides."""
    options, uid, job_s = (), None, 0.2  # seconds of a job

    def __init__(self, places, seed):
        self.instance = Instance(places, seed, gpus=1 if places.real_gpu else 4, options=self.options, uid=self.uid)
        try:
            self.prepare()
        except Skipped:
            self.instance.close()
            raise

    def prepare(self):
        pass

    def submit(self, jobs):
        return self.instance.submit(ledger.sleeping(self.job_s), array=f"1-{jobs}")


class Lasting(Trouble):
    """A trouble that work() makes in a thread until it is over."""
    over = None

    def begin(self):
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def end(self):
        self.over.set()
        self.thread.join()


class Mps(Trouble):
    """A wrapper around the MPS control program that fails on demand."""
    failing = 'echo "the driver is not loaded" >&2; exit 1'

    def prepare(self):
        real = self.instance.environment().get("CARPOOL_MPS_CONTROL") or "nvidia-cuda-mps-control"
        self.flag, wrapper = self.instance.folder / "trouble", self.instance.folder / "nvidia-cuda-mps-control"
        wrapper.write_text(f'#!/bin/sh\nreal="{real}"\nif [ -e "{self.flag}" ]; then\n{self.failing}\nfi\nexec "$real" "$@"\n')
        os.chmod(wrapper, 0o755)
        self.instance.variables["CARPOOL_MPS_CONTROL"] = str(wrapper)

    def begin(self):
        self.flag.touch()
        for daemon in list(faults.Processes(self.instance).others("mps-daemon")):
            faults.send(daemon.pid, signal.SIGKILL)  # one that runs already would hide the trouble

    def end(self):
        self.flag.unlink()


class MpsFails(Mps):
    pass


class MpsHangs(Mps):
    @property
    def failing(self):
        return f'while [ -e "{self.instance.folder}/trouble" ]; do sleep 0.1; done'


class MpsDies(Mps):
    failing = ('[ "$1" = -d ] || exec "$real" "$@"\n"$real" "$@"; code=$?\n'
               'for i in 1 2 3 4 5; do kill -9 "$(cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid")" && break; '
               'sleep 0.05; done 2>/dev/null\nexit $code')


class RunsReadOnly(Trouble):
    """Nothing can be created in runs/."""

    def attribute(self, sign):
        return subprocess.run(["chattr", f"{sign}i", self.instance.state / "runs"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0

    def begin(self):
        self.mounted = False
        if ROOT and self.attribute("+"):
            return
        runs = self.instance.state / "runs"
        if not ROOT:
            os.chmod(runs, 0o500)
            return
        self.mounted = True
        for command in (["--bind", runs, runs], ["-o", "remount,bind,ro", runs]):
            if subprocess.run(["mount", *command], check=False, stderr=subprocess.DEVNULL).returncode != 0:
                raise Skipped("neither chattr +i nor a read-only mount works here")

    def end(self):
        if not ROOT:
            os.chmod(self.instance.state / "runs", 0o700)
        elif self.mounted:
            subprocess.run(["umount", "-l", self.instance.state / "runs"], check=True)
        else:
            self.attribute("-")


class DiskFull(Lasting):
    """Journal and outputs are on a file system that is filled, again and again: the reserve of the server is gone soon. A change of
    a job is asked for meanwhile, which cannot be written to the journal."""
    answer_s = 600.0

    def prepare(self):
        if not ROOT:
            raise Skipped("a file system of its own needs root")
        self.instance.state.mkdir(mode=0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m,mode=700", "tmpfs", self.instance.state],
                          check=False, stderr=subprocess.DEVNULL).returncode != 0:
            raise Skipped("no tmpfs can be mounted")
        self.filler, self.filled = self.instance.state / "filler", threading.Event()

    def submit(self, jobs):
        self.numbers = super().submit(jobs)
        return self.numbers

    def begin(self):
        super().begin()
        self.filled.wait()
        threading.Thread(target=self.change, daemon=True).start()

    def change(self):
        time.sleep(0.9)  # not in step with the seconds of the trouble: the server sees the space before it tries to write again
        with contextlib.suppress(OSError, http.client.HTTPException):  # answered when it is written
            self.instance.request("POST", f"/v1/jobs/{self.numbers[-1]}/update", {"priority": 1}, timeout=self.answer_s)

    def work(self):
        with open(self.filler, "wb", buffering=0) as file:
            while not self.over.is_set():
                self.fill(file)
                self.filled.set()
                self.over.wait(0.1)

    @staticmethod
    def fill(file):
        size = 1 << 20
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2

    def end(self):
        super().end()
        self.filler.unlink()


class Descriptors(Trouble):
    """The server can open nothing."""
    limit, row = resource.RLIMIT_NOFILE, "Max open files"

    def value(self):
        """The first free number: descriptors that are closed meanwhile have higher numbers and do not help."""
        used = {int(name) for name in os.listdir(f"/proc/{self.instance.server.pid}/fd")}
        return next(number for number in range(len(used) + 1) if number not in used)

    def limit_to(self, pids, value):
        """Sets the soft limit as the user of the server: root without CAP_SYS_RESOURCE may not."""
        def change():
            for pid in pids:
                with contextlib.suppress(OSError):
                    resource.prlimit(pid, self.limit, (value, resource.prlimit(pid, self.limit)[1]))
            return ""
        uid = os.geteuid() if self.uid is None else self.uid
        namespace.answer_as(uid, change, uid)

    def begin(self):
        self.before = int(pathlib.Path(f"/proc/{self.instance.server.pid}/limits").read_text().partition(
            self.row)[2].split()[0].replace("unlimited", str(resource.RLIM_INFINITY)))
        self.limit_to([self.instance.server.pid], self.value())

    def end(self):
        self.limit_to([self.instance.server.pid, *self.instance.own_processes()], self.before)


class Memory(Descriptors):
    """The server gets no further memory; neither do programs that it starts."""
    limit, row = resource.RLIMIT_AS, "Max address space"

    def value(self):
        return 16 << 20


class Processes(Descriptors):
    """The user of the server has as many processes as it may have. The kernel exempts root."""
    limit, row = resource.RLIMIT_NPROC, "Max processes"

    def __init__(self, places, seed):
        if ROOT:
            if not namespace.free_ids(1):
                raise Skipped("the made-up user exists")
            self.uid = namespace.uid_of(20 + seed % 50)
        super().__init__(places, seed)

    def value(self):
        return len(os.listdir(f"/proc/{self.instance.server.pid}/task"))


class UserLookup(Trouble):
    """The user of the jobs is not found, as when a directory service does not answer."""
    options = ("--system", "--group", namespace.GROUP)

    def prepare(self):
        if why := namespace.possible():
            raise Skipped(why)
        self.accounts = namespace.Accounts(self.instance.folder, 1)
        self.instance.wrap = namespace.wrap([(self.accounts.passwd, "/etc/passwd"), (self.accounts.group, "/etc/group")])

    def submit(self, jobs):
        def send():
            numbers = self.instance.submit(ledger.sleeping(self.job_s), array=f"1-{jobs}")
            return " ".join(map(str, numbers))
        return [int(word) for word in namespace.answer_as(namespace.uid_of(0), send).split()]

    def begin(self):
        self.accounts.tell(False)

    def end(self):
        self.accounts.tell(True)


class NoDevNull(Trouble):
    """/dev/null is missing."""

    def prepare(self):
        if self.instance.places.real_gpu:
            raise Skipped("a /dev of its own would hide the GPU")
        if why := namespace.possible():
            raise Skipped(why)
        self.devices = namespace.make_devices(self.instance.folder)
        if self.devices is None:
            raise Skipped("device files cannot be made")
        self.instance.wrap = namespace.wrap([(self.devices, "/dev")])

    def begin(self):
        (self.devices / "null").unlink()

    def end(self):
        os.mknod(self.devices / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.chmod(self.devices / "null", 0o666)


class SupervisorsKilled(Lasting):
    """Every supervisor is killed before it claims its attempt."""
    killed = 0

    def work(self):
        processes = faults.Processes(self.instance)
        with contextlib.suppress(OSError):  # this thread must be faster than the processes that it kills
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while not self.over.is_set():
            for victim in processes.fleeting("starter", 0.05):
                begun = faults.children(victim.pid)
                self.killed += faults.send(victim.pid, signal.SIGKILL)
                for pid in begun:
                    self.killed += processes.kill_unclaimed(pid)


KINDS = {"mps-fails": MpsFails, "mps-hangs": MpsHangs, "mps-dies": MpsDies, "runs-read-only": RunsReadOnly,
         "disk-full": DiskFull, "descriptors": Descriptors, "processes": Processes, "user-lookup": UserLookup,
         "no-dev-null": NoDevNull, "supervisors-killed": SupervisorsKilled, "memory": Memory}
