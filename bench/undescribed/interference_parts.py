"""Parts about jobs beside each other: a planted bad pair, and how often the predicted intervals hold."""

import itertools
import json
import pathlib
import tempfile
import time

import calibration
import watching
import ways

SOLO_S = 15.0  # that the first job of the pair computes before the other comes
LONG_S = 3600
SOLO_LIMIT_S = 25.0
MEMBERS = 6
GROUP_S = 9.5  # that a group lasts: its speeds are measured 7 to 8 s after it came together
ENOUGH_PREDICTIONS = 150


def share(rate, solo_rate):
    return None if rate is None else rate / solo_rate


def summed(*shares):
    return None if None in shares else sum(shares)


def pair(chosen):
    """`tiny` runs; `long` arrives and starves it. Seconds from the first kernel of `long` to the pause of one of them, and what follows."""
    solo = calibration.solo("long", 8, "--seconds", 5)
    solo_rate = {"long": solo["steps"] / solo["seconds"]}
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="pair-")))
    events = watching.Events(server)
    first = server.submit({"kind": "tiny", "size": 1, "steps": 10**9, "more": ["--seconds", LONG_S]})
    began = watching.await_first_step(server, first)
    time.sleep(SOLO_S)
    second = server.submit({"kind": "long", "size": 8, "steps": 10**9, "more": ["--seconds", LONG_S]})
    kernel = watching.await_first_step(server, second)
    pauses = watching.until(lambda: events.of("paused", first, second), 60.0)
    relief = pauses[0]["at_s"] if pauses else None
    time.sleep(chosen.watch)
    ended = time.time()
    shown = [server.show(number) for number in (first, second)]
    explained = [json.loads(server.carpool("explain", number, "--json")) for number in (first, second)]
    logs = {"tiny": server.log(first), "long": server.log(second)}
    server.stop()
    solo_rate["tiny"] = watching.steps_between(logs["tiny"], began + 2.0, kernel - 3.0) or 1.0
    bad_until = relief or ended
    shares = {phase: {kind: share(watching.steps_between(log, *span), solo_rate[kind]) for kind, log in logs.items()}
              for phase, span in {"before": (kernel, bad_until), "after": (bad_until + 1.0, ended)}.items()}
    if pauses:  # who stands still does nothing
        paused = "tiny" if pauses[0]["job"] == first else "long"
        shares["after"][paused] = shares["after"][paused] or 0.0
    result = {"first": "tiny 1", "newcomer": "long 8", "solo_steps_per_s": solo_rate,
              "relief_s": None if relief is None else relief - kernel, "paused": None if not pauses else "newcomer" if pauses[0]["job"] == second else "first",
              "watched_s": chosen.watch, "pauses": len(events.of("paused", first, second)),
              "resumes": len([row for row in events.of("resumed", first, second) if row["at_s"] < ended]),
              "progress": shares, "sum_before": summed(*shares["before"].values()), "sum_after": summed(*shares["after"].values()),
              "events": [row for row in events.rows if row["event"] in ("started", "paused", "resumed")],
              "shown": shown, "explained": explained}
    print(f"pair: relief {result['relief_s']} s after the first kernel; {result['pauses']} pauses and {result['resumes']} resumes; "
          f"sum of progress {result['sum_before']} before, {result['sum_after']} after", flush=True)
    return result


def named(server, kind, size, seconds):
    """The runs of a kind are one workload, however long they take."""
    return server.submit({"kind": kind, "size": size, "steps": 10**9, "more": ["--seconds", seconds]}, ["--workload", f"{kind}-{size}"])


def learned(server):
    page = json.loads(server.carpool("knowledge", "--json"))
    return page["coverage"], {row["workload"]: row.get("solo_rate") for row in page["workloads"]}


def predicted(chosen):
    """Kinds and sizes of the jobs whose speeds are predicted."""
    return [(kind, int(size)) for kind, _, size in (word.partition("-") for word in chosen.coverage_jobs.split(","))]


def run_solo(server, jobs):
    """Each kind computes while no other does, until the server has learned its solo speed."""
    for kind, size in jobs:
        number = named(server, kind, size, LONG_S)
        watching.await_first_step(server, number)
        watching.until(lambda name=f"{kind}-{size}": learned(server)[1].get(name), SOLO_LIMIT_S, 0.5)
        server.carpool("cancel", number)
        server.wait([number])


def on_gpu(server, number):
    shown = server.show(number)
    return shown.get("used_bytes", 0) > 0 or shown["state"] in ways.ENDED


def coverage(chosen):
    """Solo speeds are learned; then a member of a group is replaced by another one, over and over."""
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="coverage-")))
    jobs = predicted(chosen)
    run_solo(server, jobs)
    _, solo_rates = learned(server)
    print(f"coverage: solo speeds {solo_rates}", flush=True)
    members, rows, start_up_s = [], [], GROUP_S
    kinds = itertools.cycle(jobs)
    end = time.monotonic() + chosen.coverage_seconds
    while time.monotonic() < end:
        submitted = time.monotonic()
        newcomer = named(server, *next(kinds), LONG_S)
        watching.until(lambda number=newcomer: on_gpu(server, number), 30.0)
        start_up_s = min(start_up_s, time.monotonic() - submitted)
        members.append(newcomer)
        if len(members) > MEMBERS:
            server.carpool("cancel", members.pop(0))
        seen, _ = learned(server)
        rows.append({"members": len(members), **seen})
        if seen["all"] >= ENOUGH_PREDICTIONS:
            break
        time.sleep(GROUP_S - start_up_s)  # the next one starts up for the rest of the time
    seen, solo_rates = learned(server)
    server.stop()
    result = {"predictions": seen["all"], "inside": seen["inside"], "covered": seen["inside"] / seen["all"] if seen["all"] else None,
              "jobs": chosen.coverage_jobs, "groups": len(rows), "solo_rates": solo_rates, "before_each_group": rows}
    print(f"coverage: {result['inside']} of {result['predictions']} inside, {len(rows)} groups", flush=True)
    return result
