#!/usr/bin/env python3
"""A machine that cannot start jobs for a while: no job fails, few attempts are made, everybody is told, and all jobs run
once it can."""

import time
import unittest

import server

JOBS = 200
TROUBLE_S = 12


class MachineTrouble(server.ServerTest):
    def begin_trouble(self):
        """No folder of an attempt can be made."""
        self.runs = self.state / "runs"
        self.runs.rename(self.state / "runs.away")
        self.runs.write_text("in the way")

    def end_trouble(self):
        self.runs.unlink()
        (self.state / "runs.away").rename(self.runs)

    def metric(self, name):
        page = self.request("GET", "/metrics")[1].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(name))

    def test_costs_no_job_and_few_attempts(self):
        self.start()
        self.begin_trouble()
        jobs = self.succeeds("submit", "--parsable", "--mem", "1G", "--array", f"0-{JOBS - 1}", "--", "true").split()
        self.assertEqual(len(jobs), JOBS)
        began = time.monotonic()
        troubles = server.until(lambda: self.get("/v1/status")["troubles"], "the trouble to be noticed")
        self.assertIn("runs", troubles[0]["reason"])
        server.until(lambda: time.monotonic() - began > TROUBLE_S, "some pauses to pass")
        counts = self.get("/v1/status")["jobs"]
        self.assertEqual(counts["queued"] + counts["running"], JOBS, counts)
        waiting = next(job for job in self.get(f"/v1/jobs?limit={JOBS}")["jobs"] if job["state"] == "queued")
        self.assertIn("the machine could not start", waiting["reason"])
        self.assertIn("the machine could not start", self.succeeds("explain", str(waiting["id"])))
        attempts = self.metric("carpool_machine_troubles_total")
        self.assertEqual(attempts, self.metric('carpool_ends_total{end="machine-trouble"}'))
        # As many as are placed at once, then one after each pause.
        self.assertLess(attempts, 80)
        self.end_trouble()
        ended = time.monotonic()
        server.until(lambda: not self.get("/v1/status")["troubles"], "the trouble to be over")
        self.assertLess(time.monotonic() - ended, 30)
        for job in jobs:
            self.assertEqual(self.await_end(job)["state"], "succeeded")

    def test_outlives_the_server(self):
        self.start()
        self.begin_trouble()
        job = self.submit("--mem", "1G", "--", "true")
        server.until(lambda: self.get("/v1/status")["troubles"], "the trouble to be noticed")
        self.kill_server()
        self.end_trouble()
        self.start()
        self.assertEqual(self.await_end(job)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main()
