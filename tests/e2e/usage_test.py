#!/usr/bin/env python3
"""carpool usage: GPU time and memory by user and by job."""

import os
import unittest

import cli
import server


class Usage(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def ended(self, *arguments):
        job = self.submit("--mem", "1G", *arguments)
        self.await_end(job)
        return job

    def test_adds_up_ended_and_running_jobs(self):
        ended = self.ended("--name", "short", "--", "true")
        running = self.submit("--mem", "2G", "--name", "long", "--", "sleep", "600")
        self.await_state(running, "running")
        by_job = self.prints_json("usage", "--by", "job")
        rows = {row["id"]: row for row in by_job["rows"]}
        self.assertEqual({number: row["name"] for number, row in rows.items()}, {ended: "short", running: "long"})
        attempt = self.job(ended)["attempts"][0]
        self.assertAlmostEqual(rows[ended]["gpu_held_s"], attempt["ended_s"] - attempt["started_s"], places=3)
        for row in rows.values():
            self.assertLessEqual(row["gpu_delivered_s"] + row["gpu_unknown_s"], row["gpu_held_s"] + 1e-6)
        by_user = self.prints_json("usage")
        self.assertEqual([(row["jobs"], row["attempts"]) for row in by_user["rows"]], [(2, 2)])
        self.assertEqual(by_user["total"]["jobs"], 2)
        self.assertNotIn("others", by_user)
        text = self.succeeds("usage", "--by", "job")
        for word in ("GPU TIME", "DELIVERED", "PEAK", "short", "long"):
            self.assertIn(word, text)

    def test_counts_from_a_time_on_and_survives_a_restart(self):
        self.ended("--", "true")
        held = self.prints_json("usage", "--since", "1d")["total"]["gpu_held_s"]
        self.stop_server()
        self.start()
        again = self.prints_json("usage", "--since", "2020-01-01")
        self.assertEqual(again["total"]["jobs"], 1)
        self.assertAlmostEqual(again["total"]["gpu_held_s"], held, places=3)
        later = self.job(1)["ended_s"] + 0.001
        self.assertEqual(self.get(f"/v1/usage?since_s={later}")["rows"], [])

    def energy(self, job):
        """Joules of a job, and None where the server does not know them."""
        rows = self.prints_json("usage", "--by", "job")["rows"]
        return next(row for row in rows if row["id"] == job).get("energy_j")

    def test_energy_is_attributed_to_the_job_and_survives_a_restart(self):
        # The counter of the fake driver grows by a joule a reading.
        job = self.submit("--mem", "1G", "--", "sleep", "600")
        self.await_state(job, "running")
        server.until(lambda: (self.energy(job) or 0) >= 2, "energy of the job")
        self.assertRegex(self.request("GET", "/metrics")[1].decode(), rf'carpool_job_energy_joules_total{{job_id="{job}"}} \d')
        server.until((self.state / "energy").exists, "the energy in the state folder")
        before = self.energy(job)
        self.kill_server()
        self.change_gpus(f"gpus = {self.GPUS}\nmemory_used = 0\nprocesses =\nenergy_mj = 6000000000\n")
        self.start()
        # A megajoule while no server ran: the job was the only one there.
        server.until(lambda: (self.energy(job) or 0) >= before + 900_000, "energy of the time without a server")
        self.assertLess(self.energy(job), 1_001_000)
        self.succeeds("cancel", str(job))
        self.await_end(job)
        ended = self.energy(job)
        self.assertEqual(self.job(job)["attempts"][0]["energy_j"], ended)
        self.stop_server()
        self.start()
        self.assertEqual(self.energy(job), ended)
        self.assertRegex(self.succeeds("usage", "--by", "job"), r"ENERGY\[kWh\]\n.* 0\.\d{3}\n")

    def test_energy_that_the_driver_does_not_report_is_a_dash(self):
        self.change_gpus(f"gpus = {self.GPUS}\nmemory_used = 0\nprocesses =\n"
                         "fail.nvmlDeviceGetTotalEnergyConsumption = 3\n")
        self.stop_server()
        self.start()
        self.assertIsNone(self.energy(self.ended("--", "true")))
        self.assertRegex(self.succeeds("usage"), r"-\n$")

    def test_sm_activity_of_a_job_is_in_gpus_and_top(self):
        job = self.submit("--mem", "1G", "--", "sleep", "600")
        self.await_state(job, "running")
        def found():
            return next((one for gpu in self.get("/v1/gpus")["gpus"] for one in gpu["jobs"] if one["id"] == job), {})
        pid = server.until(lambda: found().get("session"), "the processes of the job")
        self.change_gpus(f"gpus = {self.GPUS}\nmemory_used = 0\nprocesses =\ngpu0.processes = {pid}:1000000000\n"
                         f"gpu0.sm_of = {pid}:35\n")
        server.until(lambda: found().get("sm_active_ratio") == 0.35, "the SM activity of the job")
        gpu = self.prints_json("gpus")[0]
        self.assertEqual([(one["id"], one["sm_active"]) for one in gpu["jobs"]], [(job, 0.35)])
        self.assertEqual([(one["job"], one["sm_active"]) for one in gpu["processes"]], [(job, 0.35)])
        self.assertRegex(self.succeeds("top", "--once"), rf"(?m)^ +{pid} +\S+ +0 +{job} +35 +0\.9  no   sleep 600$")

    def test_wrong_times_and_words_are_refused(self):
        for arguments, says in ((("--since", "7"), "7d"), (("--since", "yesterday"), "2026-11-01"),
                                (("--since", "2999-01-01"), "future"), (("--by", "gpu"), "user")):
            self.refuses("usage", *arguments, says=says, code=2)

    def test_without_jobs_it_says_so(self):
        self.assertIn("No job ran since", self.succeeds("usage"))


@unittest.skipUnless(os.geteuid() == 0, "needs root for a server of all users")
class OtherUsers(server.SystemServerTest):
    def test_of_other_users_only_the_sum_is_shown(self):
        secret = self.submit("--mem", "1G", "--name", "topsecret", "--", "true")
        self.await_end(secret)
        for by in ("user", "job"):
            done = self.as_nobody("usage", "--by", by, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            usage = cli.strict_json(done.stdout)
            self.assertEqual((usage["rows"], usage["others"]["jobs"], usage["others"]["users"]), ([], 1, 1))
            self.assertEqual(set(usage["others"]), {"jobs", "users", "attempts", "gpu_held_s"})
            self.assertNotIn("topsecret", done.stdout)
        self.assertIn("(1 other user)", self.as_nobody("usage").stdout)
        self.assertIn("topsecret", self.succeeds("usage", "--by", "job"))


if __name__ == "__main__":
    unittest.main()
