"""Jobs one at a time: the steps that take a given time and their memory, and what the server's looking costs one of them."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import watching
import ways

KINDS = ("mlp", "cifar", "photos", "encoder", "language", "recurrent", "clicks", "patches", "pixels", "decode")
SIZES = (2, 1)
SAID = re.compile(r": (\d+) steps in ([\d.]+) s after ([\d.]+) s")


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


def solo(kind, size, *words, environment=None):
    """Runs a job without a server; steps, seconds and start-up as it prints them."""
    done = subprocess.run([sys.executable, ways.JOB, kind, "--size", str(size), *map(str, words)], capture_output=True, text=True,
                          env=environment)
    said = SAID.search(done.stdout)
    if not said:
        sys.exit(f"{kind} {size}: {done.stdout[-400:]}{done.stderr[-800:]}")
    return {"steps": int(said[1]), "seconds": float(said[2]), "start_up_s": float(said[3]), "log": done.stdout}


def calibrate(chosen):
    jobs = []
    for size in SIZES:
        for kind in KINDS:
            with Peak() as peak:
                seen = solo(kind, size, "--seconds", 2.5)
            steps = max(round(seen["steps"] / seen["seconds"] * chosen.seconds), 1)
            peak_mib = round(peak.most)
            jobs.append({"kind": kind, "size": size, "steps": steps, "told_mib": round(peak_mib * 1.1) + 64,
                         "start_up_s": seen["start_up_s"], "peak_mib": peak_mib})
            print(jobs[-1], flush=True)
    chosen.jobs.write_text(json.dumps({"seconds": chosen.seconds, "jobs": jobs}, indent=1) + "\n")
    return jobs


def processor_s(pid):
    """Time that the processors spent on a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def with_server(chosen, job):
    """What a job under a server of its own prints, and the share of one processor that the server takes meanwhile."""
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="cost-")), *chosen.serve_words.split())
    began, spent = time.monotonic(), processor_s(server.process.pid)
    number = server.submit(job)
    server.wait([number])
    share = (processor_s(server.process.pid) - spent) / (time.monotonic() - began)
    log = server.log(number)
    server.stop()
    if not SAID.search(log):
        sys.exit(f"job {number}: {log[-800:]}")
    return log, share


def speeds(log):
    """Steps a second of the whole job; of its second half; and from line to line, with the seconds since its first step."""
    said = SAID.search(log)
    began = float(watching.FIRST_STEP.search(log)[1])
    lines = [(int(steps), float(at) - began) for steps, at in watching.STEPS.findall(log)]
    series = [[at, (steps - before) / (at - since)] for (before, since), (steps, at) in zip(lines, lines[1:])]
    return {"whole": int(said[1]) / float(said[2]), "series": series,
            "late": watching.steps_between(log, began + float(said[2]) / 2, float("inf"))}


def spread(ratios):
    return {"least": min(ratios), "median": statistics.median(ratios), "most": max(ratios), "mean": statistics.mean(ratios),
            "deviation_of_mean": statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else None}


def cost(chosen):
    """A job under plain MPS and under the server, in turn, the first of each pair alternating: the ratio of their steps a second.

    Most windows of a job are in its first 20 s; the second half of a longer one tells what it costs later."""
    job = {"kind": "cifar", "size": 2, "steps": 10**9, "more": ["--seconds", chosen.cost_seconds]}
    pairs = []

    def plain():
        with ways.PlainMps() as environment:
            return {"plain": speeds(solo(job["kind"], job["size"], *job["more"], environment=environment)["log"])}

    def watched():
        log, share = with_server(chosen, job)
        return {"carpool": speeds(log), "server_processor_share": share}

    for number in range(chosen.pairs):
        row = {}
        for measured in (plain, watched) if number % 2 == 0 else (watched, plain):
            row.update(measured())
        for part in ("whole", "late"):
            row[f"{part}_ratio"] = row["carpool"][part] / row["plain"][part]
        pairs.append(row)
        print(f"cost: {row['whole_ratio']:.4f} of the speed without the server, {row['late_ratio']:.4f} in the second half", flush=True)
    return {"job": job, "serve_words": chosen.serve_words, "pairs": pairs,
            **{f"{part}_ratio": spread([row[f"{part}_ratio"] for row in pairs]) for part in ("whole", "late")},
            "server_processor_share": statistics.mean(row["server_processor_share"] for row in pairs)}
