#!/usr/bin/env python3
"""The disk of the state folder: outputs have a limit, old ones are removed, and a full disk only pauses starts."""

import os
import subprocess
import unittest

import server

MIB = 1 << 20


class Outputs(server.ServerTest):
    def test_of_one_job_hold_no_more_than_their_limit(self):
        self.start("--output-limit", "1M")
        job = self.submit("--mem", "1G", "--", "sh", "-c", "head -c 4000000 /dev/zero | tr '\\0' x; echo; echo last")
        self.assertEqual(self.await_end(job)["state"], "succeeded")
        self.assertLessEqual(os.stat(self.state / "runs" / f"{job}.1" / "stdout").st_blocks * 512, MIB)
        logs = self.succeeds("logs", job)
        self.assertLess(len(logs), MIB)
        self.assertNotIn("\0", logs)
        self.assertTrue("last\n" in logs)  # the output is long
        self.assertTrue("carpool: this output passed its limit of 1 MiB" in logs)
        self.assertIn("only its latest part is kept", self.succeeds("show", job))

    def test_of_ended_jobs_are_pruned(self):
        self.start()
        ended = self.submit("--mem", "1G", "--", "echo", "out")
        self.await_end(ended)
        running = self.submit("--mem", "1G", "--", "sh", "-c", "echo out; sleep 600")
        self.await_state(running, "running")
        folder = self.state / "runs" / f"{ended}.1"
        told = self.prints_json("prune", "--older-than", "1h", "--dry-run")
        self.assertEqual((told["attempts"], told["dry_run"]), (0, True))
        os.utime(folder / "exit", (0, 0))
        self.assertIn("Would remove the outputs of 1 ended attempt", self.succeeds("prune", "--older-than", "1h", "--dry-run"))
        self.assertTrue(folder.exists())
        self.assertEqual(self.prints_json("prune", "--older-than", "1h")["removed"], [{"id": ended, "attempt": 1}])
        self.assertFalse(folder.exists())
        self.refuses("logs", ended, says="its output was removed (carpool prune)")
        self.succeeds("prune", "--keep", "1K")
        self.assertTrue((self.state / "runs" / f"{running}.1").exists())
        self.assertEqual(self.job(ended)["state"], "succeeded")

    def test_are_removed_at_the_age_that_the_server_was_given(self):
        self.start()
        self.await_end(job := self.submit("--mem", "1G", "--", "true"))
        self.stop_server()
        folder = self.state / "runs" / f"{job}.1"
        os.utime(folder / "exit", (0, 0))
        self.start("--keep-outputs", "1h")
        server.until(lambda: not folder.exists(), "the old output to be removed")


class StateDisk(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", self.state],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("a file system of its own needs the right to mount one")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=False)

    def fill(self, left_mib):
        space = os.statvfs(self.state)
        with open(self.state / "filler", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - left_mib * MIB)

    def metric(self, name):
        page = self.request("GET", "/metrics")[1].decode()
        return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(name + " "))

    def test_that_is_full_pauses_starts_and_nothing_is_lost(self):
        self.start()
        server.until(lambda: (self.state / "reserve").exists(), "the reserve")
        self.assertEqual(self.metric("carpool_state_disk_full"), 0)
        self.fill(left_mib=30)
        server.until(lambda: self.metric("carpool_state_disk_full") == 1, "the server to see it")
        job = self.submit("--mem", "1G", "--", "true")
        why = self.succeeds("explain", job)
        self.assertIn("no job starts until", why)
        self.assertIn("carpool prune", why)
        self.assertIn("% full", (self.folder / "server.log").read_text())
        (self.state / "filler").unlink()
        self.assertEqual(self.await_end(job)["state"], "succeeded")

    def test_gives_the_journal_its_reserve_when_nothing_is_left(self):
        self.start()
        server.until(lambda: (self.state / "reserve").exists(), "the reserve")
        self.fill(left_mib=0)
        server.until(lambda: not (self.state / "reserve").exists(), "the reserve to be given")
        job = self.submit("--mem", "1G", "--", "true")  # acknowledged, so it is on disk
        self.kill_server()
        self.start()
        self.assertEqual(self.job(job)["state"], "queued")
        (self.state / "filler").unlink()
        self.assertEqual(self.await_end(job)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main()
