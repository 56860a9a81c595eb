"""The parts of the bench besides the queue: calibration, a planted bad pair, jobs that lie about their memory, the cost of looking."""

import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import ways

KINDS = ("mlp", "cifar", "photos", "encoder", "language", "recurrent", "clicks", "patches", "pixels", "decode")
SIZES = (2, 1)
SAID = re.compile(r": (\d+) steps in ([\d.]+) s after ([\d.]+) s")
MIB = 2**20


def used_mib():
    done = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return float(done.stdout.split()[0])


class Peak:
    """The most memory of the GPU that was in use, above what was in use at the beginning."""

    def __enter__(self):
        self.before, self.most, self.over = used_mib(), 0.0, False
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.over:
            self.most = max(self.most, used_mib() - self.before)
            time.sleep(0.1)

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


def solo(kind, size, *words):
    with Peak() as peak:
        done = subprocess.run([sys.executable, ways.JOB, kind, "--size", str(size), *map(str, words)], capture_output=True, text=True)
    said = SAID.search(done.stdout)
    if not said:
        sys.exit(f"{kind} {size}: {done.stderr[-800:]}")
    return {"steps": int(said[1]), "seconds": float(said[2]), "start_up_s": float(said[3]), "peak_mib": round(peak.most)}


def calibrate(chosen):
    jobs = []
    for size in SIZES:
        for kind in KINDS:
            seen = solo(kind, size, "--seconds", 2.5)
            steps = max(round(seen["steps"] / seen["seconds"] * chosen.seconds), 1)
            jobs.append({"kind": kind, "size": size, "steps": steps, "told_mib": round(seen["peak_mib"] * 1.1) + 64, **
                         {key: seen[key] for key in ("start_up_s", "peak_mib")}})
            print(jobs[-1], flush=True)
    chosen.jobs.write_text(json.dumps({"seconds": chosen.seconds, "jobs": jobs}, indent=1) + "\n")
    return jobs


def pair(chosen):
    """A light job runs; a heavy neighbour arrives. The steps and states of both, second by second for 100 s."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pair-"))
    server = ways.Server(chosen.program, folder)
    jobs = [{"kind": "decode", "size": 1, "steps": 10**9, "more": ["--seconds", 170]},
            {"kind": "patches", "size": 24, "steps": 10**9, "more": ["--seconds", 120]}]
    rows = []
    first = server.submit(jobs[0])
    time.sleep(25)
    second = server.submit(jobs[1])
    end = time.monotonic() + 100
    while time.monotonic() < end:
        rows.append({"at_s": time.monotonic(), "first": count(server.log(first)), "second": count(server.log(second)),
                     "states": [server.show(number).get("code") for number in (first, second)]})
        time.sleep(1.0)
    events = [server.show(number) for number in (first, second)]
    for number in (first, second):
        server.carpool("cancel", number)
    server.stop()
    return {"rows": rows, "jobs": events}


def count(log):
    found = re.findall(r": (\d+) steps", log)
    return int(found[-1]) if found else 0


def liars(chosen):
    """Jobs of which a fifth tells a third of its memory; what fits by told sizes needs more than the GPU."""
    draw = random.Random(7)
    jobs = []
    for number in range(chosen.count):
        kind = draw.choice(("mlp", "cifar", "recurrent", "pixels"))
        hold = draw.uniform(4.0, 24.0)
        lies = number % 5 == 0
        told = (hold + 4.0) * (1 / 3 if lies else 1.0)
        jobs.append({"kind": kind, "size": 1, "steps": 200, "told_mib": round(told * 1024), "lies": lies,
                     "more": ["--hold", f"{hold:.1f}"]})
    folder = pathlib.Path(tempfile.mkdtemp(prefix="liars-"))
    server = ways.Server(chosen.program, folder)
    rows = server.run(jobs, told=True)
    server.stop()
    ends = [[attempt.get("end") for attempt in row["attempts"]] for row in rows]
    return {"jobs": len(jobs), "lost": sum(not row["ok"] for row in rows),
            "neighbours_out_of_memory": sum(end == "out-of-memory" for all_ends in ends for end in all_ends),
            "over_cap": sum(end == "over-cap" for all_ends in ends for end in all_ends),
            "makespan_s": max(row["end_s"] for row in rows), "rows": [{**job, "ends": end} for job, end in zip(jobs, ends)]}


def cost(chosen):
    """One job of half a minute with and without the server, alternating: steps a second."""
    seconds, rates = 30, {"plain": [], "carpool": []}
    for _ in range(3):
        said = solo("cifar", 2, "--seconds", seconds)
        rates["plain"].append(said["steps"] / said["seconds"])
        server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="cost-")))
        number = server.submit({"kind": "cifar", "size": 2, "steps": 10**9, "more": ["--seconds", seconds]})
        server.wait([number])
        found = SAID.search(server.log(number))
        rates["carpool"].append(int(found[1]) / float(found[2]))
        server.stop()
    return {**rates, "slowdown": 1.0 - statistics.median(rates["carpool"]) / statistics.median(rates["plain"])}
