#!/usr/bin/env python3
"""run where a server answers: the program is a job of it, with and without a terminal."""

import fcntl
import os
import pty
import pwd
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import cli
import server

UNTIL_GO = "while [ ! -e go ]; do sleep 0.05; done"


class RunBase(server.ServerTest):
    GPUS = 1

    def setUp(self):
        super().setUp()
        self.start()

    def begin(self, *arguments, **options):
        """A run in the background; what it started is left to end_everything()."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        run = subprocess.Popen([cli.PROGRAM, "run", *map(str, arguments)], cwd=self.folder, text=True,
                               env=cli.environment(self.folder, **self.surroundings()), **streams)
        self.addCleanup(self.end, run)
        return run

    @staticmethod
    def end(run):
        if run.poll() is None:
            run.kill()
        run.wait()
        for stream in (run.stdout, run.stderr):
            if stream is not None:
                stream.close()

    def keep_the_gpu(self):
        """A job that nothing runs beside, until the file `go` is there."""
        job = self.submit("--exclusive", "--", "sh", "-c", UNTIL_GO)
        self.await_state(job, "running")
        return job

    def last_job(self):
        jobs = self.get("/v1/jobs?last=1")["jobs"]
        return jobs[0]["id"] if jobs else 0


class RunJobTest(RunBase):
    def test_streams_folder_environment_and_exit_code_are_the_programs(self):
        done = self.carpool("run", "--name", "mine", "--", "sh", "-c",
                            'echo "$HUE $CARPOOL_JOB_NAME"; pwd; echo careful >&2; exit 7', env={"HUE": "green"})
        self.assertEqual((done.returncode, done.stdout), (7, f"green mine\n{self.folder}\n"))
        self.assertEqual(done.stderr.splitlines()[0], "careful")
        self.assertIn("job 1 failed", done.stderr)
        self.assertEqual(self.job(1)["state"], "failed")
        quiet = self.carpool("run", "--", "echo", "hello")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "hello\n", ""))

    def test_a_signal_that_ends_the_job_is_in_the_exit_code(self):
        self.assertEqual(self.carpool("run", "--", "sh", "-c", "kill -9 $$").returncode, 128 + signal.SIGKILL)

    def test_output_comes_while_the_job_runs(self):
        run = self.begin("--", "sh", "-c", f"echo first; echo second >&2; {UNTIL_GO}; echo last")
        self.assertEqual(run.stdout.readline(), "first\n")
        self.assertEqual(run.stderr.readline(), "second\n")
        self.write("go", "")
        self.assertEqual(run.communicate(timeout=server.PATIENCE_S), ("last\n", ""))
        self.assertEqual(run.returncode, 0)

    def test_the_variable_that_names_request_ranges_reaches_the_job(self):
        program = ("--", "sh", "-c", "echo $CARPOOL_SHIM_NVTX $CARPOOL_SHIM_NAME")
        done = self.carpool("run", *program, env={"CARPOOL_SHIM_NVTX": "infer", "CARPOOL_SHIM_NAME": "session"})
        self.assertEqual((done.returncode, done.stdout), (0, "infer\n"), done.stderr)

    def test_why_it_waits_is_said(self):
        self.keep_the_gpu()
        run = self.begin("--", "sh", "-c", "while [ ! -e seen ]; do sleep 0.05; done; echo done")
        self.assertRegex(run.stderr.readline(), r"^carpool: info: job 2 is waiting: .*\w")
        self.write("go", "")
        self.assertIn("job 2 has started", run.stderr.readline())
        self.write("seen", "")
        self.assertEqual(run.communicate(timeout=server.PATIENCE_S), ("done\n", ""))
        self.assertEqual(run.returncode, 0)

    def test_ctrl_c_cancels_a_running_job(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            run = self.begin("--", "sh", "-c", "echo on; exec sleep 1000")
            self.assertEqual(run.stdout.readline(), "on\n")
            run.send_signal(number)
            _, err = run.communicate(timeout=server.PATIENCE_S)
            self.assertEqual(run.returncode, 128 + signal.SIGTERM, err)
            self.assertIn("cancelling job", err)
            self.assertEqual(self.job(self.last_job())["state"], "cancelled")

    def test_ctrl_c_cancels_a_waiting_job(self):
        self.keep_the_gpu()
        run = self.begin("--", "true")
        self.assertIn("is waiting", run.stderr.readline())
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=server.PATIENCE_S)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(self.job(2)["state"], "cancelled")

    def test_a_second_ctrl_c_leaves_at_once(self):
        run = self.begin("--", "sh", "-c", "trap '' TERM; echo on; while true; do sleep 0.1; done")
        self.assertEqual(run.stdout.readline(), "on\n")
        run.send_signal(signal.SIGINT)
        self.assertIn("Ctrl-C again leaves at once", run.stderr.readline())
        self.await_state(1, "stopping")
        server.until(lambda: run.poll() is not None or run.send_signal(signal.SIGINT), "the run to leave")
        self.assertEqual(run.returncode, -signal.SIGINT)
        self.assertEqual(self.await_end(1)["state"], "cancelled")

    def test_a_run_that_is_killed_cancels_its_job(self):
        run = self.begin("--", "sh", "-c", "echo on; exec sleep 1000", start_new_session=True)
        self.assertEqual(run.stdout.readline(), "on\n")
        os.killpg(run.pid, signal.SIGKILL)
        self.assertEqual(self.await_end(1)["state"], "cancelled")

    def test_a_restart_of_the_server_is_survived(self):
        run = self.begin("--", "sh", "-c", f"echo first; {UNTIL_GO}; echo last; exit 3")
        self.assertEqual(run.stdout.readline(), "first\n")
        self.kill_server()
        self.start()
        self.write("go", "")
        out, _ = run.communicate(timeout=server.PATIENCE_S)
        self.assertEqual((run.returncode, out), (3, "last\n"))

    def test_a_further_attempt_is_shown_too(self):
        self.write("train.sh", "#!/bin/sh\n#CARPOOL --retries 1\necho attempt $CARPOOL_ATTEMPT\n"
                               "[ $CARPOOL_ATTEMPT = 2 ]\n").chmod(0o755)
        done = self.carpool("run", "./train.sh")
        self.assertEqual((done.returncode, done.stdout), (0, "attempt 1\nattempt 2\n"), done.stderr)

    def test_input_that_would_be_lost_is_noted(self):
        done = self.carpool("run", "--", "cat", stdin=None, input="lost")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("standard input does not reach a job", done.stderr)

    def test_options_of_the_other_way_are_refused(self):
        for words in (("--mps", "off"), ("--kernel-log", "x"), ("--mem-guarantee", "1G"),
                      ("--learn-kernels",)):
            self.refuses("run", *words, "--", "true", says=(words[0], "leave it out", "--no-server"))
        for words in (("--time", "1h"), ("--gpus", "2"), ("--pty",), ("--clean-env",), ("--after-any", "1"),
                      ("--gpu-type", "H200")):
            self.refuses("run", "--no-server", *words, "--", "true", says=(words[0], "a job of a server"))
        self.refuses("run", "--no-server", "--gpu", "0,1", "--", "true", says=("--gpu", "one GPU", "--gpu 0"))
        self.refuses("run", "--no-server", "--mem", "auto", "--", "true", says="write a size such as 40G")
        self.refuses("run", "--pty", "--", "true", says=("--pty needs a terminal", "leave --pty out"))
        self.refuses("run", "--", "missing.py", says="missing.py: no such file")
        self.write("many.sh", "#!/bin/sh\n#CARPOOL --array 0-3\n")
        self.refuses("run", "./many.sh", says="carpool submit")
        self.assertEqual(self.last_job(), 0)

    def test_a_named_server_must_answer(self):
        self.stop_server()
        self.refuses("run", "--", "true", code=69, says=("no server answers", "--no-server"))


class RunOnAGpu(RunBase):
    GPUS = 3

    def test_the_gpus_that_are_named_are_those_of_the_job(self):
        name = self.get("/v1/gpus")["gpus"][0]["name"]
        for words, gpus in ((("--gpu", "2"), [2]), (("--gpu", "1", "--gpu-type", name.lower()[2:]), [1]),
                            (("--gpu", "1,2", "--gpus", "2"), [1, 2])):
            self.succeeds("run", "--mem", "1G", *words, "--", "true")
            self.assertEqual(self.job(self.last_job())["attempts"][0]["gpus"], gpus)
        self.refuses("run", "--gpu", "7", "--", "true", says=("there is no GPU 7", "this server has GPU 0 ("))


class Terminal:
    """A person at a pseudo-terminal in which a run is."""

    def __init__(self, test, *arguments):
        self.person, self.terminal = pty.openpty()
        test.addCleanup(os.close, self.person)
        test.addCleanup(os.close, self.terminal)
        self.resize(30, 90)
        self.before = termios.tcgetattr(self.terminal)
        self.run = test.begin("--pty", *arguments, stdin=self.terminal, stdout=self.terminal, stderr=self.terminal,
                              start_new_session=True,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.person, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.person, text.encode())

    def read_until(self, text):
        end = time.monotonic() + server.PATIENCE_S
        while text not in self.seen:
            if not select.select([self.person], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"waited for {text!r}: {self.seen!r}")
            self.seen += os.read(self.person, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def is_raw(self):
        return not termios.tcgetattr(self.terminal)[3] & termios.ICANON

    def is_as_before(self):
        return termios.tcgetattr(self.terminal) == self.before


class RunPtyTest(RunBase):
    def test_a_shell_has_the_terminal(self):
        there = Terminal(self, "--name", "shell", "--", "sh", "-c",
                         'tty && stty size && echo "$TERM" && echo ready && read line && echo "got $line" && exit 5')
        self.assertIn("/dev/pts/", there.read_until("30 90\r\n"))
        self.assertEqual(there.read_until("ready\r\n"), "xterm\r\n")
        self.assertTrue(there.is_raw())
        there.type("some words\r")
        there.read_until("got some words\r\n")
        self.assertEqual(there.run.wait(server.PATIENCE_S), 5)
        self.assertTrue(there.is_as_before())
        job = self.job(1)
        self.assertEqual((job["name"], job["state"], job["exit_code"]), ("shell", "failed", 5))
        self.assertIn("got some words", self.succeeds("logs", 1))
        self.assertNotIn("relay", job["workload"])
        self.assertEqual(list((self.runtime / "carpool").glob("pty-*")), [])

    def test_keys_and_sizes_reach_the_program(self):
        there = Terminal(self, "--", sys.executable, "-uc", """
import os, signal, time
def resized(*_):
    print("size", *os.get_terminal_size(), flush=True)
signal.signal(signal.SIGWINCH, resized)
try:
    print("ready", flush=True)
    while True:
        time.sleep(0.05)  # a signal that comes just before a sleep is handled after it
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
""")
        there.read_until("ready\r\n")
        there.resize(40, 100)
        there.run.send_signal(signal.SIGWINCH)
        there.read_until("size 100 40\r\n")
        there.type("\x03")
        there.read_until("interrupted\r\n")
        self.assertEqual(there.run.wait(server.PATIENCE_S), 128 + signal.SIGUSR1)
        self.assertTrue(there.is_as_before())

    def test_much_output_and_input_at_once_arrive(self):
        there = Terminal(self, "--", "sh", "-c", "stty raw -echo; echo ready; head -c 300000 | tee copy | wc -c; "
                                                 "seq 1 50000; echo over")
        there.read_until("ready")
        sent = 0
        while sent < 300000:
            sent += os.write(there.person, b"x" * min(2000, 300000 - sent))
        there.read_until("over")
        self.assertEqual(there.run.wait(server.PATIENCE_S), 0)
        self.assertEqual((self.folder / "copy").stat().st_size, 300000)

    def test_the_job_ends_with_its_terminal(self):
        for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            there = Terminal(self, "--", "sh", "-c", "echo pid $$; exec sleep 1000")
            there.read_until("pid ")
            pid = int(there.read_until("\r\n"))
            there.run.send_signal(ending)
            there.run.wait(server.PATIENCE_S)
            job = self.await_end(self.last_job())
            self.assertIn(job["state"], ("cancelled",) if ending != signal.SIGKILL else ("cancelled", "failed"))
            server.until(lambda: server.has_ended(pid), "the program to end")
            if ending != signal.SIGKILL:  # which lets no process set it back
                self.assertTrue(there.is_as_before())

    def test_cancel_ends_a_shell_that_ignores_it(self):
        there = Terminal(self, "--", "sh", "-i")
        there.read_until("$" if os.geteuid() else "#")
        self.succeeds("cancel", 1)
        self.assertNotEqual(there.run.wait(server.PATIENCE_S), 0)
        self.assertTrue(there.is_as_before())
        self.assertEqual(self.await_end(1)["state"], "cancelled")

    def test_while_it_waits_ctrl_c_cancels(self):
        self.keep_the_gpu()
        there = Terminal(self, "--", "sh")
        there.read_until("job 2 is waiting")
        self.assertFalse(there.is_raw())
        there.type("\x03")
        self.assertEqual(there.run.wait(server.PATIENCE_S), 1)
        self.assertEqual(self.job(2)["state"], "cancelled")


@unittest.skipUnless(os.geteuid() == 0, "other users need root")
class OtherUserTest(server.SystemServerTest):
    GPUS = 1

    def test_a_job_of_the_machines_server_is_the_users(self):
        done = self.as_nobody("run", "--", "sh", "-c", "id -un; exit 4")
        self.assertEqual((done.returncode, done.stdout), (4, "nobody\n"), done.stderr)

    def test_a_terminal_reaches_the_users_job(self):
        person, terminal = pty.openpty()
        self.addCleanup(os.close, person)
        self.addCleanup(os.close, terminal)
        here = self.mine / "run"
        here.mkdir(mode=0o700)
        os.chown(here, server.nobody(), -1)
        run = subprocess.Popen(
            [cli.PROGRAM, "run", "--pty", "--", "sh", "-c", "tty; id -un; exit 4"], cwd=self.mine, user=server.nobody(),
            group=pwd.getpwnam("nobody").pw_gid, extra_groups=[], stdin=terminal, stdout=terminal,
            stderr=terminal, env=cli.environment(self.mine, **self.surroundings(XDG_RUNTIME_DIR=str(here))))
        self.addCleanup(run.kill)
        self.assertEqual(run.wait(server.PATIENCE_S), 4)
        os.set_blocking(person, False)
        self.assertRegex(os.read(person, 65536).decode(), r"/dev/pts/\d+\r\nnobody\r\n")


if __name__ == "__main__":
    unittest.main()
