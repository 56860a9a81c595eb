#!/usr/bin/env python3
"""The parts of bench/shim/on-gpu that take timings, without a GPU: that they come to an end and say what they have timed."""

import pathlib
import shutil
import unittest

import shim_bench

NVCC = shutil.which("nvcc") or (pathlib.Path("/usr/local/cuda/bin/nvcc").exists() and "nvcc")


class ShimTimings(shim_bench.ShimBenchTest):
    def test_timings_are_taken_in_turn(self):
        # Whether a target is met depends on the load of this machine.
        done = self.parts("--parts", "overhead", "--best-effort", "--processes", "2", "--pairs", "2", "--seconds", "0.02", code=(0, 1))["overhead"]
        self.assertEqual([len(row["pairs"]) for row in done["rows"]], [4] * 5)
        self.assertEqual(set(done["recording"]), {"kernel log", "torch.profiler", "torch.profiler, with the library"})
        self.assertEqual(done["problems"], [])
        if NVCC:
            self.assertEqual(len(done["driver_loop"]["processes"]), 3, done["driver_loop"])
            self.assertIn("logged_ns", done["driver_loop"])

    def test_requests_are_compared_with_what_the_service_has_timed(self):
        # Whether they are kept beside others depends on the load of this machine.
        shapes = ["several-inputs", "copy-stream", "called-back", "launched-ahead", "two-threads"]
        found = self.parts("--parts", "requests", "--only", ",".join(shapes), "--requests", "20", code=(0, 1))["requests"]
        self.assertEqual([row["shape"] for row in found["rows"]], shapes)
        for row in found["rows"]:
            self.assertGreater(row["alone"]["p50_ms"], 3.9, row)
            self.assertAlmostEqual(row["alone"]["counted"]["requests"], row["alone"]["requests"], delta=4, msg=row)
            self.assertGreater(row["beside"]["counted"]["p50_ns"], 3.9e6, row)

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_probes_answer(self):
        rows = self.parts("--parts", "probes", "--only", "a,b,c,e,f,h,j", "--budget", "probes=100")["probes"]["rows"]
        seen = {row["probe"]: row["seen"] for row in rows}
        self.assertEqual(set(seen), set("abcefhj"))
        self.assertEqual(len(seen["a"]), 6)
        self.assertEqual(len(seen["h"]), 18)
        self.assertIn("p99_us", seen["e"]["persistent, time slicing"])
        self.assertEqual(seen["j"]["one process"]["other streams that go on"], 32)
        self.assertEqual(seen["j"]["beside"]["other"]["queued"], 100)
        self.assertEqual(seen["f"]["vgg eager"]["calls"], {"cuLaunchKernel": 60})


if __name__ == "__main__":
    unittest.main()
