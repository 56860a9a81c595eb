#!/usr/bin/env python3
"""Memory from earlier runs: what the server measured answers `estimate` and `submit --mem auto`."""

import pathlib
import unittest

import cli
import server

GIB = 2**30
# A command that does not tell which model it runs.
TRAIN = ("python", "train.py", "--lr", "1e-3", "--batch")
UNKNOWN = "does not name a model"
# The driver forgets a process that ends.
OUT_OF_MEMORY_AT_FIRST = ("if [ $CARPOOL_ATTEMPT = 1 ]; then "
                          "printf 'gpus = 2\\nmemory_used = 0\\nprocesses =\\n' > nvml; "
                          "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2; "
                          "exit 1; fi")


class Simulated(server.ServerTest):
    """Jobs on simulated GPUs take what they ask for."""

    def setUp(self):
        super().setUp()
        self.start("--simulated", "2xA100-40", "--speed", "600")

    def ran(self, size, *command, options=()):
        job = self.submit("--mem", size, "--runtime", "300s", *options, "--", *command)
        ended = self.await_end(job)
        self.assertEqual(ended["attempts"][-1].get("peak_bytes", 0), int(size[:-1]) * GIB, ended)
        return job

    def estimate(self, *arguments):
        return cli.strict_json(self.succeeds("estimate", "--json", *map(str, arguments)))

    def test_the_same_command_answers_from_its_peak(self):
        self.assertIn(UNKNOWN, self.refuses("estimate", "--", *TRAIN, "32", code=1))
        job = self.ran("12G", *TRAIN, "32")
        out = self.estimate("--", *TRAIN, "32")
        self.assertEqual((out["basis"], out["expected_bytes"]), ("history", 12 * GIB))
        self.assertGreater(out["upper_bytes"], 12 * GIB)
        self.assertLess(out["upper_bytes"], 13 * GIB)
        self.assertIsNone(out["breakdown_bytes"])
        self.assertEqual([run["job"] for run in out["history"]], [job])
        self.assertIn(f"1 run of this command: job {job};", out["notes"][0])
        text = self.succeeds("estimate", "--", *TRAIN, "32")
        for words in ("batch 32, from earlier runs", "expected peak", "12.00", "basis: history", "no breakdown",
                      "simulated"):
            self.assertIn(words, text)
        for words in ("weights", "allocator slack", "to reduce it"):
            self.assertNotIn(words, text)

    def test_only_the_very_same_job_counts(self):
        self.ran("12G", *TRAIN, "32")
        self.write("elsewhere/x", "")
        for other in (("--", *TRAIN, "16"), ("--gpus", "2", "--", *TRAIN, "32"), ("--no-history", "--", *TRAIN, "32"),
                      ("--dtype", "bf16", "--", *TRAIN, "32"), ("--batch", "64", "--", *TRAIN, "32"),
                      ("--context", "1G", "--", *TRAIN, "32"), ("--", *TRAIN, "32", "--more")):
            self.assertIn(UNKNOWN, self.refuses("estimate", *other, code=1), other)
        self.assertEqual(self.estimate("--batch", "32", "--gpus", "1", "--", *TRAIN, "32")["basis"], "history")
        # Without a server the answer is the same; only a named server must exist.
        self.assertNotIn("server", self.refuses("estimate", "--", *TRAIN, "32", code=1,
                                                env={"CARPOOL_SOCKET": "/none"}))
        self.assertIn("no server answers", self.refuses("estimate", "--socket", "/none", "--", *TRAIN, "32", code=1))

    def test_a_model_file_is_asked_only_after_history(self):
        self.write("config.json", '{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, '
                                  '"vocab_size": 50257, "n_positions": 1024}')
        self.ran("12G", *TRAIN, "4")
        self.assertEqual(self.estimate("config.json", "--", *TRAIN, "4")["basis"], "history")
        self.assertEqual(self.estimate("config.json", "--", *TRAIN, "5")["basis"], "config")
        self.assertEqual(self.estimate("config.json", "--batch", "4")["basis"], "config")
        # One batch size says nothing about others: the model answers, and the measurement is a note.
        out = self.estimate("config.json", "--fits", "40G", "--", *TRAIN, "4")
        self.assertEqual(out["basis"], "config")
        self.assertGreater(out["fits"]["largest_batch"], 4)
        self.assertTrue(any("12.00 GiB" in note for note in out["notes"]), out["notes"])
        self.assertIn("two batch sizes", self.refuses("estimate", "--fits", "40G", "--", *TRAIN, "4", code=1))

    def test_other_batch_sizes_give_a_line(self):
        jobs = [self.ran("4G", *TRAIN, "8"), self.ran("6G", *TRAIN, "16")]
        out = self.estimate("--fits", "20G", "--", *TRAIN, "32")
        self.assertEqual((out["basis"], out["expected_bytes"]), ("history at other batch sizes", 10 * GIB))
        self.assertEqual(sorted(run["job"] for run in out["history"]), jobs)
        self.assertEqual(out["levers"], [{"change": "batch 16 instead of 32", "expected_bytes": 6 * GIB}])
        largest = out["fits"]["largest_batch"]
        self.assertLessEqual(self.estimate("--batch", largest, "--", *TRAIN, "8")["upper_bytes"], 20 * GIB)
        self.assertGreater(self.estimate("--batch", largest + 1, "--", *TRAIN, "8")["upper_bytes"], 20 * GIB)
        text = self.succeeds("estimate", "--batch", "32", "--fits", "20G", "--", *TRAIN, "8")
        for words in ("with batch 8, 16: jobs 2 and 1", f"largest batch within 20 GiB: {largest}",
                      "to reduce it"):
            self.assertIn(words, text)

    def test_a_long_sweep_does_not_hide_what_ran_before(self):
        job = self.ran("12G", *TRAIN, "32")
        self.succeeds("submit", "--array", "0-699", "--mem", "1G", "--runtime", "1s", "--", "python", "sweep.py")
        server.until(lambda: not self.get("/v1/queue")["jobs"], "the sweep to end")
        self.assertEqual([run["job"] for run in self.estimate("--", *TRAIN, "32")["history"]], [job])

    def test_a_submission_reserves_what_earlier_runs_took(self):
        job = self.ran("12G", *TRAIN, "32")
        told = self.succeeds("submit", "--mem", "auto", "--", *TRAIN, "32")
        self.assertIn(f"(from history: job {job})", told)
        bound = self.estimate("--", *TRAIN, "32")["upper_bytes"]
        self.assertEqual(self.prints_json("show", job + 1)["asked_mem_bytes"], bound)
        self.assertIn("--mem SIZE", self.refuses("submit", "--gpus", "2", "--mem", "auto", "--", *TRAIN, "32", code=1))

    def test_a_run_that_was_cancelled_is_a_lower_bound(self):
        self.ran("4G", *TRAIN, "32")
        job = self.submit("--mem", "9G", "--runtime", "1000000s", "--", *TRAIN, "32")
        server.until(lambda: self.job(job).get("used_bytes"), "its memory to be seen")
        self.succeeds("cancel", job)
        self.assertEqual(self.await_end(job)["attempts"][-1]["peak_bytes"], 9 * GIB)
        self.assertIn(f"job {job} used 9 GiB", self.refuses("estimate", "--", *TRAIN, "32", code=1))


class OnGpus(server.ServerTest):
    """Real processes, on the GPUs of a fake driver."""

    def run_with(self, size, script, job_options=()):
        """A job whose memory the driver reports; then the script decides how it ends."""
        (self.folder / "go").unlink(missing_ok=True)
        job = self.submit("--mem", "20G", *job_options, "--", "sh", "train.sh", "-b", "4")
        pid = server.until(lambda: (p := self.folder / "pid").exists() and p.read_text().strip(), "it to run")
        self.change_gpus(f"gpus = 2\nmemory_used = 0\nprocesses =\ngpu0.processes = {pid}:{size}\n"
                         f"gpu1.processes = {pid}:{size}\n")
        server.until(lambda: self.job(job).get("used_bytes") == size, "its memory to be seen")
        self.write("script", script)
        self.write("go", "")
        ended = self.await_end(job)
        self.change_gpus("gpus = 2\nmemory_used = 0\nprocesses =\n")
        (self.folder / "pid").unlink()
        return ended

    def setUp(self):
        super().setUp()
        self.start()
        self.write("train.sh", "echo $$ > pid.new; mv pid.new pid; while [ ! -e go ]; do sleep 0.05; done; . ./script")

    def test_what_ended_well_counts_and_what_ran_out_of_memory_does_not(self):
        command = ("--", "sh", "train.sh", "-b", "4")
        self.assertEqual(self.run_with(3 * GIB, "exit 3")["state"], "failed")
        self.assertIn(UNKNOWN, self.refuses("estimate", *command, code=1))
        self.assertEqual(self.run_with(5 * GIB, "exit 0")["state"], "succeeded")
        out = cli.strict_json(self.succeeds("estimate", "--json", *command))
        self.assertEqual((out["basis"], out["expected_bytes"]), ("history", 5 * GIB))
        self.assertFalse(any("simulated" in note for note in out["notes"]), out["notes"])
        ended = self.run_with(8 * GIB, OUT_OF_MEMORY_AT_FIRST)
        self.assertEqual((ended["state"], ended["out_of_memory_count"]), ("succeeded", 1))
        self.assertIn("job 3 used 8 GiB", self.refuses("estimate", *command, code=1))

    def test_the_history_of_the_api_tells_commands_on_demand(self):
        self.run_with(5 * GIB, "exit 0")
        plain = self.get("/v1/history")["jobs"][0]
        self.assertEqual(plain["peak_bytes"], 5 * GIB)
        self.assertNotIn("argv", plain)
        whole = self.get("/v1/history?commands=1")["jobs"][0]
        self.assertEqual((whole["argv"], whole["gpu_count"]), (["sh", "train.sh", "-b", "4"], 1))
        self.assertEqual(pathlib.Path(whole["cwd"]), self.folder)


if __name__ == "__main__":
    unittest.main()
