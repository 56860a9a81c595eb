"""How long ten jobs need until their first step when they start at once, by the OpenMP threads of each."""

import json
import os
import re
import statistics
import subprocess
import time

import ways

SET_UP = re.compile(r"after ([0-9.]+) s of start-up")


def at_once(jobs, environment):
    """Start-up of each job, and the processor time of all."""
    began, before = time.monotonic(), os.times()
    running = [subprocess.Popen(ways.argv({**job, "steps": 3}), env=environment, stdout=subprocess.PIPE, text=True) for job in jobs]
    said = [process.communicate()[0] for process in running]
    wall, after = time.monotonic() - began, os.times()
    start_up = [float(SET_UP.search(text).group(1)) for text in said]
    return {"all_ended_s": wall, "mean_start_up_s": statistics.mean(start_up), "start_up_s": start_up,
            "processor_s": after.children_user - before.children_user + after.children_system - before.children_system}


def starts(chosen):
    jobs = json.loads(chosen.jobs.read_text())["jobs"]
    rows = []
    threads = max(1, (os.cpu_count() or 1) // 4)
    with ways.PlainMps() as environment:
        for turn in range(2):
            for each in ([None, threads] if turn == 0 else [threads, None]):
                changed = dict(environment) if each is None else {**environment, "OMP_NUM_THREADS": str(each)}
                row = {"openmp_threads": each, **at_once(jobs[:chosen.count], changed)}
                rows.append(row)
                print(f"{chosen.count} jobs at once, OpenMP threads {each or 'by default'}: mean start-up {row['mean_start_up_s']:.1f} s, "
                      f"all ended after {row['all_ended_s']:.1f} s, {row['processor_s']:.0f} s of processors", flush=True)
    return rows
