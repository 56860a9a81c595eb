"""Damaged journals and run folders: each start shows every acknowledged job with its true state, or refuses with words that name
a file; what `carpool journal repair` cannot bring back it says. Anything else is a silent loss."""

import collections
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import ledger
import parallel
import wounds
from instance import ENDED, Instance, until

FIELDS = ("state", "end", "exit_code", "name", "argv", "cwd", "env", "user", "array_index", "after")
START_S = 30
BAD = ("silent-loss", "silent-change", "no-words", "hung", "crashed")


def build(places, seed, folder):
    """Two state folders with the same jobs: of a server that was killed, and of one that was stopped."""
    instance = Instance(places, seed, gpus=1 if places.real_gpu else 4)
    try:
        instance.start()
        pad = {"PATH": "/usr/bin:/bin", "LEDGER": str(instance.ledger), "PAD": "x" * 600}
        ended = [*instance.submit(ledger.sleeping(0), array="1-12", env=pad, name="well"),
                 *instance.submit(ledger.script("true", 3), array="1-4", env=pad, name="badly")]
        until(lambda: all((instance.job(n) or {}).get("state") in ENDED for n in ended), 60)
        wait = ledger.script('while [ ! -e go ]; do sleep 0.05; done')
        meanwhile = instance.submit(wait, env=pad, name="ends meanwhile") + instance.submit(
            wait.replace("say end 0; exit 0", "say end 3; exit 3"), env=pad, name="fails meanwhile")
        until(lambda: sum(line.what == "begin" and line.job in meanwhile for line in ledger.read(instance.ledger)) == 2, 30)
        instance.drain(True)
        held = instance.submit(ledger.sleeping(0), env=pad, array="1-4", name="held")
        for number in held:
            instance.request("POST", f"/v1/jobs/{number}/hold", "{}")
        # These stay in the queue, however often a server starts.
        waiting = [n for i in range(16) for n in instance.submit(ledger.sleeping(0), env=pad, name=f"waiting {i}", after=held[:1])]
        waiting += instance.submit(ledger.sleeping(0), env=pad, array="1-5", name="array", after=held[1:2])
        for number in waiting[:3]:
            instance.request("POST", f"/v1/jobs/{number}/cancel", "{}")
        instance.server.send_signal(signal.SIGSTOP)  # a copy of a killed server, and then the stopped one
        (instance.work / "go").touch()
        runs = instance.state / "runs"
        until(lambda: all((runs / f"{n}.1" / "exit").exists() for n in meanwhile), 30)
        shutil.copytree(instance.state, folder / "killed")
        instance.server.send_signal(signal.SIGCONT)
        until(lambda: all((instance.job(n) or {}).get("state") in ENDED for n in meanwhile), 30)
        instance.server.send_signal(signal.SIGTERM)
        instance.server.wait(30)
        shutil.copytree(instance.state, folder / "stopped")
        return [*ended, *meanwhile, *held, *waiting], meanwhile
    finally:
        instance.close()


def views(instance, numbers):
    found = {}
    for number in numbers:
        job = instance.job(number)
        found[number] = job and {field: job.get(field) for field in FIELDS} | {"reason": job.get("reason", "")}
    return found


def differences(truth, now, excused=()):
    """(missing jobs, changed jobs). A job whose run folder was damaged may have failed with words about it."""
    missing = [number for number in truth if now.get(number) is None]
    changed = []
    for number, true in truth.items():
        job = now.get(number)
        wrong = job and [field for field in FIELDS if job[field] != true[field]]
        if wrong and number in excused and job["state"] == "failed" and \
                re.search(r"damaged|not written by Carpool|cannot be read|unreadable", job["reason"]):
            continue
        if wrong:
            changed.append((number, {field: (true[field], job[field]) for field in wrong}))
    return missing, changed


def start(instance):
    """True: it answers; False: it refused; None: neither in time."""
    instance.log_file.write_text("")
    instance.launch()
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if instance.server.poll() is not None:
            return False
        try:
            if instance.request("GET", "/healthz", timeout=5)[0] == 200:
                return True
        except OSError:
            time.sleep(0.01)
    return None


def refused_with_words(instance):
    return instance.server.returncode > 0 and re.search(r"jobs\.sqlite|/runs/|/state\b", instance.said())


def repair(instance):
    """What `carpool journal repair` reports; None where there is no such command."""
    program = instance.places.program
    if subprocess.run([program, "journal", "--help"], check=False, capture_output=True).returncode != 0:
        return None
    done = subprocess.run([program, "journal", "repair", "--json", "--state", instance.state], check=False, capture_output=True,
                          text=True, env=instance.environment(), timeout=60, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"said": done.stdout + done.stderr}


def told(missing, changed, report):
    """Whether a repair reported every job that is not there any more, and lost events where jobs are not as they were."""
    every = all(any(first <= number <= last for first, last in report.get("lost_jobs", [])) for number in missing)
    explained = report.get("lost_events") or set(changed) <= set(report.get("incomplete_jobs", []))
    return every and (not changed or bool(explained))


def examine(instance, truth, excused):
    """(outcome, words) of a start on damaged files."""
    answered = start(instance)
    if answered is None:
        return "hung", f"no answer and no refusal in {START_S} s"
    if answered:
        missing, changed = differences(truth, views(instance, truth), excused)
        if missing:
            return "silent-loss", f"jobs {missing[:10]} are missing"
        return ("silent-change", str(changed[:2])) if changed else ("true", "")
    if instance.server.returncode < 0:
        return "crashed", f"signal {-instance.server.returncode}"
    if not refused_with_words(instance):
        return "no-words", instance.said(300)
    report = repair(instance)
    if report is None:
        return "refused", instance.said(300)
    if not start(instance):
        return ("refused", str(report)[:300]) if refused_with_words(instance) else ("no-words", instance.said(300))
    missing, changed = differences(truth, views(instance, truth), excused)
    numbers = [number for number, _ in changed]
    if not missing and not changed:
        return "repaired", ""
    if told(missing, numbers, report):
        return "repaired with losses told", ""
    return "silent-loss", f"after the repair jobs {missing[:10]} are missing, {numbers[:10]} changed: {str(report)[:200]}"


def some(places, seed, numbers, base, truths, meanwhile):
    """Outcomes of a share of the damages, on one instance."""
    instance = Instance(places, seed, gpus=1 if places.real_gpu else 4)
    rows = []
    try:
        for number in numbers:
            chance, kind = random.Random(seed * 100_000 + number), wounds.KINDS[number % len(wounds.KINDS)]
            shutil.rmtree(instance.state, ignore_errors=True)
            excused = ()
            if kind in wounds.RECORDS:
                which, excused = "killed", (chance.choice(meanwhile),)
                shutil.copytree(base / which, instance.state)
                words = wounds.damage_record(instance.state, chance, f"{excused[0]}.1", wounds.RECORDS[kind])
            else:
                wound, log = wounds.JOURNAL[kind]
                which = "killed" if log else "stopped"
                shutil.copytree(base / which, instance.state)
                words = wound(instance.state, chance)
            outcome, why = examine(instance, truths[which], excused)
            instance.end_processes()
            rows.append((kind, outcome, f"{number}: {kind}: {words}: {outcome}: {why[:300]}"))
        return rows
    finally:
        instance.close()


def truth_of(places, seed, folder, numbers):
    """How the server shows the undamaged jobs."""
    instance = Instance(places, seed, gpus=1 if places.real_gpu else 4)
    try:
        shutil.copytree(folder, instance.state)
        instance.start()
        until(lambda: "running" not in {job["state"] for job in instance.get("/v1/queue?all=1")["jobs"]}, 20)
        return views(instance, numbers)
    finally:
        instance.close()


def run(settings, progress):
    base = pathlib.Path(tempfile.mkdtemp(prefix="cc-base-", dir=settings.places.scratch))
    seed = settings.seed * 100
    try:
        progress.tell("building the state to damage")
        numbers, meanwhile = build(settings.places, seed + 98, base)
        truths = {name: truth_of(settings.places, seed + 99, base / name, numbers) for name in ("killed", "stopped")}
        at_once = 1 if settings.places.real_gpu else settings.instances
        shares = [list(range(i, settings.damages, at_once * 4)) for i in range(at_once * 4)]
        parts = parallel.each(some, [(settings.places, seed + i, share, base, truths, meanwhile)
                                     for i, share in enumerate(shares) if share], at_once, progress)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    rows = [row for part in parts for row in part]
    counts = collections.Counter(outcome for _, outcome, _ in rows)
    by_kind = {kind: dict(collections.Counter(o for k, o, _ in rows if k == kind)) for kind in wounds.KINDS}
    return {"damages": len(rows), "jobs": len(numbers), **{name.replace("-", "_").replace(" ", "_"): count for name, count in sorted(counts.items())},
            **{name.replace("-", "_"): counts[name] for name in BAD}, "by_kind": by_kind,
            "targets": {"damages": settings.damages, **{name.replace("-", "_"): 0 for name in BAD}},
            "met": not any(counts[name] for name in BAD), "words": [words for _, outcome, words in rows if outcome in BAD][:30]}
