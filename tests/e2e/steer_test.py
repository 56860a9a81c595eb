#!/usr/bin/env python3
"""Steering jobs: submitted on hold, changed while they wait or run, started after the end of others."""

import time
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

    def test_a_change_of_the_class_says_what_happens_to_the_slo(self):
        job = self.submit("--hold", "--mem", "1G", "--slo", "20ms", "--", "true")
        self.assertNotIn("SLO", self.succeeds("update", job, "--priority", "-1"))
        self.assertIn(f"Job {job}: its SLO of 20 ms is dropped", self.succeeds("update", job, "--class", "best-effort"))
        self.assertIn("states no latency", self.succeeds("update", job, "--class", "slo"))
        self.assertIn("states no latency", self.succeeds("explain", "--holds", job))

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

    def test_as_many_jobs_of_an_array_run_at_once_as_it_says(self):
        self.succeeds("submit", "--mem", "1G", "--array", "0-3%2", "--", "sleep", "600")
        for job in (1, 2):
            self.await_state(job, "running")
        waiting = [self.job(job) for job in (3, 4)]
        self.assertEqual([(job["state"], job["reason_word"]) for job in waiting], [("queued", "ArrayLimit")] * 2)
        self.assertIn("at most 2 jobs of array 1[]", self.succeeds("explain", 3))
        self.assertIn("at most 2 at once", self.succeeds("show", 3))
        self.kill_server()
        self.start()
        self.succeeds("cancel", 1)
        self.await_state(3, "running")
        self.assertEqual(self.job(4)["reason_word"], "ArrayLimit")
        self.succeeds("cancel", "2-4")
        for job in range(1, 5):
            self.assertEqual(self.await_end(job)["state"], "cancelled")

    def test_a_job_begins_at_its_time_also_after_a_restart(self):
        later = self.submit("--begin", "now+2h", "--mem", "1G", "--", "true")
        self.write("job.toml", 'argv = ["true"]\nmem = "1G"\nbegin = "now+1d"\n')
        tomorrow = self.submit("job.toml")
        soon = self.submit("--begin", "now+1s", "--mem", "1G", "--", "true")
        begin_s = self.job(later)["begin_s"]
        self.assertAlmostEqual(begin_s - self.job(later)["submitted_s"], 7200, delta=60)
        self.kill_server()
        self.start()
        self.assertEqual(self.await_end(soon)["state"], "succeeded")
        seen = self.job(later)
        self.assertEqual((seen["state"], seen["reason_word"], seen["begin_s"]), ("queued", "Begin", begin_s))
        self.assertGreaterEqual(self.job(soon)["attempts"][0]["started_s"], self.job(soon)["begin_s"])
        self.assertIn(time.strftime("%Y-%m-%d %H:%M", time.localtime(begin_s)), self.succeeds("explain", later))
        self.assertIn("told 1 GiB", self.succeeds("explain", later))
        self.assertEqual(self.job(tomorrow)["reason_word"], "Begin")
        self.succeeds("update", later, "--begin", "now")
        self.assertEqual(self.await_end(later)["state"], "succeeded")

    def test_a_job_runs_on_the_gpus_that_it_names(self):
        name = self.get("/v1/gpus")["gpus"][1]["name"]
        for where in (("--gpu", "1"), ("--gpu", "1", "--gpu-type", name.lower()[2:])):
            job = self.submit("--mem", "1G", *where, "--", "true")
            self.assertEqual(self.await_end(job)["attempts"][0]["gpus"], [1])
        self.assertIn("on GPU 1 only", self.succeeds("show", 1))
        self.write("job.sh", "#!/bin/sh\n#CARPOOL --gpu 1 --mem 1G\ntrue\n")
        self.assertEqual(self.await_end(self.submit("./job.sh"))["attempts"][0]["gpus"], [1])


if __name__ == "__main__":
    unittest.main()
