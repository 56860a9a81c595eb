#!/usr/bin/env python3
"""Wall clocks that jump, while a server runs and between two: limits neither strike nor fail to, and times are shown as
the clock says now."""

import time
import unittest

import cli
import server

HOURS_S = 7200


class JumpingClock(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.shift = self.folder / "shift"
        self.jump(0)

    def surroundings(self, **more):
        preloaded = {"LD_PRELOAD": cli.FAKE_CLOCK, "CARPOOL_FAKE_CLOCK": str(self.folder / "shift")}
        return super().surroundings(**preloaded, **more)

    def jump(self, seconds):
        """The wall clock of all programs that the test starts is this far from the machine's."""
        self.write("shift.new", str(seconds)).rename(self.shift)
        self.now = lambda: time.time() + seconds

    def runs_a_short_job(self):
        """The server has looked at its jobs again and again by then."""
        self.assertEqual(self.await_end(self.submit("--mem", "1G", "--", "true"))["state"], "succeeded")

    def running(self, limit):
        job = self.submit("--mem", "1G", "--time", limit, "--", "sleep", "3000")
        self.await_state(job, "running")
        return job

    def keeps_running(self, job):
        self.runs_a_short_job()
        shown = self.job(job)
        self.assertEqual(shown["state"], "running", shown)
        self.assertLess(shown["run_s"], HOURS_S / 2)
        for key in ("submitted_s", "queued_s"):
            self.assertLess(abs(shown[key] - self.now()), HOURS_S / 2, key)
        self.assertLess(abs(shown["attempts"][0]["started_s"] - self.now()), HOURS_S / 2)
        ended = self.get("/v1/history")["jobs"][0]
        self.assertLess(abs(ended["ended_s"] - self.now()), HOURS_S / 2)
        self.assertLessEqual(ended["submitted_s"], ended["ended_s"])

    def is_stopped(self, job):
        ended = self.await_end(job)
        self.assertEqual(ended["end"], "time-limit", ended)

    def test_a_jump_forward_stops_no_job(self):
        self.start()
        job = self.running("1h")
        self.jump(HOURS_S)
        self.keeps_running(job)
        self.stop_server()
        self.start()
        self.keeps_running(job)

    def test_a_jump_back_lets_no_job_run_past_its_limit(self):
        self.start()
        job = self.running("3s")
        self.jump(-HOURS_S)
        self.is_stopped(job)

    def test_a_jump_forward_between_two_servers_stops_no_job(self):
        self.start()
        job = self.running("1h")
        self.kill_server()
        self.jump(HOURS_S)
        self.start()
        self.keeps_running(job)

    def test_a_jump_back_between_two_servers_lets_no_job_run_past_its_limit(self):
        self.start()
        job = self.running("3s")
        self.kill_server()
        self.jump(-HOURS_S)
        self.start()
        self.is_stopped(job)

    def test_a_job_that_ignores_the_request_to_stop_is_killed_though_the_clock_jumps_back(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
        server.until(lambda: self.request("GET", f"/v1/jobs/{job}/logs")[1].startswith(b"ready"), "the job to be ready")
        self.succeeds("cancel", str(job))
        self.jump(-HOURS_S)
        self.assertEqual(self.await_end(job)["state"], "cancelled")


if __name__ == "__main__":
    unittest.main()
