"""Jobs that lie about their memory, and jobs that grow late."""

import pathlib
import random
import statistics
import tempfile

import ways

GPU_GIB = 139.0
CONTEXT_GIB = 2.0  # of a light job besides what it holds
LIE = 3.0
LIMIT_S = 420.0


def memory_jobs(count):
    """A fifth tells a third of its memory; five others grow as they told, when their reservation has shrunk. No two are of one workload."""
    draw = random.Random(7)
    jobs = []
    for number in range(count):
        kind = draw.choice(("mlp", "recurrent"))
        job = {"kind": kind, "size": 1, "role": "honest", "steps": draw.randrange(150, 300)}
        if number % 5 == 2:
            true_gib = draw.uniform(57.0, 63.0)
            job.update(role="liar", told_gib=true_gib / LIE, hold_gib=true_gib - CONTEXT_GIB)
        elif number % 10 == 8 and number < 50:
            true_gib = draw.uniform(12.0, 13.0)
            job.update(role="grows", kind="mlp", told_gib=true_gib, hold_gib=4.0 + draw.uniform(0.0, 1.0), steps=1700)
            job["grow_gib"] = true_gib - CONTEXT_GIB - job["hold_gib"]
        else:
            true_gib = draw.uniform(5.5, 8.0)
            job.update(told_gib=true_gib, hold_gib=true_gib - CONTEXT_GIB)
        job.update(true_gib=true_gib, told_mib=round(job["told_gib"] * 1024), more=["--hold", f"{job['hold_gib']:.3f}"])
        if job["role"] == "grows":
            job["more"] += ["--grow", f"{job['grow_gib']:.3f}@1500"]
        jobs.append(job)
    return jobs


def overload(jobs):
    """True needs of the jobs that fit together by told sizes, relative to the GPU: from the head of the queue, and the least and the mean over all places in it."""
    sums = []
    for begin in range(len(jobs)):
        told = true = 0.0
        for job in jobs[begin:]:
            if told + job["told_gib"] > GPU_GIB:
                sums.append(true / GPU_GIB)
                break
            told, true = told + job["told_gib"], true + job["true_gib"]
    return {"first": sums[0], "least": min(sums), "mean": statistics.mean(sums)} if sums else {}


def liars(chosen):
    jobs = memory_jobs(chosen.liars)
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="liars-")))
    rows = server.run(jobs, told=True, limit_s=LIMIT_S)
    server.stop()
    table = []
    for job, row in zip(jobs, rows):
        ends = [attempt.get("end") for attempt in row["attempts"]]
        table.append({**{key: job[key] for key in ("kind", "role", "told_gib", "true_gib")}, "ok": row["ok"], "end_s": row["end_s"], "ends": ends,
                      "pauses": sum(attempt.get("pauses", 0) for attempt in row["attempts"]), "attempts": row["attempts"], "said": row["said"]})

    def counted(end, *roles):
        return sum(one["ends"].count(end) for one in table if one["role"] in roles)

    result = {"jobs": len(jobs), "true_needs_of_what_fits_by_told": overload(jobs), "lost": sum(not one["ok"] for one in table),
              "neighbours_out_of_memory": counted("out-of-memory", "honest"), "liars_out_of_memory": counted("out-of-memory", "liar"),
              "growing_out_of_memory": counted("out-of-memory", "grows"), "over_cap": {role: counted("over-cap", role) for role in ("honest", "liar", "grows")},
              "pauses_of_growing": sum(one["pauses"] for one in table if one["role"] == "grows"),
              "makespan_s": max(one["end_s"] for one in table), "rows": table}
    print(f"liars: {result['lost']} of {len(jobs)} lost, {result['neighbours_out_of_memory']} neighbours out of memory, over cap {result['over_cap']}, "
          f"{result['makespan_s']:.0f} s, overload {result['true_needs_of_what_fits_by_told']}", flush=True)
    return result
