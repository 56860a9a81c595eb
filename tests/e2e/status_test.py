#!/usr/bin/env python3
"""carpool status, and the jobs that gpus and top show: with a server, a simulated one, and without one."""

import contextlib
import fcntl
import os
import pathlib
import pty
import select
import struct
import subprocess
import termios
import time
import unittest

import cli
import server

GIB = 2**30
NO_SERVER = 69  # the exit code


def sleeping_in(session):
    """The process of the session that runs `sleep`; None: there is none yet."""
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError, ProcessLookupError):
                if os.getsid(int(process.name)) == session and (process / "comm").read_text() == "sleep\n":
                    return int(process.name)
    return None


class Status(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def run_one(self):
        job = self.submit("--mem", "2G", "--name", "trainer", "--", "sleep", "600")
        self.await_state(job, "running")
        return job

    def test_has_the_server_its_gpus_with_jobs_by_name_and_the_queue(self):
        job = self.run_one()
        self.succeeds("drain")
        for name in ("next", "later"):
            self.submit("--mem", "1G", "--name", name, "--", "true")
        text = self.succeeds("status")
        self.assertRegex(text, r"Server: carpool \S+, policy \w+, 2 GPUs, up since 20\d\d-")
        self.assertIn(str(self.socket), text)
        self.assertRegex(text, r"Note: +.*drain")
        self.assertIn(f"{job} trainer (", text)
        self.assertIn("Queue: 1 running, 2 waiting: 2 Drained", text)
        self.assertRegex(text, r"(?m)^ +2 +next .* Drained$")
        status = self.prints_json("status")
        self.assertTrue(status["server"]["draining"])
        self.assertEqual(status["server"]["mode"], "gpus")
        self.assertGreaterEqual(status["server"]["up_s"], 0)
        self.assertEqual(sum(len(gpu["jobs"]) for gpu in status["gpus"]), 1)
        self.assertEqual((status["queue"]["running"], status["queue"]["reasons"]), (1, {"Drained": 2}))
        self.assertEqual([waiting["name"] for waiting in status["queue"]["first"]], ["next", "later"])

    def test_gpus_and_top_show_the_jobs_and_whose_processes_they_are(self):
        job = self.run_one()
        gpu = self.job(job)["gpus"][0]
        def program():
            return sleeping_in(self.get("/v1/gpus")["gpus"][gpu]["jobs"][0].get("session"))
        process = server.until(program, "the program of the job")
        self.change_gpus(f"gpus = 2\nmemory_used = {3 * GIB}\nprocesses = {process}:{2 * GIB} {os.getpid()}:{GIB}\n")
        shown = self.prints_json("gpus")[gpu]
        self.assertEqual([(found["id"], found["name"]) for found in shown["jobs"]], [(job, "trainer")])
        jobs = {found["pid"]: found.get("job") for found in shown["processes"]}
        self.assertEqual(jobs, {process: job, os.getpid(): None})
        text = self.succeeds("gpus", "--processes")
        self.assertRegex(text, rf"{job} trainer \(\w+\)")
        self.assertRegex(text, rf"(?m)^ +{gpu} +{process} .* {job}  sleep 600$")
        screen = self.succeeds("top", "--once")
        self.assertRegex(screen, rf"(?m)^ +{process} .* {job} .*sleep 600$")

    def test_without_a_driver_gpus_and_top_show_what_the_server_knows(self):
        job = self.run_one()
        no_driver = {"LD_LIBRARY_PATH": cli.FAKE_NVML_NOT}
        shown = self.prints_json("gpus", env=no_driver)
        self.assertEqual([gpu["name"] for gpu in shown], ["Fake H200"] * 2)
        self.assertEqual([found["id"] for gpu in shown for found in gpu["jobs"]], [job])
        self.assertIn(f"{job} trainer (", self.succeeds("gpus", env=no_driver))
        self.assertRegex(self.succeeds("top", "--once", env=no_driver), rf"(?m)^ +- .* {job} .*trainer$")

    def test_k_in_top_cancels_the_selected_job_after_a_question(self):
        job = self.run_one()
        person, program = pty.openpty()
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 130, 0, 0))
        top = subprocess.Popen([cli.PROGRAM, "top", "--interval", "0.1"], stdin=program, stdout=program, stderr=program,
                               env=cli.environment(self.folder, **self.surroundings()), start_new_session=True)
        self.addCleanup(os.close, person)
        self.addCleanup(os.close, program)
        self.addCleanup(top.kill)
        self.see(person, "trainer")
        for keys, seen in ((b"/nobody", "nothing matches"), (b"\033", "trainer"), (b"\r", "share of the GPU"),
                           (b"\r", "trainer"), (b"k", f"Cancel job {job} trainer"), (b"n", "q quit")):
            os.write(person, keys)
            self.see(person, seen)
        self.assertEqual(self.job(job)["state"], "running")
        os.write(person, b"k")
        self.see(person, "Cancel job")
        os.write(person, b"y")
        self.await_state(job, "cancelled")
        self.see(person, "is cancelled")
        os.write(person, b"q")
        self.assertEqual(top.wait(server.PATIENCE_S), 0)

    def see(self, person, wanted):
        """Reads the terminal until this text."""
        seen, end = b"", time.monotonic() + server.PATIENCE_S
        while wanted.encode() not in seen:
            self.assertLess(time.monotonic(), end, f"never saw {wanted!r}: {seen[-2000:]!r}")
            if select.select([person], [], [], 0.2)[0]:
                seen += os.read(person, 65536)

    def test_a_socket_without_a_server_is_said_and_the_gpus_are_shown(self):
        self.stop_server()
        done = self.carpool("status")
        self.assertEqual(done.returncode, NO_SERVER)
        self.assertIn("no server answers", done.stderr)
        self.assertIn("carpool serve", done.stderr)
        self.assertIn("memory [GiB]", done.stdout)
        done = self.carpool("status", "--json")
        self.assertEqual(done.returncode, NO_SERVER)
        alone = cli.strict_json(done.stdout)
        self.assertEqual((alone["server"], len(alone["gpus"])), (None, 2))
        self.assertIn("memory [GiB]", self.succeeds("gpus"))


class Simulated(server.ServerTest):
    def surroundings(self, **more):
        """Without a driver."""
        kept = super().surroundings(**more)
        return {name: kept[name] for name in kept if name not in ("LD_LIBRARY_PATH", "CARPOOL_FAKE_NVML")}

    def test_simulated_gpus_are_shown_too(self):
        self.start("--simulated", "2xA100-40", "--speed", "1")
        job = self.submit("--mem", "2G", "--runtime", "1d", "--name", "dreamer", "--", "sleep", "600")
        self.await_state(job, "running")
        self.assertIn("2 simulated GPUs", self.succeeds("status"))
        self.assertIn(f"{job} dreamer (", self.succeeds("gpus"))
        self.assertRegex(self.succeeds("top", "--once"), rf"(?m)^ +- .* {job} .*dreamer$")

    def test_who_submits_to_simulated_gpus_is_told_that_the_program_does_not_run(self):
        self.start("--simulated", "1xA100-40", "--speed", "600")
        said = "carpool: warning: the server simulates its GPUs: the program is not run\n"
        for command in (("run",), ("submit",), ("submit", "--parsable")):
            done = self.carpool(*command, "--mem", "1G", "--runtime", "60s", "--", "touch", "ran")
            self.assertEqual((done.returncode, done.stderr), (0, said), command)
        self.await_end(3)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(self.carpool("submit", "--quiet", "--", "true").stderr, "")

    def test_holds_of_a_job_are_told_before_an_unknown_program_is_complained_of(self):
        self.start("--simulated", "1xA100-40", "--speed", "1")
        self.submit("--mem", "2G", "--runtime", "1d", "--", "sleep", "600")
        done = self.carpool("explain", "--holds", "1", "nosuch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("Job 1 is of class normal", done.stdout)
        self.assertIn('"nosuch" is not the number of a job, and no program of carpool run can be found: no NVIDIA driver',
                      done.stderr)
        self.refuses("explain", "--holds", "1", "nosuch", "--json", says="to one command each")


if __name__ == "__main__":
    unittest.main()
