"""What all parts share: the two ways to start a program, time limits, facts about the machine."""

import ctypes
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import residents

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
END_GRACE_S = 5
COMPILE_LIMIT_S = 120


class Budget:
    """Seconds that a part may take. `cut` tells whether something was left out."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.cut = False

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def allows(self, seconds):
        """Whether so much is left; else the caller leaves its next step out."""
        if self.left() >= seconds:
            return True
        self.cut = True
        return False


class Bench:
    """Starts programs in the ways `off` (without the library) and `on` (by `carpool run`). `options`: of each such run."""

    def __init__(self, program, folder, journal=None, options=()):
        self.program, self.folder, self.journal, self.options = program, folder, journal, options
        self.writing = threading.Lock()
        self.residents = residents.Pool(self)
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
                            "TRITON_CACHE_DIR": str(folder / "triton"), "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
                            "TORCHINDUCTOR_DETERMINISTIC": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                            "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo", "TOKENIZERS_PARALLELISM": "false",
                            "HF_HUB_OFFLINE": "1"}

    def keep(self, part, row):
        """Writes a row to the journal at once: a run that is cut off loses only what it has not measured."""
        if self.journal:
            with self.writing, self.journal.open("a") as file:
                file.write(json.dumps({"part": part, **row}) + "\n")
        return row

    def command(self, way, argv, mps="off", mem=None, options=None):
        argv = [str(word) for word in argv]
        if way == "off":
            return argv
        limit = ["--mem", mem] if mem else []
        return [str(self.program), "run", "--mps", mps, *limit, *(self.options if options is None else options), "--", *argv]

    def start(self, way, argv, mps="off", mem=None, options=None, env=None, **streams):
        """In a session of its own, so that end() reaches all its processes."""
        return subprocess.Popen(self.command(way, argv, mps, mem, options), env={**self.environment, **(env or {})}, text=True, errors="replace",
                                start_new_session=True, **streams)

    def run(self, way, argv, limit_s, **options):
        """Exit code (None: time was up), outputs and seconds of a program."""
        began = time.monotonic()
        # Files: a process that the program leaves behind would keep a pipe open.
        with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
            process = self.start(way, argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            end(process)
            seconds = round(time.monotonic() - began, 2)
            return {"code": code, "out": text_of(out), "err": text_of(err), "seconds": seconds}

    def close(self):
        self.residents.close()


def text_of(file):
    file.seek(0)
    return file.read()


def end(process):
    """Ends all processes of a session that start() began."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def nvcc(*words):
    """Compiles; what went wrong, or None."""
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    try:
        done = subprocess.run([compiler, *words], capture_output=True, text=True, check=False, timeout=COMPILE_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"nvcc: {problem}"
    return None if done.returncode == 0 else f"nvcc: {done.stderr[-800:]}"


def driver_file():
    """The path of the driver that the loader finds, or its bare name."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "libcuda.so.1"
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split()[-1] for line in maps if "libcuda.so" in line), "libcuda.so.1")


def said_by(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def facts(program):
    gpu, _, driver = said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    return {"gpu": gpu, "driver": driver, "date": datetime.date.today().isoformat(),
            "commit": os.environ.get("CARPOOL_COMMIT") or said_by("git", "rev-parse", "--short", "HEAD"),
            "version": said_by(str(program), "--version"), "cores": os.cpu_count(), "python": sys.version.split()[0]}


CHANGING = (re.compile(r"0x[0-9a-fA-F]+"), re.compile(r"\d+(\.\d+)?"))


def kinds_of_lines(text):
    """Lines without what changes from run to run: numbers and addresses."""
    kinds = set()
    for line in text.splitlines():
        for pattern in CHANGING:
            line = pattern.sub("#", line)
        if line.strip():
            kinds.add(line.strip())
    return kinds


def python(*argv):
    return [sys.executable, *map(str, argv)]
