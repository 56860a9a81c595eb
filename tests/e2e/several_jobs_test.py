#!/usr/bin/env python3
"""Several jobs at once: ranges, arrays, the last one, by name and all."""

import unittest

import cli
import server


class SeveralJobs(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()
        self.succeeds("drain")  # every job waits

    def array(self, indices, *options):
        return [int(word) for word in self.succeeds("submit", "--parsable", "--array", indices, "--mem", "1G",
                                                    *options, "--", "true").split()]

    def states(self, jobs):
        return [self.job(job)["state"] for job in jobs]

    def test_a_range_goes_on_after_an_error_and_returns_the_worst_code(self):
        jobs = [self.submit("--mem", "1G", "--", "true") for _ in range(4)]
        self.assertIn("Holding jobs 1-3.", self.succeeds("hold", "1-3"))
        self.assertEqual(self.states(jobs), ["held", "held", "held", "queued"])
        self.succeeds("cancel", jobs[1])
        done = self.carpool("cancel", "1-6")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("Cancelling jobs 1, 3-4.", done.stdout)
        for words in ("job 2 has already ended", "there are no jobs 5-6\n"):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.states(jobs), ["cancelled"] * 4)

    def test_an_array_is_named_by_any_of_its_jobs_whole_or_in_part(self):
        other = self.submit("--mem", "1G", "--", "true")
        first = self.array("0-4")
        second = self.array("5-9")  # right behind the first
        self.succeeds("hold", f"{first[0]}[]")
        self.assertEqual(self.states([other, *first, *second]), ["queued"] + ["held"] * 5 + ["queued"] * 5)
        self.succeeds("release", f"{first[2]}_[0-1,3]")
        self.assertEqual(self.states(first), ["queued", "queued", "held", "queued", "held"])
        self.assertEqual(self.prints_json("show", f"{first[0]}_2")["id"], first[2])
        self.assertEqual([job["id"] for job in self.prints_json("show", "@[]")], second)
        done = self.carpool("cancel", f"{first[0]}_[4-5]")
        self.assertEqual((done.returncode, self.states(first)[4]), (2, "cancelled"))
        self.assertIn(f"the array of job {first[0]} has no index 5", done.stderr)
        self.refuses("cancel", f"{other}[]", says=f"there is no array with job {other}")
        self.kill_server()
        self.start()
        self.succeeds("cancel", f"{second[4]}[]")
        self.assertEqual(self.states(second), ["cancelled"] * 5)

    def test_of_an_array_those_are_meant_to_which_the_change_applies(self):
        jobs = self.array("0-3")
        self.succeeds("cancel", jobs[1])
        self.assertIn(f"Cancelling jobs {jobs[0]}, {jobs[2]}-{jobs[3]}.", self.succeeds("cancel", f"{jobs[0]}[]"))
        self.refuses("cancel", f"{jobs[0]}[]", says=f"carpool: jobs {jobs[0]}-{jobs[3]} have already ended\n")
        self.refuses("cancel", jobs[0], says=f"job {jobs[0]} has already ended (CA)")

    def test_explain_names_what_keeps_a_job_and_logs_say_why_there_are_none(self):
        job = self.submit("--mem", "1G", "--", "true")
        self.assertEqual(self.prints_json("explain", job)["constraint"], "drained")
        after = self.submit("--mem", "1G", "--after", str(job), "--", "true")
        held = self.submit("--mem", "1G", "--hold", "--", "true")
        self.succeeds("drain", "--undo")
        self.assertEqual(self.prints_json("explain", held)["constraint"], "held")
        self.await_end(after)
        done = self.carpool("logs", held)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn(f"job {held} waits: it has no output yet", done.stderr)
        self.succeeds("cancel", held)
        self.assertIn(f"job {held} never ran", self.carpool("logs", held).stderr)

    def test_by_name_all_and_the_last(self):
        sweep = [self.submit("--mem", "1G", "--name", f"sweep-{i}", "--", "true") for i in range(2)]
        other = self.submit("--mem", "1G", "--name", "other", "--", "true")
        self.assertEqual(self.prints_json("show", "@")["id"], other)
        self.assertEqual([job["id"] for job in self.prints_json("explain", "--name", "sweep-*")], sweep)
        self.succeeds("hold", "--name", "sweep-[01]")
        self.assertEqual(self.states([*sweep, other]), ["held", "held", "queued"])
        self.assertIn("Releasing jobs 1-2.", self.succeeds("release", "--all-mine"))
        self.succeeds("cancel", "--all-mine")
        self.assertEqual(self.states([*sweep, other]), ["cancelled"] * 3)
        self.assertIn("You have no jobs that have not ended", self.succeeds("cancel", "--all-mine"))
        for words in (("explain",), ("explain", "--holds"), ("show",), ("cancel",), ("hold",), ("wait",),
                      ("update", "--priority", "1"), ("logs",)):
            self.assertEqual(self.prints_json(*words, "--all-mine"), [], words)
        self.assertEqual(self.prints_json("show", "@")["id"], other)
        self.assertEqual(self.carpool("cancel", "--name", "swep*", "--json").stdout, "")
        done = self.carpool("cancel", "--name", "swep*")
        self.assertEqual(done.returncode, 2)
        self.assertIn('none of your jobs that have not ended has a name like "swep*"', done.stderr)

    def test_wait_and_logs_take_them_too(self):
        jobs = [int(word) for word in self.succeeds(
            "submit", "--parsable", "--array", "1-3", "--mem", "1G", "--", "sh", "-c",
            "echo index $CARPOOL_ARRAY_INDEX; exit $CARPOOL_ARRAY_INDEX").split()]
        self.succeeds("drain", "--undo")
        done = self.carpool("wait", "--json", "1[]", "9")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no job 9", done.stderr)
        self.assertEqual([job["exit_code"] for job in cli.strict_json(done.stdout)], [1, 2, 3])
        text = self.succeeds("logs", "1_[1-2]")
        self.assertEqual(text, "==> job 1 <==\nindex 1\n==> job 2 <==\nindex 2\n")
        self.assertEqual(self.succeeds("logs", "@"), "index 3\n")
        self.assertEqual([log["id"] for log in self.prints_json("logs", "1-3")], jobs)


if __name__ == "__main__":
    unittest.main()
