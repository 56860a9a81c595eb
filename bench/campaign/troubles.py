"""Trouble of the machine while 200 jobs wait: no job fails, and work goes on soon after the trouble ends.

What the server does meanwhile is its own affair: only jobs that ended otherwise than by success, and the seconds until the next job
begins, are counted.
"""

import contextlib
import http.client
import time

import ledger
import parallel
from instance import Died, boot_seconds, until
from trouble_kinds import KINDS, Lasting, RunsReadOnly, Skipped

RESTART_S = 2.0  # RestartSec of packaging/


def begins_after(instance, moment):
    return any(line.what == "begin" and line.at_s > moment for line in ledger.read(instance.ledger))


class ServiceManager:
    """Starts a server again that has ended, as the units in packaging/ do. A server may end with a message where it cannot
    work; it may not crash."""

    def __init__(self, instance):
        self.instance, self.crashes, self.restarts, self.due = instance, [], 0, None

    def look(self):
        code = self.instance.server.poll()
        if code is None:
            return
        if self.due is None:
            self.due = time.monotonic() + RESTART_S
            if code < 0:
                self.crashes.append(f"signal {-code}: {self.instance.said(300)}")
        if time.monotonic() >= self.due:
            self.due, self.restarts = None, self.restarts + 1
            self.instance.launch()


def unended(instance, numbers):
    """None where the server does not answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        active = {job["id"] for job in instance.get("/v1/queue?all=1&limit=10000")["jobs"]}
        return [number for number in numbers if number in active]
    return None


def go_through(trouble, seconds, jobs, patience):
    instance = trouble.instance
    instance.start()
    manager = ServiceManager(instance)
    instance.drain(True)
    numbers = trouble.submit(jobs)
    instance.drain(False)
    # The first jobs have begun: the trouble meets a server at work.
    until(lambda: ledger.read(instance.ledger), 20)
    trouble.begin()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        manager.look()
        time.sleep(min(0.25, max(0.0, end - time.monotonic())))
    begun = sum(line.what == "begin" for line in ledger.read(instance.ledger))
    trouble.end()
    moment = boot_seconds()
    done = {line.job for line in ledger.read(instance.ledger) if line.what == "end"}
    resumed = 0.0
    if len(done) < len(numbers):
        found = until(lambda: manager.look() or begins_after(instance, moment) or unended(instance, numbers) == [], patience)
        resumed = boot_seconds() - moment if found else None
    until(lambda: manager.look() or unended(instance, numbers) == [], patience + jobs * trouble.job_s, pause=0.25)
    views = {number: instance.job(number) for number in numbers}
    expected = {number: ledger.Expected(number) for number in numbers}
    verdict = ledger.judge(ledger.read(instance.ledger), expected, views)
    counts = verdict.counts()
    return {"queued": jobs, "begun_during": begun, "failed": counts["wrongly_failed"], "lost": counts["lost"],
            "stuck": counts["stuck"], "run_twice": counts["twice"], "server_died": len(manager.crashes), "restarts": manager.restarts,
            "resumed_s": None if resumed is None else round(resumed, 2), "words": (manager.crashes + verdict.words())[:4]}


def one(kind, places, seed, seconds, jobs, patience):
    trouble = None
    try:
        trouble = KINDS[kind](places, seed)
        return {"kind": kind, **go_through(trouble, seconds, jobs, patience)}
    except Skipped as why:
        return {"kind": kind, "skipped": str(why)}
    except Died as problem:
        return {"kind": kind, "queued": jobs, "failed": jobs, "server_died": 1, "resumed_s": None, "words": [str(problem)[-400:]]}
    finally:
        if trouble is not None:
            if isinstance(trouble, RunsReadOnly):
                trouble.attribute("-")
            if isinstance(trouble, Lasting) and trouble.over is not None:
                trouble.over.set()
            trouble.instance.close()


def run(settings, progress):
    kinds = settings.trouble_kinds
    at_once = 1 if settings.places.real_gpu else settings.instances
    rows = parallel.each(one, [(kind, settings.places, settings.seed * 100 + i, settings.trouble_seconds, settings.queued,
                                settings.patience) for i, kind in enumerate(kinds)], at_once, progress)
    targets = {"failed": 0, "lost": 0, "stuck": 0, "run_twice": 0, "server_died": 0}
    ran = [row for row in rows if "skipped" not in row]
    total = {name: sum(row.get(name, 0) for row in ran) for name in targets}
    slowest = max((row["resumed_s"] if row["resumed_s"] is not None else float("inf") for row in ran), default=0.0)
    total["slowest_resume_s"] = slowest if slowest != float("inf") else None
    met = all(total[name] <= target for name, target in targets.items()) and slowest <= settings.resume_s
    return {"kinds": len(ran), "seconds_each": settings.trouble_seconds, "queued_each": settings.queued, **total,
            "targets": {**targets, "slowest_resume_s": settings.resume_s}, "met": met, "rows": rows}
