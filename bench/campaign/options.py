"""What the campaign does, from its command line."""

import argparse
import dataclasses
import os
import pathlib

import attacks
import trouble_kinds
from instance import Places

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = ("kills", "troubles", "hostile", "damage", "clock", "users")


@dataclasses.dataclass(frozen=True)
class Settings:
    places: Places
    sections: tuple
    seed: int
    quick: bool
    instances: int       # servers at the same time
    kills: int
    trouble_kinds: tuple
    trouble_seconds: float
    resume_s: float      # the longest time until work goes on
    queued: int          # jobs that wait when a trouble begins
    hostile_kinds: tuple
    hostile_seconds: float
    answer_s: float      # the slowest answer to those who do nothing wrong
    stop_s: float        # the longest time to stop under attack
    bomb_mib: int
    damages: int
    clock_shim: pathlib.Path | None
    patience: float      # after it a job counts as stuck
    out: pathlib.Path | None


# The short form of ./test: a minute on two loaded cores. Answers are slow there for reasons of the machine.
QUICK = {"kills": 40, "trouble_seconds": 3.0, "resume_s": 20.0, "queued": 24, "hostile_seconds": 2.5, "answer_s": 5.0, "stop_s": 15.0, "bomb_mib": 512, "damages": 20}
LONG = {"kills": 2000, "trouble_seconds": 60.0, "resume_s": 10.0, "queued": 200, "hostile_seconds": 10.0, "answer_s": 1.0, "stop_s": 15.0, "bomb_mib": 3072, "damages": 300}
QUICK_TROUBLES = ("mps-dies", "disk-full", "supervisors-killed")
QUICK_HOSTILE = ("gzip-bomb", "environment-array", "drips", "never-reading")


def first_existing(*paths):
    return next((path for path in paths if path.exists()), paths[0])


def fakes_in(folder):
    """The folder of the fake driver library, the fake MPS control program, the clock: of a build folder or side by side."""
    return (first_existing(folder / "tests/fake_nvml/lib/libnvidia-ml.so.1", folder / "libnvidia-ml.so.1").parent,
            first_existing(folder / "fake_mps/nvidia-cuda-mps-control", folder / "nvidia-cuda-mps-control"),
            first_existing(folder / "tests/fake_clock/fake_clock.so", folder / "fake_clock.so"))


def names(text, known, what):
    chosen = tuple(name for name in text.split(",") if name)
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"campaign: unknown {what}: {', '.join(unknown)}; known: {', '.join(known)}")
    return chosen


def parse(words):
    parser = argparse.ArgumentParser(prog="bench/campaign/run", description="Faults and attacks at real servers, judged by a ledger of the jobs.")
    parser.add_argument("--program", type=pathlib.Path, default=first_existing(ROOT / "build/release/bin/carpool", ROOT / "build/ci/bin/carpool"))
    parser.add_argument("--fakes", type=pathlib.Path, default=ROOT / "build/ci", metavar="DIR",
                        help="build folder, or folder with libnvidia-ml.so.1, nvidia-cuda-mps-control and fake_clock.so")
    parser.add_argument("--real-gpu", action="store_true", help="use the driver of this machine; one server at a time")
    parser.add_argument("--only", default=",".join(SECTIONS), metavar="SECTIONS", help="some of " + ",".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="the short form that ./test runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instances", type=int, default=max(2, (os.cpu_count() or 2) // 2), help="servers at the same time")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--troubles", default="", metavar="KINDS", help="some of " + ",".join(trouble_kinds.KINDS))
    parser.add_argument("--trouble-seconds", type=float)
    parser.add_argument("--queued", type=int, help="jobs that wait when a trouble begins")
    parser.add_argument("--attacks", default="", metavar="KINDS", help="some of " + ",".join(attacks.KINDS))
    parser.add_argument("--hostile-seconds", type=float)
    parser.add_argument("--damages", type=int)
    parser.add_argument("--clock-shim", type=pathlib.Path, metavar="FILE", help="library built from tests/fake_clock")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS", help="after it a job counts as stuck")
    parser.add_argument("--scratch", type=pathlib.Path, metavar="DIR", help="folder for the servers (default: the temporary folder)")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="result as JSON")
    chosen = parser.parse_args(words)
    nvml, mps, clock = fakes_in(chosen.fakes.resolve())
    program = chosen.program.resolve()
    needed = (program,) if chosen.real_gpu else (program, nvml, mps)
    if missing := [str(path) for path in needed if not path.exists()]:
        parser.error(f"not found: {', '.join(missing)}; build with ./test, or name --program and --fakes")
    defaults = QUICK if chosen.quick else LONG
    sizes = {name: getattr(chosen, name, None) if getattr(chosen, name, None) is not None else value for name, value in defaults.items()}
    return Settings(
        places=Places(program, nvml, mps, chosen.real_gpu, chosen.scratch and chosen.scratch.resolve()),
        sections=names(chosen.only, SECTIONS, "section"), seed=chosen.seed, quick=chosen.quick, instances=max(1, chosen.instances),
        trouble_kinds=names(chosen.troubles, trouble_kinds.KINDS, "trouble") or (QUICK_TROUBLES if chosen.quick else tuple(trouble_kinds.KINDS)),
        hostile_kinds=names(chosen.attacks, attacks.KINDS, "attack") or (QUICK_HOSTILE if chosen.quick else tuple(attacks.KINDS)),
        clock_shim=chosen.clock_shim.resolve() if chosen.clock_shim else (clock if clock.exists() else None),
        patience=chosen.patience, out=chosen.out, **sizes)
