#!/usr/bin/env python3
"""The cap of a job is divided among the processes that earlier runs of its workload had on a GPU."""

import re
import unittest

import server

GIB = 2**30
SCRIPT = ("echo $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT > limit.$CARPOOL_JOB_ID; sleep 600 & echo $$ $! > pids.new; mv pids.new pids; "
          "while [ ! -e go ]; do sleep 0.05; done; kill $!")


class ProcessCaps(server.ServerTest):
    GPUS = 1

    def on_gpu(self, *pids):
        listed = " ".join(f"{pid}:{GIB}" for pid in pids)
        self.write("nvml", f"gpus = 1\nmemory_total = {64 * GIB}\nmemory_used = {len(pids) * GIB}\nmps_processes = {listed}\n")

    def limit_of(self, job):
        file = self.folder / f"limit.{job}"
        text = server.until(lambda: file.exists() and file.read_text(), "its limit")
        found = re.search(r"=(\d+)([KMG]?)\b", text)
        self.assertTrue(found, text)
        return int(found[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": GIB}[found[2]]

    def test_a_new_job_of_a_workload_with_two_processes(self):
        self.on_gpu()
        self.start()
        first = self.submit("--mem", "8G", "--", "sh", "-c", SCRIPT)
        cap = self.job(first)["attempts"][0]["cap_bytes"]
        self.assertAlmostEqual(self.limit_of(first), cap, delta=2**20)
        pids = server.until(lambda: (self.folder / "pids").exists() and (self.folder / "pids").read_text().split(), "its processes")
        self.on_gpu(*pids)
        server.until(lambda: self.job(first).get("used_bytes") == 2 * GIB, "its memory")
        self.write("go", "")
        self.assertEqual(self.await_end(first)["attempts"][0]["processes"], 2)
        self.on_gpu()
        # A server that starts later knows it too.
        self.stop_server()
        self.start()
        second = self.submit("--mem", "8G", "--", "sh", "-c", SCRIPT)
        attempt = self.await_end(second)["attempts"][0]
        self.assertEqual((attempt["cap_processes"], attempt["process_cap_bytes"]), (2, attempt["cap_bytes"] // 2), attempt)
        self.assertAlmostEqual(self.limit_of(second), attempt["process_cap_bytes"], delta=2**20)
        self.assertIn("for each of 2 processes", self.succeeds("show", second))


if __name__ == "__main__":
    unittest.main()
