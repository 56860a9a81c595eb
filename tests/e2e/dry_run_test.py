#!/usr/bin/env python3
"""Asking before a submission: nothing is submitted, and the answer holds when the job is submitted then."""

import sqlite3
import unittest

import cli
import server

GIB = 1 << 30


class DryRun(server.ServerTest):
    GPUS = 1

    def setUp(self):
        super().setUp()
        self.start()

    def journal(self):
        """All events in the journal."""
        with sqlite3.connect(f"file:{self.state / 'jobs.sqlite'}?mode=ro", uri=True) as database:
            return {name: database.execute(f"select * from {name}").fetchall()
                    for (name,) in database.execute("select name from sqlite_master where type = 'table'")}

    def ask(self, *arguments):
        return cli.strict_json(self.succeeds("--json", "submit", "--dry-run", *arguments))

    def running(self, *options, runtime="10m"):
        job = self.submit("--runtime", runtime, *options, "--", "sleep", "600")
        return self.await_state(job, "running")["id"]

    def test_says_where_beside_whom_how_fast_and_submits_nothing(self):
        neighbour = self.running("--mem", "2G", "--name", "older")
        before = self.journal(), self.get("/v1/jobs?all=1")["jobs"][0]["id"]
        asked = ("--dry-run", "--mem", "3G", "--", "sleep", "601")
        answer = self.ask(*asked[1:])
        self.assertEqual((answer["accepted"], answer["starts_now"]), (True, True))
        self.assertEqual(answer["memory"]["need_bytes"], 3 * GIB)
        self.assertEqual(answer["placement"]["gpus"], [0])
        self.assertEqual([(job["id"], job["name"]) for job in answer["neighbours"]], [(neighbour, "older")])
        for prediction in (answer["prediction"], answer["neighbours"][0]["prediction"]):
            self.assertLessEqual(prediction["low"], prediction["progress"])
            self.assertLessEqual(prediction["progress"], prediction["high"])
        text = self.succeeds("submit", *asked)
        for words in (f"Would start now on GPU 0, beside job {neighbour}", "told 3 GiB", "job 1 (older): ",
                      "of its solo speed", "start        now"):
            self.assertIn(words, text)
        self.assertEqual(before, (self.journal(), self.get("/v1/jobs?all=1")["jobs"][0]["id"]))
        job = self.submit(*asked[1:])
        self.assertEqual(job, neighbour + 1)
        self.assertEqual(self.await_state(job, "running")["gpus"], [0])

    def test_says_why_a_job_would_wait_and_until_when(self):
        memory = self.get("/v1/gpus")["gpus"][0]["memory_bytes"]
        first = self.running("--exclusive", "--mem", "1G")
        answer = self.ask("--mem", f"{memory // GIB - 1}G", "--", "true")
        self.assertFalse(answer["starts_now"])
        self.assertTrue(answer["reason"])
        self.assertEqual(answer["earliest_after_job"], first)
        self.assertLessEqual(answer["earliest_start_in_s"], 600)
        text = self.succeeds("submit", "--dry-run", "--mem", "1G", "--", "true")
        self.assertIn("Would wait: ", text)
        self.assertIn(f"at the earliest, when job {first} ends", text)
        self.assertIn("held until it is released",
                      self.succeeds("submit", "--dry-run", "--hold", "--mem", "1G", "--", "true"))
        dependent = self.ask("--after-any", first, "--mem", "1G", "--", "true")
        self.assertEqual((dependent["reason"], dependent["earliest_after_job"]),
                         (f"waiting for jobs to end: {first}", first))
        self.succeeds("drain")
        self.assertIn("carpool drain --undo", self.succeeds("submit", "--dry-run", "--mem", "1G", "--", "true"))

    def test_uses_all_options_of_a_submission_and_refuses_the_same(self):
        self.write("job.toml", 'argv = ["true"]\nmem = "2G"\narray = "0-3"\n')
        answer = self.ask("job.toml")
        self.assertEqual((answer["jobs"], answer["memory"]["need_bytes"]), (4, 2 * GIB))
        self.assertIn("4; this is about the first", self.succeeds("submit", "--dry-run", "job.toml"))
        self.refuses("submit", "--dry-run", "--mem", "999T", "--", "true", says="mem")
        self.refuses("submit", "--dry-run", "--gpus", "9", "--", "true", says="gpus: 9 requested")
        self.assertEqual(self.get("/v1/jobs?all=1")["jobs"], [])

    def test_explain_teaches_what_is_missing(self):
        self.running("--exclusive", "--mem", "1G")
        waiting = self.submit("--mem", "none", "--", "sleep", "602")
        lesson = self.prints_json("explain", waiting)["lesson"]
        self.assertTrue(any(line.startswith("memory: not known") for line in lesson["assumed"]), lesson)
        self.assertTrue(any("until" in line for line in lesson["assumed"]), lesson)
        self.assertTrue(any("--mem SIZE" in line for line in lesson["changes"]), lesson)
        text = self.succeeds("explain", waiting)
        for words in ("assumed      memory: not known", "replaced by  ", f"run next     {lesson['command']}"):
            self.assertIn(words, text)
        self.succeeds(*lesson["command"].split()[1:])


if __name__ == "__main__":
    unittest.main()
