"""Shared by the end-to-end tests: the program as a child process, and its input folders.

The environment variable CARPOOL names the program; a test leaves nothing outside its own
temporary folder.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "data" / "kace-v100"
if "CARPOOL" not in os.environ:
    sys.exit("CARPOOL is not set; it names the program under test")
PROGRAM = os.path.abspath(os.environ["CARPOOL"])
# These need a server, or are one.
SERVER_COMMANDS = (
    "serve", "submit", "queue", "show", "logs", "cancel", "hold", "release", "requeue", "wait", "history",
    "explain", "usage", "status", "drain", "prune", "journal", "knowledge", "update", "token", "relay",
)
COMMANDS = (
    "evaluate", "train", "predict", "recommend", "assign", "report", "demo", "dataset", "models", "help", "man", "completion",
    "gpus", "top", "record", "doctor", "measure", "profile", "profiles", "run", "estimate", "estimators",
    "simulate", "policies",
    *SERVER_COMMANDS,
)
TIMEOUT_S = 120

# Folders with a fake libnvidia-ml.so.1: complete, like that of an old driver, and not a library.
FAKE_NVML, FAKE_NVML_OLD, FAKE_NVML_NOT = (
    os.environ.get(name, "") for name in ("FAKE_NVML", "FAKE_NVML_OLD", "FAKE_NVML_NOT"))
# A CUDA program that needs no GPU, and a fake CUPTI.
FAKE_CUDA_PROGRAM = os.environ.get("FAKE_CUDA_PROGRAM", "")
FAKE_CUPTI = {"CARPOOL_CUPTI_LIBRARY": os.environ.get("FAKE_CUPTI", "")}
# A fake libcuda.so.1, and a program that uses it and prints what the library in front of it counted.
FAKE_CUDA, SHIM_PROGRAM = (os.environ.get(name, "") for name in ("FAKE_CUDA", "SHIM_PROGRAM"))
CUDA_CLIENT = os.environ.get("CUDA_CLIENT", "")
FAKE_CLOCK = os.environ.get("FAKE_CLOCK", "")  # for LD_PRELOAD
FAKE_MPS = {"CARPOOL_MPS_CONTROL": os.environ.get("FAKE_MPS_CONTROL", "")}
RECORDING = ROOT / "src" / "gpu" / "tests" / "data" / "two_gpus.jsonl"

# Any two workloads of the bundled data.
PAIR = ("bert-base-cased_batch8-inf", "albert-base-v2_batch8-train")

PROFILES = "workload,exclusive_thr\njob0,10\njob1,20\njob2,30\n"
PAIRS = "w1,w2,thr1,thr2\njob0,job1,5,12\njob0,job2,4,20\njob1,job2,9,18\n"


def environment(home, **more):
    """Without the configuration and the colour settings of the user who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
            if name in os.environ}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
            "LC_ALL": "C.UTF-8", "TERM": "xterm", **more}


def fake_driver(settings):
    """The environment for a fake driver that reports what this file says."""
    return {"LD_LIBRARY_PATH": FAKE_NVML, "CARPOOL_FAKE_NVML": str(settings)}


def read_terminal(person):
    """Everything written to a pseudo-terminal whose writers have closed it."""
    seen = b""
    while True:
        try:
            seen += os.read(person, 65536)
        except OSError:
            return seen.decode()


def strict_json(text):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")
    return json.loads(text, parse_constant=refuse)


def write_dataset(folder, workloads=6, table="pairs", group_size=2):
    """A minimal dataset folder: workload, exclusive_thr, and one table of groups.

    Workload i has demand i + 1 and gets its share of a GPU that yields 1.2 times one job alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"job{i}" for i in range(workloads)]
    alone = [10.0 * (i + 1) for i in range(workloads)]
    lines = ["workload,exclusive_thr"]
    lines += [f"{name},{speed}" for name, speed in zip(names, alone)]
    (folder / "profiles.csv").write_text("\n".join(lines) + "\n")
    groups = [[]]
    for _ in range(group_size):
        groups = [g + [i] for g in groups for i in range(g[-1] + 1 if g else 0, workloads)]
    places = range(1, group_size + 1)
    rows = [",".join([f"w{k}" for k in places] + [f"thr{k}" for k in places])]
    for group in groups:
        total = sum(i + 1 for i in group)
        speeds = [alone[i] * min(1.0, 1.2 * (i + 1) / total) for i in group]
        rows.append(",".join([names[i] for i in group] + [f"{s:.4f}" for s in speeds]))
    (folder / f"{table}.csv").write_text("\n".join(rows) + "\n")
    return folder


def write_profile(path, workload, **metrics):
    """A profile as `carpool profile` writes it, with these metrics."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "format": "carpool-profile", "version": 1, "workload": workload, "command": ["train"],
        "gpu": "Fake H200", "driver": "580.1", "recorded": "2026-11-15T08:30:00Z",
        "startup_seconds": 1, "window_seconds": 3, "steps": [], "metrics": metrics, "stand_ins": {},
        "counters": {}, "ncu": {}, "timeline": {"seconds": [0.2, 0.4], "sm_active": [0.5, None]},
        "notes": []}))
    return path


NCU_EXPORT = (
    '"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum",'
    '"sm__throughput.avg.pct_of_peak_sustained_elapsed"\n'
    '"","","","","us","%"\n'
    '"0","kernel_0","(128, 1, 1)","(100, 2, 1)","3,000.0","80.0"\n'
    '"1","kernel_1","(128, 1, 1)","(101, 2, 1)","1,000.0","40.0"\n')


def write_part_of_bundled(folder, workloads=6):
    """The first workloads of the bundled data with their metrics and pairs: quick to train on."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "dataset.toml", folder)
    profiles = (DATA / "profiles.csv").read_text().splitlines()[: workloads + 1]
    names = {line.split(",")[0] for line in profiles[1:]}
    header, *rows = (DATA / "pairs.csv").read_text().splitlines()
    first, second = (header.split(",").index(name) for name in ("w1", "w2"))
    kept = [row for row in rows if {row.split(",")[first], row.split(",")[second]} <= names]
    (folder / "profiles.csv").write_text("\n".join(profiles) + "\n")
    (folder / "pairs.csv").write_text("\n".join([header, *kept]) + "\n")
    return [line.split(",")[0] for line in profiles[1:]]


def remove_folder(folder):
    """Processes that were told to end may still write there for a moment."""
    end = time.monotonic() + 10
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class CarpoolTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="carpool-e2e-")).resolve()
        self.addCleanup(remove_folder, self.folder)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def carpool(self, *arguments, env=None, **options):
        """Runs it in the temporary folder; the output is text."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "timeout": TIMEOUT_S, **options}
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], cwd=self.folder, text=True, errors="replace",
            env=environment(self.folder, **(env or {})), check=False, **options)
        if done.returncode < 0:
            name = signal.Signals(-done.returncode).name
            self.fail(f"{arguments} died of {name}: {done.stderr}")
        return done

    def succeeds(self, *arguments, **options):
        done = self.carpool(*arguments, **options)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def prints_json(self, *arguments, **options):
        text = self.succeeds(*arguments, "--json", **options)
        try:
            return strict_json(text)
        except ValueError as problem:
            self.fail(f"{arguments}: {problem}\n{text[:500]}")

    def refuses(self, *arguments, says=(), code=2, **options):
        """An error: its exit code, nothing on stdout, one readable message that says all of these."""
        done = self.carpool(*arguments, **options)
        told = f"{arguments}: exit code {done.returncode}, stderr: {done.stderr!r}"
        self.assertEqual(done.returncode, code, told)
        self.assertEqual(done.stdout, "", told)
        self.assertTrue(done.stderr.startswith("carpool: "), told)
        self.assertNotIn("internal error", done.stderr, told)
        self.assertNotRegex(done.stderr, r"\d{40}", told)  # a limit of double, written out
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, done.stderr, told)
        return done.stderr

    def contents(self):
        """Every file of the temporary folder with its content."""
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}
