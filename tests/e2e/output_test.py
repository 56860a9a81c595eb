#!/usr/bin/env python3
"""Output of jobs: its last lines, files that a job names for it, sweeps, and what is told when a job ends."""

import os
import subprocess
import unittest

import cli
import server


class Tail(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def lines(self, *numbers):
        return "".join(f"line {number}\n" for number in numbers)

    def test_prints_the_last_lines_of_each_stream(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c", 'for i in $(seq 50); do echo "line $i"; done; '
                          "echo first >&2; printf last >&2")
        self.await_end(job)
        done = self.carpool("logs", "--tail", "2", job)
        self.assertEqual((done.stdout, done.stderr), (self.lines(49, 50), "first\nlast"))
        self.assertEqual(self.succeeds("logs", "-n", "0", job), "")
        self.assertEqual(self.succeeds("logs", "--tail", "1000", job), self.lines(*range(1, 51)))
        self.assertEqual(self.prints_json("logs", "--tail", "1", job)["stdout"], self.lines(50))
        other = self.submit("--mem", "1G", "--", "sh", "-c", "seq 9")
        self.await_end(other)
        self.assertEqual(self.succeeds("logs", "--tail", "1", job, other),
                         f"==> job {job} <==\nline 50\n==> job {other} <==\n9\n")

    def test_follows_from_the_last_lines_on(self):
        gate = self.folder / "gate"
        os.mkfifo(gate)
        job = self.submit("--mem", "1G", "--", "sh", "-c", f"seq 9; read x < {gate}; echo end")
        self.await_state(job, "running")
        server.until(lambda: self.succeeds("logs", job).endswith("9\n"), "the output")
        with self.follow(job) as reader:
            self.assertEqual([reader.stdout.readline() for _ in range(2)], ["8\n", "9\n"])
            gate.write_text("go\n")
            self.assertEqual(reader.stdout.read(), "end\n")
            self.assertEqual(reader.wait(server.PATIENCE_S), 0)

    def follow(self, job):
        return subprocess.Popen([cli.PROGRAM, "logs", "-f", "--tail", "2", str(job)], text=True,
                                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                env=cli.environment(self.folder, **self.surroundings()))


class OwnFiles(server.ServerTest):
    BOTH = "echo one; echo two >&2; echo three"

    def setUp(self):
        super().setUp()
        self.start()

    def read(self, name):
        return (self.folder / name).read_text()

    def test_output_takes_both_streams_in_their_order(self):
        job = self.submit("--mem", "1G", "--output", "out-%j-100%%.log", "--", "sh", "-c", self.BOTH)
        self.await_end(job)
        file = f"out-{job}-100%.log"
        self.assertEqual(self.read(file), "one\ntwo\nthree\n")
        self.assertEqual(self.succeeds("logs", job), "one\ntwo\nthree\n")
        seen = self.job(job)
        self.assertEqual({seen["stdout_file"], seen["stderr_file"]}, {str(self.folder / file)})
        self.assertIn(str(self.folder / file), self.succeeds("show", job))

    def test_error_is_a_file_of_its_own_and_relative_to_the_folder_of_the_job(self):
        (self.folder / "there").mkdir()
        job = self.submit("--mem", "1G", "--chdir", "there", "--output", "o", "--error", "e", "--",
                          "sh", "-c", self.BOTH)
        self.await_end(job)
        self.assertEqual((self.read("there/o"), self.read("there/e")), ("one\nthree\n", "two\n"))
        done = self.carpool("logs", job)
        self.assertEqual((done.stdout, done.stderr), ("one\nthree\n", "two\n"))
        only = self.submit("--mem", "1G", "--error", "only", "--", "sh", "-c", self.BOTH)
        self.await_end(only)
        self.assertEqual(self.read("only"), "two\n")
        self.assertEqual(self.carpool("logs", only).stdout, "one\nthree\n")

    def test_attempts_append_and_each_has_its_own_log(self):
        self.write("kept", "before\n")
        job = self.submit("--mem", "1G", "--output", "kept", "--retries", "1", "--", "sh", "-c",
                          "echo attempt $CARPOOL_ATTEMPT; exit 3")
        self.assertEqual(self.await_end(job)["exit_code"], 3)
        self.assertEqual(self.read("kept"), "before\nattempt 1\nattempt 2\n")
        self.assertEqual(self.succeeds("logs", job), "attempt 2\n")
        self.assertEqual(self.succeeds("logs", "--attempt", "1", job), "attempt 1\n")

    def test_out_of_memory_is_seen_in_an_own_file(self):
        job = self.submit("--mem", "1G", "--output", "kept", "--", "sh", "-c",
                          "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2; exit 1")
        self.assertEqual(self.await_end(job)["attempts"][0]["end"], "out-of-memory")

    def test_the_output_is_in_the_logs_while_the_job_runs(self):
        job = self.submit("--mem", "1G", "--output", "kept", "--", "sh", "-c", "echo now; exec sleep 600")
        server.until(lambda: self.succeeds("logs", job) == "now\n", "the output")
        self.succeeds("cancel", job)

    def test_jobs_of_an_array_have_their_own_files(self):
        first = int(self.succeeds("submit", "--parsable", "--mem", "1G", "--array", "2-3", "--output", "%a.log", "--",
                                  "sh", "-c", "echo $CARPOOL_ARRAY_INDEX").split()[0])
        for job in (first, first + 1):
            self.await_end(job)
        self.assertEqual((self.read("2.log"), self.read("3.log")), ("2\n", "3\n"))

    def test_a_file_that_cannot_be_opened_fails_the_job_with_the_reason(self):
        for name in ("absent/out", "."):
            job = self.await_end(self.submit("--mem", "1G", "--output", name, "--", "true"))
            self.assertEqual((job["state"], job["end"]), ("failed", "never-started"))
            self.assertIn("for the output of the job", job["reason"])
        nowhere = self.submit("--mem", "1G", "--output", "/dev/null", "--", "echo", "x")
        self.assertEqual(self.await_end(nowhere)["state"], "succeeded")


@unittest.skipUnless(os.geteuid() == 0, "a server for all users needs root")
class OwnFilesOfAUser(server.SystemServerTest):
    def test_are_opened_with_the_rights_of_the_user(self):
        secret = self.write("secret", "secret\n")
        secret.chmod(0o600)
        (self.mine / "link").symlink_to(secret)
        (self.folder / "closed").mkdir(mode=0o755)
        for name in ("link", self.folder / "closed" / "out"):
            done = self.as_nobody("submit", "--parsable", "--mem", "1G", "--output", name, "--", "echo", "attack")
            job = self.await_end(int(done.stdout))
            self.assertEqual(job["end"], "never-started", job)
            self.assertIn("Permission denied", job["reason"])
        self.assertEqual(secret.read_text(), "secret\n")
        done = self.as_nobody("submit", "--parsable", "--mem", "1G", "--output", "mine.log", "--", "id", "-un")
        self.await_end(int(done.stdout))
        file = self.mine / "mine.log"
        self.assertEqual((file.read_text(), file.stat().st_uid), ("nobody\n", server.nobody()))
        self.assertEqual(self.as_nobody("logs", int(done.stdout)).stdout, "nobody\n")


class Sweeps(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def test_are_an_array_with_every_combination(self):
        ids = [int(word) for word in self.succeeds(
            "submit", "--parsable", "--mem", "1G", "--param", "lr=1e-3,1e-4", "--param", "seed=1,2", "--", "sh", "-c",
            "echo {lr} {seed} {other} $CARPOOL_PARAM_LR $CARPOOL_PARAM_SEED $CARPOOL_ARRAY_INDEX").split()]
        for job in ids:
            self.await_end(job)
        said = [self.succeeds("logs", job).strip() for job in ids]
        self.assertEqual(said, [f"{lr} {seed} {{other}} {lr} {seed} {index}" for index, (lr, seed) in enumerate(
            (lr, seed) for lr in ("1e-3", "1e-4") for seed in (1, 2))])
        self.assertEqual(self.job(ids[1])["params"], {"lr": "1e-3", "seed": "2"})
        self.assertIn("lr=1e-3 seed=2", self.succeeds("show", ids[1]))

    def test_of_a_file_survive_a_restart_and_name_outputs(self):
        self.write("job.toml", 'argv = ["echo", "{bs}"]\nmem = "1G"\nhold = true\noutput = "bs-{bs}.log"\n'
                               'params = {bs = [8, 16]}\n')
        first = int(self.succeeds("submit", "--parsable", "job.toml").split()[0])
        self.kill_server()
        self.start()
        self.succeeds("release", f"{first}[]")
        for job in (first, first + 1):
            self.await_end(job)
        self.assertEqual([(self.folder / f"bs-{bs}.log").read_text() for bs in (8, 16)], ["8\n", "16\n"])


class Notices(server.ServerTest):
    NOTIFY = 'echo "$CARPOOL_JOB_ID $CARPOOL_JOB_NAME $CARPOOL_JOB_STATE $CARPOOL_EXIT_CODE" >> told'

    def setUp(self):
        super().setUp()
        self.start()

    def told(self):
        file = self.folder / "told"
        return file.read_text() if file.exists() else ""

    def all_given(self):
        """No folder of a notice is left: each command has ended."""
        return not any((self.state / "notices").iterdir())

    def submit_notified(self, *arguments):
        return self.submit("--mem", "1G", "--notify", self.NOTIFY, *arguments)

    def test_run_once_when_a_job_has_ended(self):
        fails = self.submit_notified("--retries", "1", "--name", "fails", "--", "sh", "-c", "exit 3")
        self.await_end(fails)
        server.until(self.all_given, "the notice")
        waits = self.submit_notified("--hold", "--name", "waits", "--", "true")
        self.succeeds("cancel", waits)
        server.until(self.all_given, "the notice")
        self.assertEqual(self.told(), f"{fails} fails failed 3\n{waits} waits cancelled \n")
        log = (self.folder / "server.log").read_text()
        self.assertRegex(log, rf"job {fails} \(\w+, fails\): attempt 1 starts on GPU \d: ")
        self.assertRegex(log, rf"job {fails} \(\w+, fails\): attempt 1 ended: failed: ")
        self.assertRegex(log, rf"job {fails} \(\w+, fails\): closed, failed: ")
        self.assertRegex(log, rf"job {waits} \(\w+, waits\): closed, cancelled: ")

    def test_of_a_job_that_ends_without_a_server_run_with_the_next_one(self):
        os.mkfifo(self.folder / "gate")
        job = self.submit_notified("--name", "n", "--", "sh", "-c", "read x < gate")
        self.await_state(job, "running")
        self.kill_server()
        (self.folder / "gate").write_text("go\n")
        self.start()
        self.await_end(job)
        server.until(self.all_given, "the notice")
        self.kill_server()
        self.start()
        self.assertEqual(self.told(), f"{job} n succeeded 0\n")

    def test_that_were_due_when_the_server_was_killed_run_with_the_next_one(self):
        job = self.submit_notified("--name", "n", "--", "true")
        self.await_end(job)
        server.until(self.all_given, "the notice")
        self.kill_server()
        (self.state / "notices" / str(job)).mkdir()  # as if the command had not begun
        self.start()
        server.until(self.all_given, "the notice")
        self.assertEqual(self.told(), f"{job} n succeeded 0\n" * 2)


@unittest.skipUnless(os.geteuid() == 0, "a server for all users needs root")
class NoticesOfAUser(server.SystemServerTest):
    def test_run_as_the_user(self):
        done = self.as_nobody("submit", "--parsable", "--mem", "1G", "--notify", "id -un > told", "--", "true")
        self.await_end(int(done.stdout))
        server.until(lambda: not any((self.state / "notices").iterdir()), "the notice")
        file = self.mine / "told"
        self.assertEqual((file.read_text(), file.stat().st_uid), ("nobody\n", server.nobody()))


if __name__ == "__main__":
    unittest.main()
