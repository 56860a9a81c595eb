#!/usr/bin/env python3
"""What ./start shows on a machine without a GPU."""

import os
import pathlib
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/demonstration.sh"


class Demonstration(unittest.TestCase):
    def test_nine_jobs_run_on_simulated_gpus(self):
        environment = {name: value for name, value in os.environ.items() if name != "CARPOOL_SOCKET"}
        done = subprocess.run([SCRIPT, os.environ["CARPOOL"]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("$ carpool queue", "$ carpool explain", "$ carpool history", "resnet50", "two-gpus", "succeeded"):
            self.assertIn(text, done.stdout)


if __name__ == "__main__":
    unittest.main()
