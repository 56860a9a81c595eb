"""Jobs one at a time: the steps that take a given time, and their memory."""

import json
import re
import subprocess
import sys
import threading
import time

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
