#!/usr/bin/env python3
"""tests/gpu/observed_job.py, on the fake driver: it passes where everything is told, and fails where something is not."""

import json
import pathlib
import subprocess
import sys
import time
import unittest

import cli

SCRIPT = cli.ROOT / "tests" / "gpu" / "observed_job.py"
MIB = 64
POWER_W = 400


def process_of(folder):
    """PID of the program that computes, once it runs."""
    for place in pathlib.Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            variables = (place / "environ").read_bytes()
        except OSError:
            continue
        # The supervisor of the job has the program among its arguments too, and another environment.
        if b"compute" in words and f"\0HOME={folder}\0".encode() in b"\0" + variables and b"CARPOOL_RUN_ID=" in variables:
            return int(place.name)
    return None


class ObservedJob(cli.CarpoolTest):
    def gpu(self, process, **more):
        """Settings of a driver that sees the process compute, and whose energy grows with time."""
        lines = {"gpus": 1, "power_mw": 1000 * POWER_W, "energy_mj": int(1000 * POWER_W * time.monotonic()),
                 "memory_used": 1 << 30, "processes": f"{process}:{(MIB + 500) << 20}" if process else "",
                 "sm_of": f"{process}:90" if process else "", "gpm.2": 88, **more}
        text = "".join(f"{key} = {value}\n" for key, value in lines.items())
        self.write("nvml.new", text).replace(self.folder / "nvml")

    def observed(self, *options, **gpu):
        self.gpu(None)
        environment = cli.environment(
            self.folder, **cli.FAKE_MPS, CARPOOL_FAKE_NVML=str(self.folder / "nvml"),
            LD_LIBRARY_PATH=f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}")
        with open(self.folder / "said", "w+", encoding="utf-8") as said:
            script = subprocess.Popen(
                [sys.executable, SCRIPT, "--carpool", cli.PROGRAM, "--mib", str(MIB), "--out", self.folder / "rows.json",
                 *options], env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
            self.addCleanup(script.wait)
            self.addCleanup(script.kill)
            end = time.monotonic() + cli.TIMEOUT_S
            while script.poll() is None and time.monotonic() < end:
                faulty = "makes a memory fault" in (self.folder / "said").read_text()
                self.gpu(process_of(self.folder), xids="31" if faulty else "", **gpu)
                time.sleep(0.1)
            said.seek(0)
            text = said.read()
        self.assertIsNotNone(script.poll(), text)
        return script.returncode, text

    def rows(self):
        return json.loads((self.folder / "rows.json").read_text())["checks"]

    def test_holds_where_the_driver_tells_everything(self):
        code, text = self.observed("--xid", "--no-mps")
        self.assertEqual(code, 0, text)
        self.assertIn("job 1 on GPU 0, time-slicing", text)
        self.assertEqual({row["where"] for row in self.rows()}, {"/metrics", "gpus --json", "top --json", "usage --json"})
        self.assertRegex(text, r"ok   last XID +/metrics +31")

    def test_fails_where_something_is_not_told_or_cannot_be(self):
        code, text = self.observed("--no-mps", **{
            "fail.nvmlDeviceGetProcessUtilization": 3, "temperature": 200, "fail.nvmlDeviceGetTotalEccErrors": 3})
        self.assertEqual(code, 1, text)
        failed = {(row["quantity"], row["where"]) for row in self.rows() if not row["holds"]}
        screens = ("/metrics", "gpus --json", "top --json")
        self.assertEqual(failed, {("temperature", where) for where in screens} |
                         {("SM active of the job", where) for where in screens} |
                         {("SM active of the process", where) for where in screens[1:]} |
                         {("ECC errors, corrected", "/metrics"), ("ECC errors, uncorrected", "/metrics")}, text)


if __name__ == "__main__":
    unittest.main()
