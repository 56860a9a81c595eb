#!/usr/bin/env python3
"""MPS that fails for a while, or dies under running jobs, costs no job."""

import os
import pathlib
import signal
import unittest

import server


class MpsTrouble(server.MpsTest):
    CONTROL = '[ "$1" = -d ] && [ -e {folder}/broken ] && echo no GPU answers && exit 1'

    def daemons(self):
        """PIDs of the MPS daemons of this server."""
        found = []
        for file in (self.runtime / "carpool" / "mps").glob("*/pipe/nvidia-cuda-mps-control.pid"):
            found.append(int(file.read_text()))
        return found

    def share(self, script):
        return self.submit("--mem", "1G", "--", "sh", "-c", script)

    def test_jobs_wait_until_mps_starts_again(self):
        self.write("broken", "")
        self.start()
        jobs = [self.share("true") for _ in range(6)]
        troubled = server.until(
            lambda: [job for job in jobs
                     if any(a.get("end") == "machine-trouble" for a in self.job(job)["attempts"])],
            "trouble at a start")
        self.assertIn("no GPU answers", str(self.job(troubled[0])["attempts"]))
        (self.folder / "broken").unlink()
        for job in jobs:
            ended = self.await_end(job)
            self.assertEqual(ended["state"], "succeeded", ended)

    def test_a_daemon_that_dies_under_its_jobs_costs_none(self):
        self.start()
        script = ("[ $CARPOOL_ATTEMPT = 1 ] || exit 0; echo $CUDA_MPS_PIPE_DIRECTORY > began.$CARPOOL_JOB_ID; "
                  "while [ ! -e go ]; do sleep 0.05; done; exit 1")
        jobs = [self.share(script) for _ in range(3)]
        for job in jobs:
            server.until((self.folder / f"began.{job}").exists, "its first instruction")
        shared = [job for job in jobs if self.job(job)["mechanism"] == "mps"]
        self.assertGreaterEqual(len(shared), 2)
        daemons = self.daemons()
        self.assertTrue(daemons)
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        self.write("go", "")
        for job in shared:
            ended = self.await_end(job)
            self.assertEqual([a["end"] for a in ended["attempts"]], ["mps-fault", "succeeded"], ended)

    def test_a_daemon_that_is_left_is_ended_by_the_next_server(self):
        self.start()
        script = "[ $CARPOOL_ATTEMPT = 1 ] || exit 0; echo x > began.$CARPOOL_JOB_ID; sleep 600"
        jobs = [self.share(script) for _ in range(3)]
        for job in jobs:
            server.until((self.folder / f"began.{job}").exists, "its first instruction")
        daemons = self.daemons()
        self.assertTrue(daemons)
        self.kill_server()
        for process in pathlib.Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) in [*self.claims().values(), *self.keepers()]:
                os.kill(int(process.name), signal.SIGKILL)
        self.start("--no-mps")
        for pid in daemons:
            server.until(lambda pid=pid: server.has_ended(pid), "its end")
        for job in jobs:
            self.assertEqual([a["end"] for a in self.await_end(job)["attempts"]], ["lost", "succeeded"])

    def keepers(self):
        return [int(file.read_text().split()[0])
                for file in (self.runtime / "carpool" / "mps").glob("*/carpool-owner")]


if __name__ == "__main__":
    unittest.main()
