#!/usr/bin/env python3
"""The life of jobs under a real server: submitted, run, watched, stopped, recovered."""

import bisect
import datetime
import os
import re
import signal
import subprocess
import time
import unittest

import cli
import server

PYTORCH = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
           "capacity of 79.10 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this "
           "process has 6.00 GiB memory in use. Of the allocated memory 5.50 GiB is allocated by "
           "PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.")


class Jobs(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def test_a_command_runs_where_it_was_submitted_and_its_output_comes_back(self):
        done = self.carpool("submit", "--wait", "--mem", "1G", "--", "sh", "-c",
                            "pwd; echo $CUDA_VISIBLE_DEVICES; echo trouble >&2")
        self.assertEqual(done.returncode, 0, done.stderr)
        logs = self.carpool("logs", "1")
        self.assertTrue(logs.stdout.startswith(f"{self.folder}\nGPU-"), logs.stdout)
        self.assertEqual(logs.stderr, "trouble\n")

    def test_wait_returns_the_jobs_own_code_or_its_signal(self):
        for script, code in (("exit 7", 7), ("kill -TERM $$", 143)):
            done = self.carpool("submit", "--wait", "--mem", "1G", "--", "sh", "-c", script)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(self.carpool("wait", "1", "2").returncode, 143)

    def test_a_job_that_cannot_start_fails_with_its_reason(self):
        done = self.carpool("submit", "--wait", "--mem", "1G", "--", "/no/such/program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/program", done.stderr)

    def test_show_tells_what_was_asked_for(self):
        self.submit("--hold", "--mem", "1G", "--mem-limit", "4G", "--runtime", "1h", "--retries", "2", "--progress", "none",
                    "--slo", "20ms", "--quantile", "0.999", "--", "true")
        self.submit("--hold", "--mem", "1G", "--best-effort", "--policy", "orion", "--", "true")
        shown = self.succeeds("show", "1")
        for line in ("memory limit 4.0G", "run time     1:00:00, as told", "retries      2", "progress     none",
                     "SLO          99.9 % of the requests within 20 ms"):
            self.assertRegex(shown, f"(?m)^{line}$")
        self.assertNotIn("retries", self.succeeds("show", "2"))
        self.assertRegex(self.succeeds("show", "2"), "(?m)^gate policy  orion$")

    def test_memory_that_is_estimated_is_reserved_by_its_upper_bound(self):
        command = ("--", "echo", "--model_name_or_path", "gpt2", "--per_device_train_batch_size", "4")
        told = self.succeeds("submit", "--mem", "auto", *command)
        self.assertIn("of GPU memory, at most", told)
        bound = cli.strict_json(self.succeeds("estimate", "--json", *command))["upper_bytes"]
        self.assertEqual(self.prints_json("show", "1")["asked_mem_bytes"], bound)
        self.write("config.json", '{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, '
                                  '"vocab_size": 50257, "n_positions": 1024}')
        self.write("job.toml", 'argv = ["echo", "-b", "2"]\nmem = "auto"\nmodel = "config.json"\n')
        self.succeeds("submit", "job.toml")
        self.assertGreater(self.prints_json("show", "2")["asked_mem_bytes"], 2**30)
        self.assertIn("--mem SIZE", self.refuses("submit", "--mem", "auto", "--", "python", "train.py", code=1))
        self.refuses("submit", "--mem", "auto", "--model", "none.json", "--", "true", says=("none.json", "No such file"))
        self.refuses("submit", "--mem", "1G", "--model", "config.json", "--", "true", says="--mem auto")
        self.succeeds("submit", *command)
        shown = self.prints_json("show", "3")
        self.assertEqual((shown["asked_mem_bytes"], shown["mem_auto"]), (bound, True))
        self.succeeds("submit", "--mem", "none", *command)
        self.assertNotIn("asked_mem_bytes", {key for key, value in self.prints_json("show", "4").items() if value})

    def test_a_job_whose_bound_no_gpu_can_hold_runs_exclusively(self):
        largest = max(gpu["memory_bytes"] for gpu in self.get("/v1/gpus")["gpus"])

        def command_of(batch):
            return ("--", "echo", "--model_name_or_path", "gpt2", "--per_device_train_batch_size", str(batch))

        def estimate(batch):
            return cli.strict_json(self.succeeds("estimate", "--json", *command_of(batch)))

        batch = bisect.bisect(range(1_000), largest, lo=1, key=lambda batch: estimate(batch)["upper_bytes"])
        command, said = command_of(batch), estimate(batch)
        self.assertGreater(said["upper_bytes"], largest)
        self.assertLess(said["expected_bytes"], largest)
        self.assertIn("the job gets a GPU to itself", self.succeeds("submit", "--mem", "auto", *command))
        job = self.await_end(1)
        self.assertEqual((job["state"], job["exclusive"], job["asked_mem_bytes"]),
                         ("succeeded", True, said["expected_bytes"]))

    def test_cancel_ends_a_running_job_and_takes_a_waiting_one_out(self):
        running = self.submit("--gpus", "2", "--", "sleep", "600")
        self.await_state(running, "running")
        waiting = self.submit("--gpus", "2", "--", "sleep", "600")
        self.succeeds("cancel", waiting, running)
        self.assertEqual(self.await_end(waiting)["state"], "cancelled")
        self.assertEqual(self.await_end(running)["signal"], signal.SIGTERM)
        self.refuses("cancel", running, code=2, says=(str(running), "already ended"))

    def test_a_job_past_its_time_is_ended(self):
        job = self.submit("--mem", "1G", "--time", "1s", "--", "sleep", "600")
        ended = self.await_end(job)
        self.assertEqual((ended["end"], ended["code"]), ("time-limit", "TO"))

    def test_hold_release_and_requeue(self):
        first = self.submit("--exclusive", "--gpus", "2", "--", "sleep", "600")
        self.await_state(first, "running")
        second = self.submit("--mem", "1G", "--", "true")
        self.succeeds("hold", second)
        self.assertEqual(self.job(second)["code"], "H")
        self.succeeds("requeue", first)
        self.await_job(first, lambda job: len(job["attempts"]) == 2, "to have a second attempt")
        self.succeeds("cancel", first)
        self.await_end(first)
        self.assertEqual(self.job(second)["state"], "held")
        self.succeeds("release", second)
        self.assertEqual(self.await_end(second)["state"], "succeeded")

    def test_jobs_wait_for_others_and_arrays_know_their_index(self):
        first = self.submit("--mem", "1G", "--", "sh", "-c", "echo first >> order")
        second = self.submit("--after", first, "--mem", "1G", "--", "sh", "-c", "echo second >> order")
        self.await_end(second)
        self.assertEqual((self.folder / "order").read_text(), "first\nsecond\n")
        numbers = self.succeeds("submit", "--parsable", "--array", "3-5", "--mem", "1G", "--", "sh",
                                "-c", "touch index.$CARPOOL_ARRAY_INDEX").split()
        self.assertEqual(self.carpool("wait", *numbers).returncode, 0)
        self.assertEqual(sorted(p.name for p in self.folder.glob("index.*")),
                         ["index.3", "index.4", "index.5"])

    def test_a_job_over_its_cap_is_tried_again_at_once_with_what_the_message_asks_for(self):
        script = self.write("train.sh", f"""
            if [ "$CARPOOL_ATTEMPT" = 1 ]; then echo '{PYTORCH}' >&2; exit 1; fi
            echo trained
        """)
        job = self.submit("--mem", "4G", "--", "sh", script)
        other = self.submit("--mem", "1G", "--", "true")
        ended = self.await_end(job)
        self.assertEqual(ended["state"], "succeeded")
        self.assertEqual([a["end"] for a in ended["attempts"]], ["over-cap", "succeeded"])
        self.assertGreaterEqual(ended["attempts"][1]["reserved_bytes"], 8 << 30)
        self.assertLess(ended["attempts"][1]["reserved_bytes"], 16 << 30)
        self.assertEqual(self.await_end(other)["state"], "succeeded")

    def test_an_ordinary_failure_is_not_tried_again_even_with_oom_in_its_path(self):
        folder = self.folder / "OOM"
        folder.mkdir()
        job = self.submit("--mem", "1G", "--", "sh", folder / "unsuccessful OOM.sh")
        ended = self.await_end(job)
        self.assertEqual((ended["state"], ended["end"], len(ended["attempts"])), ("failed", "failed", 1))

    def test_a_failing_job_is_retried_as_often_as_asked(self):
        job = self.submit("--mem", "1G", "--retries", "2", "--", "sh", "-c", "echo x >> tries; exit 1")
        self.assertEqual(self.await_end(job)["state"], "failed")
        self.assertEqual((self.folder / "tries").read_text(), "x\nx\nx\n")

    def test_follow_shows_output_as_it_comes(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c",
                          "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two")
        with subprocess.Popen([cli.PROGRAM, "logs", "-f", str(job)], stdout=subprocess.PIPE, text=True,
                              env=cli.environment(self.folder, **self.surroundings())) as reading:
            self.assertEqual(reading.stdout.readline(), "one\n")
            self.write("go", "")
            self.assertEqual(reading.stdout.read(), "two\n")

    def test_explain_gives_the_constraint_and_the_candidates(self):
        large = self.submit("--mem", "70G", "--gpus", "2", "--", "sleep", "600")
        self.await_state(large, "running")
        waiting = self.submit("--mem", "60G", "--", "true")
        why = server.until(lambda: (e := self.prints_json("explain", waiting)).get("constraint") and e,
                           "a decision")
        self.assertEqual([gpu["possible"] for gpu in why["candidates"]], [False, False], why)
        self.assertTrue(why["reason"], why)
        self.assertIn(why["reason"], self.prints_json("show", waiting)["reason"])
        self.assertIn("GPU 1:", self.succeeds("explain", waiting))
        self.succeeds("cancel", large, waiting)

    def test_two_small_jobs_share_a_gpu_under_mps_and_know_their_daemon(self):
        jobs = [self.submit("--mem", "1G", "--", "sh", "-c",
                            "echo $CUDA_MPS_PIPE_DIRECTORY; while [ ! -e go ]; do sleep 0.05; done")
                for _ in range(3)]
        views = [self.await_state(job, "running") for job in jobs]
        shared = [v for v in views if v["mechanism"] == "mps"]
        self.assertGreaterEqual(len(shared), 2, views)  # three jobs on two GPUs
        self.write("go", "")
        for job in jobs:
            self.assertEqual(self.await_end(job)["state"], "succeeded", self.job(job))
        for view in shared:
            self.assertIn("/mps/", self.carpool("logs", view["id"]).stdout)

    def test_a_foreign_process_is_seen(self):
        stranger = subprocess.Popen(["sleep", "600"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.change_gpus(f"gpus = 2\nmemory_used = 0\nprocesses =\n"
                         f"gpu1.processes = {stranger.pid}:1073741824\n")
        gpus = server.until(lambda: (g := self.get("/v1/gpus")["gpus"])[1]["foreign"] and g, "it")
        self.assertEqual(gpus[1]["foreign_bytes"], 1 << 30)
        self.assertFalse(gpus[0]["foreign"])

    def test_a_draining_server_starts_nothing_until_drain_is_undone(self):
        self.succeeds("drain", "--wait")
        job = self.submit("--mem", "1G", "--", "true")
        self.assertEqual(self.job(job)["state"], "queued")
        self.succeeds("drain", "--undo")
        self.assertEqual(self.await_end(job)["state"], "succeeded")

    def test_json_of_a_command_is_one_document(self):
        first = self.submit("--mem", "1G", "--", "sh", "-c", "echo out; echo err >&2")
        second = self.submit("--mem", "1G", "--", "true")
        self.assertEqual([job["exit_code"] for job in self.prints_json("wait", first, second)], [0, 0])
        self.assertEqual(self.prints_json("wait", first)["state"], "succeeded")
        self.assertEqual(self.prints_json("show", first)["id"], first)
        self.assertEqual([job["id"] for job in self.prints_json("show", first, second)], [first, second])
        self.assertEqual(len(self.prints_json("explain", first, second)), 2)
        self.assertEqual(self.prints_json("logs", first), {"id": first, "stdout": "out\n", "stderr": "err\n"})
        told = cli.strict_json(self.succeeds("submit", "--json", "--wait", "--array", "0-1", "--mem", "1G", "--", "true"))
        self.assertEqual([job["state"] for job in told["jobs"]], ["succeeded"] * 2)
        self.assertEqual(told["ids"], [job["id"] for job in told["jobs"]])
        held = [self.submit("--gpus", "2", "--mem", "1G", "--after", self.submit("--mem", "1G", "--", "sleep", "600"),
                            "--", "true") for _ in range(2)]
        self.assertEqual([job["done"] for job in self.prints_json("hold", *held)], ["hold"] * 2)
        done = self.carpool("cancel", "--json", held[0], 9999, held[1])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual([job["id"] for job in cli.strict_json(done.stdout)], held)


class Restart(server.ServerTest):
    def test_a_drain_survives_a_restart_and_a_kill(self):
        self.start()
        self.succeeds("drain")
        job = self.submit("--mem", "1G", "--", "true")
        for end in (self.kill_server, self.stop_server):
            end()
            self.start()
            self.assertTrue(self.get("/v1/status")["draining"])
            words = r"drained by \w+ since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}: no further job starts"
            self.assertRegex(self.succeeds("queue"), words)
            self.assertRegex(self.succeeds("explain", job), words)
            self.assertIn("carpool drain --undo", self.succeeds("explain", job))
            self.assertEqual(self.job(job)["state"], "queued")
        self.succeeds("drain", "--undo")
        self.assertEqual(self.await_end(job)["state"], "succeeded")
        self.kill_server()
        self.start()
        self.assertFalse(self.get("/v1/status")["draining"])

    def test_a_drain_tells_the_time_of_a_simulated_server(self):
        self.start("--simulated", "1xA100-40", "--speed", "100000")
        day = 86_400
        server.until(lambda: self.get("/v1/status")["now_s"] > time.time() + day, "a day of the server")
        self.succeeds("drain")
        words = re.search(r"since (\d+-\d+-\d+ \d+:\d+:\d+ .\d{4}):", self.get("/v1/status")["notice"])
        since = datetime.datetime.strptime(words.group(1), "%Y-%m-%d %H:%M:%S %z").timestamp()
        self.assertGreater(since, time.time() + day / 2)

    def test_jobs_survive_a_server_that_is_stopped_and_one_that_is_killed(self):
        self.start()
        script = "echo $CARPOOL_ATTEMPT >> ran; while [ ! -e go ]; do sleep 0.05; done; exit 3"
        job = self.submit("--mem", "1G", "--", "sh", "-c", script)
        self.await_state(job, "running")
        self.stop_server()
        self.start()
        self.assertEqual(self.job(job)["state"], "running")
        self.kill_server()
        self.write("go", "")
        supervisor = self.claims()[f"{job}.1"]
        server.until(lambda: server.has_ended(supervisor), "its end")
        self.start()
        ended = self.await_end(job)
        self.assertEqual((ended["state"], ended["exit_code"]), ("failed", 3))
        self.assertEqual((self.folder / "ran").read_text(), "1\n")

    def test_wait_outlives_a_restart(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 4")
        with subprocess.Popen([cli.PROGRAM, "wait", str(job)], stderr=subprocess.DEVNULL,
                              env=cli.environment(self.folder, **self.surroundings())) as waiting:
            self.await_state(job, "running")
            self.kill_server()
            self.start()
            self.write("go", "")
            self.assertEqual(waiting.wait(server.PATIENCE_S), 4)

    def test_a_second_server_in_the_same_folder_is_a_conflict(self):
        self.start()
        others = self.write("nvml2", "gpus = 1\nmemory_used = 0\nprocesses =\n")  # other GPUs
        self.refuses("serve", "--state", self.state, "--socket", self.folder / "other", code=2,
                     env={"CARPOOL_FAKE_NVML": str(others)}, says=(str(self.state), "another server", str(self.server.pid)))
        self.assertTrue(self.answers())

    def test_a_killed_supervisor_takes_its_job_with_it_and_the_job_runs_again(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sh", "-c",
                          "[ $CARPOOL_ATTEMPT = 2 ] && exit 0; touch began; sleep 600")
        server.until((self.folder / "began").exists, "its first instruction")
        supervisor = server.until(lambda: self.claims().get(f"{job}.1"), "its supervisor")
        os.kill(supervisor, signal.SIGKILL)
        ended = self.await_end(job)
        self.assertEqual([a["end"] for a in ended["attempts"]], ["lost", "succeeded"])


class SlowMps(server.MpsTest):
    CONTROL = ('if [ "$1" = -d ]; then touch {folder}/starting; '
               'while [ ! -e {folder}/go ]; do sleep 0.05; done; fi')

    def test_a_supervisor_killed_while_its_mps_daemon_starts_leaves_the_daemon_to_the_next(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sh", "-c", "echo $CUDA_MPS_PIPE_DIRECTORY")
        server.until((self.folder / "starting").exists, "the start of its MPS daemon")
        os.kill(self.claims()[f"{job}.1"], signal.SIGKILL)
        self.write("go", "")
        ended = self.await_end(job)
        self.assertEqual([a["end"] for a in ended["attempts"]], ["machine-trouble", "succeeded"], ended)
        self.assertIn("/mps/", self.carpool("logs", job).stdout)


if __name__ == "__main__":
    unittest.main()
