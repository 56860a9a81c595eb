"""bench/shim/on-gpu without a GPU: on a fake driver, with cells that need no PyTorch."""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cli

BENCH = cli.ROOT / "bench" / "shim"
MIB = 2**20
# Of this test alone: locks of GPUs are those of the machine.
MACHINE = os.getpid() % 0xFFFF
UUID = f"GPU-{MACHINE:04x}fafa-fafa-fafa-fafa-fafafafafa00"


def part_module(name):
    """A module of the benchmark."""
    if str(BENCH / "gpu") not in sys.path:
        sys.path.insert(0, str(BENCH / "gpu"))
    return importlib.import_module(name)


class ShimBenchTest(cli.CarpoolTest):
    """Runs parts of the benchmark."""

    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="carpool-e2e-")
        cls.addClassCleanup(made.cleanup)
        cls.counters = str(part_module("counters").build(pathlib.Path(made.name)))

    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir(mode=0o700)
        nvml = self.write("driver.txt", f"name = Fake H200\nuuid = {UUID}\nmemory_total = {1024 * MIB}\n")
        cuda = self.write("cuda.txt", f"memory = 1024\nmachine = {MACHINE}\nkernel.spin = 20\n")
        self.env = {"LD_LIBRARY_PATH": f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}", "CARPOOL_FAKE_NVML": str(nvml), "CARPOOL_FAKE_CUDA": str(cuda),
                    "XDG_RUNTIME_DIR": str(self.folder / "run"), "TMPDIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1",
                    "ON_GPU_COUNTERS": self.counters, "ON_GPU_CELLS": str(BENCH / "gpu" / "fake_cells.py"), **cli.FAKE_MPS}

    def parts(self, *options, code=(0,), **more):
        """The parts of the result file; the exit code is one of `code`."""
        out = self.folder / "result.json"
        done = subprocess.run([sys.executable, BENCH / "on-gpu", "--program", cli.PROGRAM, "--out", out, *options], cwd=self.folder,
                              capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False,
                              env=cli.environment(self.folder, **{**self.env, **more}))
        self.assertIn(done.returncode, code, done.stdout + done.stderr)
        self.assertIn("\n== ", done.stdout)
        result = json.loads(out.read_text())
        self.assertIn("commit", result)
        return result["parts"]
