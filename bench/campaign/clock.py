"""The wall clock jumps by hours while jobs with time limits run: none is killed early, none lives past its limit.

A library that is loaded before the program (tests/fake_clock) moves what the program reads as wall time; the boot clock stays,
as on a machine whose administrator sets the time. The jobs' ledger uses the boot clock.
"""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import time

import ledger
import parallel
from instance import ENDED, Died, Instance, until

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "fake_clock" / "fake_clock.cpp"
SHORT_S, GRACE_S, SLACK_S, WELL_S = 3.0, 2.0, 6.0, 5.0
# Seconds of the jump, whether the server is killed and started again after it.
CASES = ((7200, False), (-7200, False), (7200, True), (-7200, True))


def shim(folder, given):
    """The library; None where it is neither given nor can be compiled."""
    if given:
        return given
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not SOURCE.exists():
        return None
    library = folder / "fake_clock.so"
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", "-O1", "-static-libstdc++", "-o", library, SOURCE], check=True)
    return library


def life(lines, job):
    """Seconds from the beginning of the latest attempt to its last line."""
    own = [line for line in lines if line.job == job]
    last = max(line.attempt for line in own)
    times = [line.at_s for line in own if line.attempt == last]
    return times[-1] - times[0]


def findings(instance, short, stubborn, well):
    lines = ledger.read(instance.ledger)
    early, late, failed = [], [], []
    for job, limit in ((short, SHORT_S), (stubborn, SHORT_S + GRACE_S)):
        view, lived = instance.job(job), life(lines, job)
        if view["state"] not in ENDED or lived > limit + SLACK_S:
            late.append(f"job {job} with a limit of {SHORT_S} s lived {lived:.1f} s: {view['state']}")
        if view.get("end") != "time-limit" and view["state"] in ENDED:
            failed.append(f"job {job}: {view.get('end')}: {view.get('reason')}")
        if lived < SHORT_S - 1.0:
            early.append(f"job {job} with a limit of {SHORT_S} s was ended after {lived:.1f} s")
    view = instance.job(well)
    if view["state"] != "succeeded":
        (early if view.get("end") == "time-limit" else failed).append(
            f"job {well}, which takes {WELL_S} s of 3600 s: {view['state']}: {view.get('reason')}")
    return {"killed_early": len(early), "lived_past_limit": len(late), "wrongly_failed": len(failed), "words": early + late + failed}


def one(places, seed, jump, restart, library):
    instance = Instance(places, seed, gpus=1 if places.real_gpu else 4)
    offset = instance.folder / "offset"
    offset.write_text("0\n")
    instance.variables.update({"LD_PRELOAD": str(library), "CARPOOL_FAKE_CLOCK": str(offset)})
    name = f"{jump:+d} s{', with a restart' if restart else ''}"
    try:
        instance.start()
        short = instance.submit(ledger.beating(60), time_s=SHORT_S)[0]
        stubborn = instance.submit("trap '' TERM; " + ledger.beating(60), time_s=SHORT_S)[0]
        well = instance.submit(ledger.beating(WELL_S), time_s=3600)[0]
        until(lambda: len({line.job for line in ledger.read(instance.ledger)}) == 3, 20)
        time.sleep(0.5)
        offset.write_text(f"{jump}\n")
        if restart:
            instance.kill()
            instance.start()
        until(lambda: all(instance.job(job)["state"] in ENDED for job in (short, stubborn, well)), SHORT_S + GRACE_S + SLACK_S + 12, 0.1)
        return {"case": name, **findings(instance, short, stubborn, well)}
    except Died as problem:
        return {"case": name, "killed_early": 0, "lived_past_limit": 0, "wrongly_failed": 3, "words": [str(problem)[-400:]]}
    finally:
        instance.close()


def run(settings, progress):
    targets = {"killed_early": 0, "lived_past_limit": 0, "wrongly_failed": 0}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cc-", dir=settings.places.scratch)))
        library = shim(folder, settings.clock_shim)
        if library is None:
            return {"skipped": "no C++ compiler and no --clock-shim", "targets": targets, "met": True}
        cases = CASES[1:3] if settings.quick else CASES
        rows = parallel.each(one, [(settings.places, settings.seed * 100 + i, jump, restart, library)
                                   for i, (jump, restart) in enumerate(cases)], 1 if settings.places.real_gpu else len(cases), progress)
    total = {name: sum(row[name] for row in rows) for name in targets}
    return {"cases": len(rows), **total, "targets": targets, "met": not any(total.values()), "rows": rows}
