"""Parts about what must break no job: a fatal fault of a neighbour, and pauses at any moment."""

import json
import pathlib
import random
import tempfile
import threading
import time

import watching
import ways

NEIGHBOURS = (("mlp", 1), ("recurrent", 1), ("cifar", 1))
NEIGHBOUR_S = 30.0  # that each computes in an attempt
AT_A_TIME = 8
FAULT_LIMIT_S = 180.0
PAUSES_LIMIT_S = 180.0
REST_LIMIT_S = 60.0  # for the last jobs, after the pauses


def attempts_of(shown):
    return [{key: attempt.get(key) for key in ("end", "detail", "mechanism", "reason", "exit_code")} for attempt in shown["attempts"]]


def one_fault(chosen, kind):
    """Three jobs compute; a fourth comes and makes a fatal error."""
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="fault-")))
    neighbours = [server.submit({"kind": name, "size": size, "steps": 10**9, "more": ["--seconds", NEIGHBOUR_S]}) for name, size in NEIGHBOURS]
    for number in neighbours:
        watching.await_first_step(server, number)
    # Within seconds: it must not have been paused by then, and its neighbours must still run.
    culprit = server.submit({"kind": "mlp", "size": 1, "steps": 10**9, "more": ["--seconds", 60, "--fault", f"{kind}@60"]})
    server.wait([culprit, *neighbours], FAULT_LIMIT_S)
    shown = {number: server.show(number) for number in (culprit, *neighbours)}
    logs = {number: server.log(number)[-600:] for number in shown}
    server.stop()
    own = attempts_of(shown[culprit])
    others = [attempts_of(shown[number]) for number in neighbours]
    return {"culprit": {"state": shown[culprit]["state"], "end": shown[culprit].get("end"), "reason": shown[culprit].get("reason"), "attempts": own,
                        "ran_alone_next": len(own) > 1 and own[-1]["mechanism"] == "none", "exclusive": shown[culprit].get("exclusive")},
            "neighbours": [{"state": shown[number]["state"], "attempts": attempts, "out_of_memory_count": shown[number].get("out_of_memory_count"),
                            "hit_by_fault": any(one["end"] == "mps-fault" for one in attempts)} for number, attempts in zip(neighbours, others)],
            "neighbours_ended_well": sum(shown[number]["state"] == "succeeded" for number in neighbours), "logs": logs}


def fault(chosen):
    result = {}
    for kind in chosen.faults.split(","):
        result[kind] = one_fault(chosen, kind)
        row = result[kind]
        print(f"fault {kind}: culprit {[one['end'] for one in row['culprit']['attempts']]}, neighbours "
              f"{[[one['end'] for one in neighbour['attempts']] for neighbour in row['neighbours']]}", flush=True)
    return result


class Pauser:
    """Pauses running jobs at random moments, several at a time, until there were enough pauses."""

    def __init__(self, server, wanted):
        self.server, self.wanted, self.draw = server, wanted, random.Random(11)
        self.lock, self.running, self.rows, self.over = threading.Lock(), [], [], False
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(AT_A_TIME)]
        for thread in self.threads:
            thread.start()

    def enough(self):
        return sum(row["stood_still"] for row in self.rows) >= self.wanted

    def take(self):
        """A running job that no other thread pauses now."""
        with self.lock:
            free = [entry for entry in self.running if not entry["taken"]]
            entry = self.draw.choice(free) if free else None
            if entry:
                entry["taken"] = True
            return entry, self.draw.uniform(0.05, 1.0), self.draw.uniform(0.05, 1.5)

    def work(self):
        while not self.over and not self.enough():
            entry, before_s, for_s = self.take()
            time.sleep(before_s)
            if entry is None:
                continue
            folder = watching.RunFolder(self.server, entry["job"])
            if folder.began() and not folder.over():
                self.pause(entry, folder, for_s)
            entry["taken"] = False

    def pause(self, entry, folder, for_s):
        began = time.time()
        folder.pause()
        still = watching.until(folder.stands_still, for_s, 0.01)
        time.sleep(max(for_s - (time.time() - began), 0.0))
        over = folder.over()
        folder.resume()
        self.rows.append({"job": entry["job"], "at_s": began, "for_s": for_s, "stood_still": bool(still) and not over})

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join()


def pauses(chosen):
    """Jobs are paused by the file and the signal that the server uses; the server's policy is not asked."""
    known = json.loads(chosen.jobs.read_text())["jobs"][:AT_A_TIME]
    server = ways.Server(chosen.program, pathlib.Path(tempfile.mkdtemp(prefix="pauses-")))
    pauser = Pauser(server, chosen.pauses)
    numbers, end = [], time.monotonic() + PAUSES_LIMIT_S
    while not pauser.enough() and time.monotonic() < end:
        alive = set(server.active())
        pauser.running = [entry for entry in pauser.running if entry["job"] in alive]
        while len(pauser.running) < AT_A_TIME and not pauser.enough():
            job = known[len(numbers) % len(known)]
            numbers.append(server.submit(job, ["--mem", f"{job['told_mib']}M"]))
            pauser.running = [*pauser.running, {"job": numbers[-1], "taken": False}]
        time.sleep(0.2)
    pauser.stop()
    server.wait(numbers, REST_LIMIT_S)
    shown = [server.show(number) for number in numbers]
    first_steps = {number: watching.first_step_s(server, number) for number in numbers}
    server.stop()
    counted = [row for row in pauser.rows if row["stood_still"]]
    in_start_up = sum(first_steps[row["job"]] is None or row["at_s"] < first_steps[row["job"]] for row in counted)
    bad = [one for one in shown if one["state"] != "succeeded" or len(one["attempts"]) != 1]
    result = {"how": "the pause file of the attempt and a signal to its supervisor, as the server writes them; the moments are random, not the policy's",
              "pauses": len(counted), "in_start_up": in_start_up, "jobs": len(numbers), "jobs_that_failed_or_restarted": len(bad),
              "most_of_one_job": max((sum(row["job"] == number for row in counted) for number in numbers), default=0),
              "ends": [[attempt.get("end") for attempt in one["attempts"]] for one in shown],
              "failed": [{"job": one["id"], "reason": one.get("reason"), "attempts": attempts_of(one)} for one in bad], "rows": pauser.rows}
    print(f"pauses: {len(counted)} ({in_start_up} in start-up) of {len(numbers)} jobs, {len(bad)} failed or restarted", flush=True)
    return result
