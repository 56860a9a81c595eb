#!/usr/bin/env python3
"""Steering jobs: submitted on hold, changed while they wait or run, started after the end of others."""

import unittest

import server


class Steer(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def test_a_job_submitted_on_hold_starts_when_released_also_after_a_restart(self):
        job = self.submit("--hold", "--mem", "1G", "--", "true")
        self.write("job.toml", 'argv = ["true"]\nmem = "1G"\nhold = true\n')
        other = self.submit("job.toml")
        self.assertEqual([self.job(one)["state"] for one in (job, other)], ["held"] * 2)
        self.kill_server()
        self.start()
        self.assertEqual(self.job(job)["state"], "held")
        self.succeeds("release", job, other)
        self.assertEqual(self.await_end(job)["state"], "succeeded")

    def test_update_changes_a_waiting_job_and_the_time_of_a_running_one(self):
        waiting = [self.submit("--hold", "--mem", "1G", "--", "true") for _ in range(2)]
        self.assertIn("Updated jobs 1-2.", self.succeeds(
            "update", "1-2", "--mem", "3G", "--time", "5m", "--priority", "-7", "--class", "best-effort"))
        self.kill_server()
        self.start()
        for job in waiting:
            seen = self.job(job)
            self.assertEqual((seen["asked_mem_bytes"], seen["time_s"], seen["priority"], seen["class"]),
                             (3 << 30, 300, -7, "best-effort"))
        running = self.submit("--mem", "1G", "--", "sleep", "600")
        self.await_state(running, "running")
        self.refuses("update", running, "--mem", "2G", says=("is running", "carpool requeue"))
        self.refuses("update", running, says="nothing to change")
        self.succeeds("update", running, "--time", "2s")
        self.assertEqual(self.await_end(running)["end"], "time-limit")
        self.refuses("update", running, "--time", "2h", says="already ended")

    def test_jobs_start_after_any_end_or_after_a_failure(self):
        fails = self.submit("--hold", "--mem", "1G", "--", "false")
        works = self.submit("--hold", "--mem", "1G", "--", "true")
        anyway = self.submit("--mem", "1G", "--after-any", f"{fails},{works}", "--", "true")
        cleans = self.submit("--mem", "1G", "--after-not-ok", fails, "--", "true")
        never = self.submit("--mem", "1G", "--after-not-ok", works, "--", "true")
        self.assertIn(f"to end: {fails} {works}", self.job(anyway)["reason"])
        self.assertEqual(self.job(cleans)["reason_word"], "Dependency")
        self.succeeds("release", fails, works)
        self.assertEqual([self.await_end(job)["state"] for job in (anyway, cleans, never)],
                         ["succeeded", "succeeded", "cancelled"])


if __name__ == "__main__":
    unittest.main()
