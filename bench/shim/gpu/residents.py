"""Interpreters that stay: a request is a line of JSON, so that many cells share one import of PyTorch."""

import json
import pathlib
import queue
import subprocess
import sys
import threading

import harness

RESIDENT = pathlib.Path(__file__).resolve().parent / "resident.py"
MARK = "@@"


class Resident:
    """One process that runs the cells of resident.py."""

    def __init__(self, bench, way, name, **options):
        self.name = name
        self.errors = open(bench.folder / f"{name}.err", "w+b")  # noqa: SIM115: closed by close()
        self.process = bench.start(way, [sys.executable, RESIDENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                   **options)
        self.answers = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith(MARK):
                self.answers.put(json.loads(line[len(MARK):]))
        self.answers.put({"error": "the process has ended", "gone": True})

    def ask(self, cell, limit_s=120.0, **arguments):
        """The answer of a cell, or {"error": …}. After its time limit the process is ended."""
        self.send(cell, **arguments)
        return self.answer(limit_s)

    def send(self, cell, **arguments):
        try:
            self.process.stdin.write(json.dumps({"cell": cell, **arguments}) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # answer() says so

    def answer(self, limit_s):
        try:
            answer = self.answers.get(timeout=max(0.1, limit_s))
        except queue.Empty:
            harness.end(self.process)
            answer = {"error": f"no answer within {limit_s:.0f} s", "gone": True}
        if answer.get("gone"):
            answer["stderr"] = self.said()
        return answer

    def alive(self):
        return self.process.poll() is None

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    def close(self):
        if self.alive():
            try:
                self.process.stdin.close()
                self.process.wait(10)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                harness.end(self.process)
        self.errors.close()


class Pool:
    """Residents by name; one that has gone is started again."""

    def __init__(self, bench):
        self.bench, self.known = bench, {}

    def get(self, name, way, **options):
        resident = self.known.get(name)
        if resident is None or not resident.alive():
            if resident is not None:
                resident.close()
            resident = self.known[name] = Resident(self.bench, way, name, **options)
        return resident

    def drop(self, *names):
        for name in names:
            resident = self.known.pop(name, None)
            if resident is not None:
                resident.close()

    def drop_failed(self, residents, answers):
        """An error of CUDA can stay in a process; the next cell gets a new one."""
        self.drop(*(resident.name for resident, answer in zip(residents, answers) if "error" in answer and resident.name in self.known))

    def close(self):
        self.drop(*list(self.known))
