"""What the server and its library cost a job: a job of the server and one under plain MPS compute in turn, on the same GPU and processors."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import resampling  # noqa: E402
import turns
import watching
import ways

TURN_S = 0.5
START_LIMIT_S = 90.0


def processor_s(pid):
    """Time that the processors spent on a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summary(ratios):
    return {"turns": len(ratios), "mean": statistics.fmean(ratios), "median": statistics.median(ratios), "interval_95": resampling.interval(ratios, statistics.fmean)}


class PlainJob:
    """A job under a plain MPS daemon."""

    def __init__(self, job, environment, folder):
        self.file = folder / "plain.txt"
        with open(self.file, "wb") as out:
            self.process = subprocess.Popen(ways.argv(job), env=environment, stdout=out, stderr=subprocess.STDOUT)

    def log(self):
        return self.file.read_text(errors="replace")

    def await_first_step(self):
        watching.until(lambda: watching.FIRST_STEP.search(self.log()) or self.process.poll() is not None, START_LIMIT_S)
        if not watching.FIRST_STEP.search(self.log()):
            raise RuntimeError(f"the job under plain MPS computes no step: {self.log()[-800:]}")


def one_pair(chosen, number):
    """Ratios of the speeds of turns that follow each other; the share of one processor that the server takes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cost-"))
    file = folder / "turn"
    turns.make(file)

    def job(which):
        return {"kind": chosen.cost_job.split("-")[0], "size": int(chosen.cost_job.split("-")[1]), "steps": 10**9,
                "more": ["--turns", f"{file}@{which}"]}

    server = ways.Server(chosen.program, folder, *chosen.serve_words.split())
    with ways.PlainMps() as environment:
        plain = PlainJob(job(0), environment, folder)
        served = server.submit(job(1))
        plain.await_first_step()
        watching.await_first_step(server, served)
        began, spent = time.monotonic(), processor_s(server.process.pid)
        turns.alternate(file, chosen.cost_seconds, TURN_S, first=number % 2)
        share = (processor_s(server.process.pid) - spent) / (time.monotonic() - began)
        plain.process.wait(60)
        server.wait([served], 60)
        speeds = {"plain": turns.speeds(plain.log()), "carpool": turns.speeds(server.log(served))}
        server.stop()
    ratios = [after / before for before, after in zip(speeds["plain"], speeds["carpool"])]
    if not ratios:
        raise RuntimeError("the jobs had no turns")
    print(f"cost: {statistics.fmean(ratios):.4f} of the speed without the server, {len(ratios)} turns", flush=True)
    return {"speeds": speeds, "ratios": ratios, "server_processor_share": share}


def cost(chosen):
    """Pairs of processes: the place of a process in memory matters by up to a percent."""
    pairs = [one_pair(chosen, number) for number in range(chosen.pairs)]
    found = {"job": chosen.cost_job, "serve_words": chosen.serve_words, "turn_s": TURN_S, "pairs": pairs,
             "ratio": summary([ratio for pair in pairs for ratio in pair["ratios"]]),
             "ratio_by_pair": [statistics.fmean(pair["ratios"]) for pair in pairs],
             "server_processor_share": statistics.fmean(pair["server_processor_share"] for pair in pairs)}
    low, high = found["ratio"]["interval_95"]
    print(f"cost: {found['ratio']['mean']:.4f} ({low:.4f} to {high:.4f}) of the speed without the server; "
          f"server {100 * found['server_processor_share']:.1f} % of a processor", flush=True)
    return found
