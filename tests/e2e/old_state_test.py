#!/usr/bin/env python3
"""A state folder that commit 2f888fc wrote opens: queue, history, and the jobs that ran when its
server and their supervisors were killed with kill -9."""

import json
import os
import pathlib
import pwd
import shutil
import sqlite3
import unittest

import server

RECORDED = pathlib.Path(__file__).parent / "data" / "state-2f888fc"
LAST_JOB = 18

# number: name, end, number of attempts, and how its reason begins
ENDED = {
    1: ("succeeds", "succeeded", 1, ""),
    2: ("exits", "failed", 1, "exit status 3: broken"),
    3: ("crashes", "failed", 1, "ended by signal 11"),
    4: ("grows", "succeeded", 2, ""),
    5: ("too-large", "out-of-memory", 5, "out of GPU memory with 5.1 GiB reserved"),
    6: ("cancelled", "cancelled", 1, "cancelled by "),
    7: ("missing", "never-started", 1, "start /no/such/program: No such file or directory"),
    8: ("too-long", "time-limit", 1, "ran longer than its 1 s"),
    17: ("cancelled-in-queue", "cancelled", 0, "cancelled by "),
}
# Jobs that wait: one is held, and the others start after it.
WAITING = {13: ("held", "held"), 14: ("after-held", "queued"), 15: ("array", "queued"),
           16: ("array", "queued")}
# Jobs that were running, and how their attempts end. A lost job runs again; the one that lasts is cancelled then.
RUNNING = {
    9: ("lost-twice", "cancelled", ["lost", "lost", "cancelled"]),
    10: ("lost-once", "succeeded", ["lost", "succeeded"]),
    11: ("stopping", "cancelled", ["cancelled"]),
    18: ("ends-meanwhile", "succeeded", ["succeeded"]),
}
WAITED_FOR_GPUS = 12


class OldState(server.ServerTest):
    GPUS = 2

    def setUp(self):
        super().setUp()
        shutil.copytree(RECORDED, self.state)
        self.state.chmod(0o700)
        if os.geteuid() != 0:
            self.give_jobs_to_this_user()

    def give_jobs_to_this_user(self):
        """The jobs were submitted by root; a personal server shows its user's jobs."""
        uid, user = os.geteuid(), pwd.getpwuid(os.geteuid()).pw_name
        with sqlite3.connect(self.state / "jobs.sqlite") as database:
            database.execute("UPDATE jobs SET uid = ?, user = ?", (uid, user))
            database.execute("UPDATE events SET body = json_set(body, '$.uid', ?, '$.user', ?) "
                             "WHERE json_extract(body, '$.event') = 'submitted'", (uid, user))

    def on_this_boot(self):
        """As if the supervisors had been killed just now, and not by a restart of the machine."""
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for claim in (self.state / "runs").glob("*/claim"):
            claim.write_text(json.dumps({**json.loads(claim.read_text()), "boot": boot}))

    def check_ended(self):
        history = {job["id"]: job for job in self.get("/v1/history")["jobs"]}
        for number, (name, end, attempts, reason) in ENDED.items():
            with self.subTest(job=name):
                self.assertEqual((history[number]["name"], history[number]["end"]), (name, end))
                self.assertTrue(history[number]["reason"].startswith(reason), history[number])
                self.assertGreater(history[number]["ended_s"], history[number]["submitted_s"])
                self.assertEqual(len(self.job(number)["attempts"]), attempts)
        self.assertEqual(self.carpool("logs", "2").stderr, "broken\n")

    def check_running(self, lost_because):
        again = self.await_job(9, lambda job: len(job["attempts"]) == 3, "to run again")
        self.assertIn(lost_because, again["attempts"][1]["detail"])
        self.succeeds("cancel", "9")
        for number, (name, state, ends) in RUNNING.items():
            with self.subTest(job=name):
                job = self.await_end(number)
                self.assertEqual((job["name"], job["state"]), (name, state), job)
                self.assertEqual([attempt["end"] for attempt in job["attempts"]], ends, job)
        self.assertEqual(self.succeeds("logs", "10"), "second attempt\n")
        self.assertEqual(self.succeeds("logs", "18"), "late\n")
        self.assertEqual(self.await_end(WAITED_FOR_GPUS)["state"], "succeeded")

    def check_waiting(self):
        waiting = {job["id"]: (job["name"], job["state"]) for job in self.get("/v1/queue")["jobs"]}
        self.assertEqual(waiting, WAITING)
        self.succeeds("release", "13")
        for number in WAITING:
            self.assertEqual(self.await_end(number)["state"], "succeeded", number)
        self.assertEqual(self.succeeds("logs", "16"), "4\n")

    def check_folder(self, lost_because):
        self.start()
        self.check_ended()
        self.check_running(lost_because)
        self.check_waiting()
        self.assertEqual(self.submit("--mem", "1G", "--", "true"), LAST_JOB + 1)
        self.assertEqual(self.await_end(LAST_JOB + 1)["state"], "succeeded")

    def test_after_a_restart_of_the_machine(self):
        self.check_folder("the machine went down while the job ran")

    def test_after_kill_minus_nine(self):
        self.on_this_boot()
        self.check_folder("the supervisor was killed, and the job with it")


if __name__ == "__main__":
    unittest.main()
