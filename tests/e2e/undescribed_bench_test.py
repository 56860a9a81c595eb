#!/usr/bin/env python3
"""The parts of bench/undescribed run without a GPU: a stand-in for its jobs, on a fake driver and a fake MPS."""

import json
import subprocess
import sys
import unittest

import cli
import server

BENCH = cli.ROOT / "bench" / "undescribed"
GPU_BYTES = 139 << 30


class UndescribedBench(server.ServerTest):
    def run_parts(self, *options, speed=20, **more):
        # gpm.2: SM activity in percent.
        self.write("nvml", f"gpus = 1\nmemory_total = {GPU_BYTES}\nmemory_used = 0\ngpm.2 = 15\nprocesses =\n")
        out = self.folder / "result.json"
        done = subprocess.run(
            [sys.executable, BENCH / "run", "--program", cli.PROGRAM, "--out", out, *options], cwd=self.folder, capture_output=True, text=True,
            timeout=cli.TIMEOUT_S, check=False,
            env=cli.environment(self.folder, **self.surroundings(
                UNDESCRIBED_JOB=str(BENCH / "stand_in.py"), UNDESCRIBED_FAKE_NVML=str(self.settings), UNDESCRIBED_SPEED=str(speed),
                TMPDIR=str(self.folder), PYTHONDONTWRITEBYTECODE="1", **more)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(out.read_text())

    def test_jobs_that_lie_about_memory_cost_nobody(self):
        found = self.run_parts("--parts", "liars", "--liars", "10")["liars"]
        self.assertEqual((found["jobs"], found["lost"], found["neighbours_out_of_memory"]), (10, 0, 0), found)
        self.assertEqual(found["over_cap"], {"honest": 0, "liar": 2, "grows": 0}, found)

    def test_a_bad_pair_is_relieved_by_pausing_the_newcomer(self):
        found = self.run_parts("--parts", "pair", "--watch", "2", speed=1)["pair"]
        self.assertEqual((found["paused"], found["pauses"], found["resumes"]), ("newcomer", 1, 0), found)
        self.assertGreater(found["relief_s"], 0.0)
        self.assertLess(found["progress"]["before"]["tiny"], 0.5)
        self.assertNotIn("env", found["shown"][0])

    def test_pauses_break_no_job(self):
        found = self.run_parts("--parts", "pauses", "--pauses", "4")["pauses"]
        self.assertGreaterEqual(found["pauses"], 4)
        self.assertEqual(found["jobs_that_failed_or_restarted"], 0, found)

    def test_the_cost_is_that_of_turns_of_two_jobs(self):
        found = self.run_parts("--parts", "cost", "--pairs", "1", "--cost-seconds", "3", speed=1, CUDA_VISIBLE_DEVICES="0")["cost"]
        self.assertGreaterEqual(found["ratio"]["turns"], 2, found)
        self.assertAlmostEqual(found["ratio"]["mean"], 1.0, delta=0.5)
        low, high = found["ratio"]["interval_95"]
        self.assertLessEqual(low, high)

    def test_an_unknown_part_is_refused_with_the_known_ones(self):
        done = subprocess.run([sys.executable, BENCH / "run", "--parts", "pear"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such part: pear; known are queue, calibrate, pair", done.stderr)


if __name__ == "__main__":
    unittest.main()
