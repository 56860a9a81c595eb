"""The ways in which a user can run a list of jobs on one GPU, each a function from jobs to the times of their ends."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Another program with the same options and output may stand in for it where there is no GPU.
JOB = os.environ.get("UNDESCRIBED_JOB", str(pathlib.Path(__file__).resolve().parent / "job.py"))
ENDED = ("succeeded", "failed", "cancelled")
# As for Carpool itself: another program may stand in for it.
MPS_CONTROL = os.environ.get("CARPOOL_MPS_CONTROL", "nvidia-cuda-mps-control")
PATIENCE_S = 900


def argv(job):
    words = [sys.executable, JOB, job["kind"], "--size", str(job["size"]), "--steps", str(job["steps"])]
    return words + [str(word) for word in job.get("more", [])]


class PlainMps:
    """One MPS daemon, as a user starts it by hand."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mps-"))
        self.environment = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(self.folder), "CUDA_MPS_LOG_DIRECTORY": str(self.folder)}
        subprocess.run([MPS_CONTROL, "-d"], env=self.environment, check=True)
        return self.environment

    def __exit__(self, *_):
        subprocess.run([MPS_CONTROL], env=self.environment, input="quit\n", text=True, check=False)
        time.sleep(1.0)
        shutil.rmtree(self.folder, ignore_errors=True)


def at_most(jobs, most, environment, folder):
    """First come, first served, at most so many at a time."""
    began, running, ends, waiting = time.monotonic(), {}, {}, list(enumerate(jobs))
    while waiting or running:
        while waiting and len(running) < most:
            number, job = waiting.pop(0)
            with open(folder / f"{number}.txt", "wb") as out:
                running[number] = subprocess.Popen(argv(job), env=environment, stdout=out, stderr=subprocess.STDOUT)
        for number, process in list(running.items()):
            if process.poll() is not None:
                ends[number] = {"end_s": time.monotonic() - began, "ok": process.returncode == 0}
                del running[number]
        time.sleep(0.02)
    return [{**ends[number], "said": last_line(folder / f"{number}.txt")} for number in range(len(jobs))]


def last_line(file):
    lines = file.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


class Server:
    """`carpool serve` with folders of its own."""

    def __init__(self, program, folder, *words):
        self.program, self.folder = str(program), folder
        (folder / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.environment = {**os.environ, "CARPOOL_SOCKET": str(folder / "run/s"), "XDG_RUNTIME_DIR": str(folder / "run")}
        with open(folder / "server.log", "ab") as log:
            self.process = subprocess.Popen([self.program, "serve", "--state", str(folder / "state"), "--stop-grace", "5", *words],
                                            env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 30
        while subprocess.run([self.program, "queue"], env=self.environment, capture_output=True).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("the server does not answer:\n" + (folder / "server.log").read_text())
            time.sleep(0.1)

    def carpool(self, *words):
        done = subprocess.run([self.program, *map(str, words)], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"carpool {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def show(self, number):
        shown = json.loads(self.carpool("show", number, "--json"))
        shown.pop("env", None)  # belongs into no result
        return shown

    def submit(self, job, words=()):
        return int(self.carpool("submit", "--parsable", *words, "--", *argv(job)))

    def run(self, jobs, told, limit_s=PATIENCE_S):
        """Submits all, waits until all have ended, at most `limit_s`. `told`: with --mem."""
        began = time.time()
        numbers = []
        for job in jobs:
            numbers.append(self.submit(job, ["--mem", f"{job['told_mib']}M"] if told else []))
        self.wait(numbers, limit_s)
        rows = []
        for number in numbers:
            shown = self.show(number)
            last = shown["attempts"][-1] if shown["attempts"] else {}
            rows.append({"end_s": last.get("ended_s", time.time()) - began, "ok": shown["state"] == "succeeded",
                         "attempts": shown["attempts"], "said": last_line_of(self.log(number))})
        return rows

    def wait(self, numbers, limit_s=PATIENCE_S):
        subprocess.run([self.program, "wait", "--limit", str(round(limit_s)), *map(str, numbers)], env=self.environment, capture_output=True)

    def active(self):
        return [row["id"] for row in json.loads(self.carpool("queue", "--json"))["jobs"]]

    def log(self, number):
        return subprocess.run([self.program, "logs", str(number)], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True).stdout

    def stop(self):
        """Ends the jobs that still run: they would outlive the server."""
        left = self.active()
        for number in left:
            subprocess.run([self.program, "cancel", str(number)], env=self.environment, capture_output=True)
        if left:
            self.wait(left, 60)
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def last_line_of(text):
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else ""
