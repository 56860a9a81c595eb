"""SIGKILL and SIGSTOP for every kind of process while jobs are submitted, start, are cancelled and end.

Rules that the server documents are respected, so that every failure is wrong: a job that lost its supervisor more often than
it may (once, or as often as it has retries), or whose own first process was killed, fails by right. Such kills are counted
for each job and not exceeded. Supervisor and reaper of one attempt are not both killed.
"""

import collections
import contextlib
import random
import signal
import time

import clients
import faults
import ledger
import namespace
import parallel
from instance import Died, Instance, ROOT, until

TARGETS = {"lost": 0, "run_twice": 0, "stuck": 0, "wrongly_failed": 0, "left_running": 0, "server_died": 0}


class Killer:
    def __init__(self, instance, staff, chance):
        self.instance, self.staff, self.chance = instance, staff, chance
        self.processes, self.stops = faults.Processes(instance), faults.Stops()
        self.done = collections.Counter()
        self.died = []
        self.without_reaper = set()  # attempts
        self.for_ever = set()  # supervisors that stay stopped; their jobs are cancelled

    def restart(self):
        for _ in range(3):
            try:
                self.instance.start()
                return
            except Died as problem:
                self.died.append(str(problem)[-500:])
                self.instance.kill()
        raise Died(self.died[-1])

    def kill_server(self, recovering):
        self.instance.kill()
        self.done["server"] += 1
        if recovering:  # the next one, too, while it reads the journal and finds supervisors
            time.sleep(self.chance.random() * 0.1)
            self.instance.launch()
            time.sleep(self.chance.random() * 0.15)
            self.instance.kill()
            self.done["server-recovering"] += 1
        time.sleep(self.chance.random() * 0.2)
        self.restart()

    def stop_server(self):
        seconds = self.chance.random()
        if self.stops.stop(self.instance.server.pid, seconds):
            self.done["server stopped"] += 1
            time.sleep(seconds)
            self.stops.let_go(everything=True)

    def allowed(self, victim):
        """Whether the job keeps its right to succeed. Nothing is known about a job that is not acknowledged yet."""
        if victim.kind not in ("leader", "supervisor"):
            return True
        if victim.kind == "supervisor" and victim.run in self.without_reaper:
            return False  # nothing is left that could find a process with another session and environment
        known = self.staff.expected.get(victim.job)
        return known is not None and (known.failures_left if victim.kind == "leader" else known.losses_left) > 0

    def charge(self, victim):
        if victim.kind == "reaper":
            self.without_reaper.add(victim.run)
            return
        known = self.staff.expected[victim.job]
        if victim.kind == "leader":
            known.failures_left -= 1
        else:
            known.losses_left -= 1

    def kill(self, victim):
        if victim.kind == "supervisor-unclaimed":
            killed = self.processes.kill_unclaimed(victim.pid)
        elif victim.kind == "child":
            killed = self.processes.kill_child(victim.pid)
        else:  # a starter, too, whose supervisor may have begun: the attempt goes on
            killed = faults.send(victim.pid, signal.SIGKILL)
            if killed and victim.run:
                self.charge(victim)
        self.done[victim.kind] += bool(killed)

    def stop_and_cancel(self):
        """A supervisor that never continues does not keep its job from being cancelled."""
        for victim in self.processes.find("supervisor"):
            known = self.staff.expected.get(victim.job)
            if known and known.kind == "long" and known.ends == "succeeded" and len(self.for_ever) < 2:
                if self.processes.stopped(victim.pid):
                    self.for_ever.add(victim.pid)
                    self.done["supervisor stopped for ever"] += 1
                    self.staff.cancel(victim.job)
                return

    def step(self):
        self.stops.let_go()
        if self.instance.server.poll() is not None:
            self.died.append(f"exit code {self.instance.server.returncode}: {self.instance.said(500)}")
            self.restart()
        kind = self.chance.choices(list(faults.KINDS), faults.KINDS.values())[0]
        stopping = self.chance.random() < 0.25
        if kind.startswith("server"):
            return self.stop_server() if stopping else self.kill_server(kind == "server-recovering")
        if self.chance.random() < 0.05:
            return self.stop_and_cancel()
        victims = [v for v in self.processes.find(kind)
                   if v.pid not in self.for_ever and (stopping or self.allowed(v))]
        if not victims:
            return None
        victim = self.chance.choice(victims)
        if stopping:
            self.done[f"{kind} stopped"] += self.stops.stop(victim.pid, self.chance.random() * 1.5)
        else:
            self.kill(victim)
        return None


def left_running(instance):
    """Processes of jobs that live although every job has ended."""
    processes = faults.Processes(instance)
    return until(lambda: not list(processes.others("child")), 10) is None


def one(places, seed, kills, patience, tell=lambda count: None):
    """One instance until it has seen this many kills and stops, then the judgement."""
    chance = random.Random(seed)
    # Every second server belongs to an ordinary user, who may make no cgroups: reapers end what a supervisor leaves.
    uid = namespace.uid_of(30 + seed % 50) if ROOT and seed % 2 and namespace.free_ids(80) else None
    instance = Instance(places, seed, gpus=1 if places.real_gpu else 4, uid=uid)
    began = time.monotonic()
    try:
        instance.start()
        with clients.Clients(instance, random.Random(seed + 1)) as staff:
            killer = Killer(instance, staff, chance)
            while (count := sum(killer.done.values())) < kills and time.monotonic() - began < kills * 3 + 60:
                tell(count)
                time.sleep(chance.random() * 0.15)
                killer.step()
            killer.stops.let_go(everything=True)
        if instance.server.poll() is not None:
            killer.restart()
        staff.finish(patience)
        verdict = ledger.judge(ledger.read(instance.ledger), staff.expected, staff.views(), staff.reported())
        counts = verdict.counts()
        left = 0 if counts["stuck"] else int(left_running(instance))
        return {"kills": sum(killer.done.values()), "by_kind": dict(killer.done), "acknowledged": len(staff.expected),
                "requests": staff.requests, "lost": counts["lost"], "run_twice": counts["twice"], "stuck": counts["stuck"],
                "wrongly_failed": counts["wrongly_failed"], "left_running": left, "server_died": len(killer.died),
                "words": (verdict.words() + killer.died)[:40], "seed": seed}
    finally:
        with contextlib.suppress(NameError):
            for pid in killer.for_ever:
                faults.send(pid, signal.SIGCONT)
        instance.close()


def run(settings, progress):
    instances = 1 if settings.places.real_gpu else min(settings.instances, max(1, settings.kills // 10))
    each = -(-settings.kills // instances)
    rows = parallel.each(one, [(settings.places, settings.seed * 1000 + i, each, settings.patience)
                               for i in range(instances)], instances, progress)
    total = {"kills": 0, "acknowledged": 0, **TARGETS}
    by_kind, words = collections.Counter(), []
    for row in rows:
        for name in total:
            total[name] += row[name]
        by_kind.update(row["by_kind"])
        words += [f"seed {row['seed']}: {line}" for line in row["words"]]
    met = total["kills"] >= settings.kills and all(total[name] <= target for name, target in TARGETS.items())
    return {**total, "by_kind": dict(sorted(by_kind.items())), "instances": instances, "targets": {"kills": settings.kills, **TARGETS},
            "met": met, "words": words}


