"""Clients of one instance: they submit a mix of jobs, cancel, hold, release and requeue, and record what the
server acknowledged. A request without an answer may or may not have had an effect; both are accepted."""

import http.client
import json
import threading
import time

import ledger
from instance import ENDED

FORGIVEN = (OSError, http.client.HTTPException, ValueError)
# Kind of job, with how often each is submitted.
MIX = {"plain": 8, "retried": 8, "array": 2, "children": 4, "long": 4, "stubborn": 2, "held": 2, "requeued": 2,
       "after": 3, "after-failure": 1, "limit": 2, "fails": 1}
LONG_S = 60  # longer than a campaign leaves a job alone: it ends by a request only
MOST_WAITING = 30


class Clients:
    def __init__(self, instance, chance):
        self.instance, self.chance = instance, chance
        self.expected = {}   # number: ledger.Expected, of acknowledged jobs
        self.open = set()    # numbers of jobs not known to have ended
        self.requests = {"submissions": 0, "cancels": 0, "requeues": 0, "holds": 0}
        self.lock = threading.RLock()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def work(self):
        while not self.over.wait(self.chance.random() * 0.12):
            try:
                if len(self.open) < MOST_WAITING:
                    self.submit(self.chance.choices(list(MIX), MIX.values())[0])
                self.act()
                self.look()
            except FORGIVEN:
                continue

    def submit(self, kind):
        short = f"{self.chance.random() * 0.6:.2f}"
        keys, scripts = {}, {"plain": ledger.sleeping(short), "fails": ledger.script(f"sleep {short}", 3)}
        if kind in ("long", "stubborn", "requeued"):
            scripts[kind] = ("trap '' TERM; " if kind == "stubborn" else "") + ledger.beating(LONG_S)
        elif kind == "children":
            scripts[kind] = ledger.with_children(f"{1 + self.chance.random():.2f}")  # long enough to be met
        elif kind == "limit":
            scripts[kind], keys["time_s"] = ledger.beating(LONG_S), 1
        elif kind == "array":
            keys["array"] = f"1-{self.chance.randrange(2, 5)}"
        if kind in ("retried", "children"):
            keys["retries"] = 3
        before = []
        if kind.startswith("after"):
            before = self.send("fails" if kind == "after-failure" else "plain",
                               scripts["fails" if kind == "after-failure" else "plain"], {})
            keys["after"] = before
        numbers = self.send(kind, scripts.get(kind, scripts["plain"]), keys)
        if kind == "held" and numbers:
            self.hold(numbers[0])

    def send(self, kind, script, keys):
        numbers = self.instance.submit(script, name=kind, **keys)
        ends = {"limit": "time-limit", "fails": "failed", "after-failure": "cancelled"}.get(kind, "succeeded")
        retries = keys.get("retries", 0)
        with self.lock:
            self.requests["submissions"] += 1
            for number in numbers:
                self.expected[number] = ledger.Expected(
                    number, kind, ends, 3 if kind == "fails" else None, retries, max(1, retries), retries)
                self.open.add(number)
        return numbers

    def post(self, number, verb):
        """True: acknowledged; False: refused; None: no answer."""
        try:
            status, _ = self.instance.request("POST", f"/v1/jobs/{number}/{verb}", "{}")
            return status == 200
        except FORGIVEN:
            return None

    def hold(self, number):
        self.requests["holds"] += 1
        self.post(number, "hold")
        if self.post(number, "release") is None:  # a job that stays on hold is not stuck
            self.expected[number].kind = "held for ever"

    def cancel(self, number):
        known = self.expected[number]
        self.requests["cancels"] += 1
        done = self.post(number, "cancel")
        if done is not False:
            known.ends = "cancelled" if done else "any"
        return done

    def act(self):
        """Requests for jobs that would run for a long time."""
        with self.lock:
            waiting = [self.expected[number] for number in sorted(self.open)]
        for known in waiting:
            if known.kind == "held for ever" and self.post(known.job, "release") is not None:
                known.kind = "held"
            if known.kind in ("long", "stubborn") and known.ends not in ("cancelled",) and self.chance.random() < 0.15:
                self.cancel(known.job)
            elif known.kind == "requeued" and self.chance.random() < 0.2:
                if known.requeues < 2:
                    known.requeues += 1
                    self.requests["requeues"] += 1
                    self.post(known.job, "requeue")
                elif known.ends != "cancelled":
                    self.cancel(known.job)

    def active(self):
        """Numbers of jobs that have not ended."""
        found, after = set(), 0
        while after is not None:
            page = self.instance.get(f"/v1/queue?all=1&limit=1000&after={after}")
            found |= {job["id"] for job in page["jobs"]}
            after = page.get("next_after")
        return found

    def look(self):
        """Forgets jobs that have ended. One that was acknowledged after the listing is not in it."""
        with self.lock:
            known = set(self.open)
        active = self.active()
        with self.lock:
            self.open -= known - active

    def finish(self, patience):
        """Cancels what would run for a long time and waits until every job has ended, within bounds."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                waiting = sorted(self.active() & set(self.expected))
                if not waiting:
                    return
                for number in waiting:
                    known = self.expected[number]
                    if known.kind == "held for ever":
                        self.post(number, "release")
                    elif known.kind in ("long", "stubborn", "requeued") and known.ends != "cancelled":
                        self.cancel(number)
            except FORGIVEN:
                pass
            time.sleep(0.25)

    def views(self):
        """Every acknowledged job as the server shows it, from its history where it is no longer in memory."""
        views = {number: self.instance.job(number) for number in self.expected}
        missing, before = {number for number, view in views.items() if view is None}, ""
        while missing:
            page = self.instance.get(f"/v1/history?all=1&limit=1000{before}")["jobs"]
            if not page:
                break
            for ended in page:
                if ended["id"] in missing:
                    state = ended["end"] if ended["end"] in ENDED else "failed"
                    views[ended["id"]] = {**ended, "state": state, "exit_code": self.expected[ended["id"]].code}
            missing -= {ended["id"] for ended in page}
            before = f"&before={page[-1]['id']}"
        return views

    def reported(self):
        """(job, attempt) whose supervisor recorded that it exited with 0."""
        found = set()
        for file in (self.instance.state / "runs").glob("*/exit"):
            try:
                if json.loads(file.read_text()).get("code") == 0:
                    job, attempt = file.parent.name.split(".")
                    found.add((int(job), int(attempt)))
            except FORGIVEN:
                continue
        return found
