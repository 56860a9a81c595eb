#!/usr/bin/env python3
"""The short form of bench/campaign: kills, trouble of the machine, hostile requests, damaged files, a clock that jumps, users."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import cli

SECTIONS = ("kills", "troubles", "hostile", "damage", "clock", "users")
# Jobs, servers and requests of every section end within a minute on two loaded cores; only a failure takes longer.
TIMEOUT_S = 280


class Campaign(unittest.TestCase):
    def test_no_job_is_lost_and_nobody_is_harmed(self):
        with tempfile.TemporaryDirectory(prefix="cc-") as folder:
            os.chmod(folder, 0o711)  # servers of other users run below it
            result = pathlib.Path(folder) / "result.json"
            fakes = pathlib.Path(folder) / "fakes"
            fakes.mkdir(mode=0o755)
            (fakes / "libnvidia-ml.so.1").symlink_to(pathlib.Path(cli.FAKE_NVML) / "libnvidia-ml.so.1")
            (fakes / "nvidia-cuda-mps-control").symlink_to(cli.FAKE_MPS["CARPOOL_MPS_CONTROL"])
            if clock := os.environ.get("FAKE_CLOCK"):
                (fakes / "fake_clock.so").symlink_to(clock)
            done = subprocess.run(
                [sys.executable, cli.ROOT / "bench/campaign/run", "--quick", "--program", cli.PROGRAM, "--fakes", fakes,
                 "--scratch", folder, "--seed", os.environ.get("CARPOOL_CAMPAIGN_SEED", "1"), "--out", result],
                check=False, text=True, capture_output=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
            sections = json.loads(result.read_text())["sections"]
        self.assertEqual(set(sections), set(SECTIONS))
        self.assertGreaterEqual(sections["kills"]["kills"], 40)
        if os.geteuid() == 0:
            self.assertEqual([name for name, section in sections.items() if "skipped" in section], [])


if __name__ == "__main__":
    unittest.main()
