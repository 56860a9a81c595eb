#!/usr/bin/env python3
"""Every process of a job ends with it, no other process does, and its files are its user's."""

import contextlib
import os
import pathlib
import resource
import signal
import stat
import subprocess
import time
import unittest

import server

# Leaves the session, the environment and the outputs of the job.
DAEMON = "(env -i setsid sh -c 'echo $$ > escaped; exec sleep 600' > /dev/null 2>&1 < /dev/null &)"

# A process that nobody has waited for yet has ended.
IS_DEAD = "p=$(cat escaped); [ ! -e /proc/$p ] || grep -q '^State:.Z' /proc/$p/status"


class Containment(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def supervisor(self, run="1.1"):
        return server.until(lambda: self.claims().get(run), f"the supervisor of {run}")

    def escaped(self):
        file = self.folder / "escaped"
        text = server.until(lambda: file.exists() and file.read_text(), "the daemon of the job")
        self.addCleanup(self.end, int(text))
        return int(text)

    @staticmethod
    def end(pid):
        with contextlib.suppress(OSError):
            if b"sleep" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    def test_a_daemon_of_a_lost_attempt_is_dead_when_the_next_begins(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c",
                          "if [ $CARPOOL_ATTEMPT = 1 ]; then " + DAEMON + "; exec sleep 600; fi; " + IS_DEAD)
        self.escaped()
        os.kill(self.supervisor(), signal.SIGKILL)
        ended = self.await_end(job)
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual(len(self.claims()), 2)

    def test_a_daemon_of_a_job_ends_with_it(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c", DAEMON + "; while [ ! -s escaped ]; do :; done")
        daemon = self.escaped()
        self.assertEqual(self.await_end(job)["state"], "succeeded")
        self.assertTrue(server.has_ended(daemon))

    def test_a_job_whose_supervisor_is_stopped_can_be_cancelled(self):
        job = self.submit("--mem", "1G", "--", "sleep", "600")
        self.await_state(job, "running")
        supervisor = self.supervisor()
        os.kill(supervisor, signal.SIGSTOP)
        self.succeeds("cancel", job)
        self.assertEqual(self.await_end(job)["state"], "cancelled")
        self.assertTrue(server.has_ended(supervisor))

    def test_a_process_that_has_the_pid_of_a_lost_job_survives(self):
        job = self.submit("--mem", "1G", "--", "sleep", "600")
        self.await_state(job, "running")
        leader = self.state / "runs" / "1.1" / "leader"
        server.until(leader.exists, "the record of the job")
        self.kill_server()
        # A process is known by its PID and the moment of its start, in ticks of 10 ms: one that gets the PID of another began later.
        time.sleep(0.05)
        with subprocess.Popen(["sleep", "600"], start_new_session=True) as innocent:
            self.addCleanup(innocent.kill)
            record = server.json.loads(leader.read_text())
            leader.write_text(server.json.dumps({**record, "pid": innocent.pid}))
            os.kill(self.supervisor(), signal.SIGKILL)
            server.until(lambda: server.has_ended(self.supervisor()), "its end")
            self.start()
            server.until(lambda: len(self.claims()) == 2, "the job to begin again")
            self.assertIsNone(innocent.poll(), "a process of somebody else was killed")
            innocent.kill()

    def test_a_job_is_in_a_cgroup_of_its_own_where_the_server_may_make_one(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c", "cat /proc/self/cgroup; sleep 600")
        self.await_state(job, "running")
        output = self.state / "runs" / "1.1" / "stdout"
        server.until(output.exists, "the output of the job")
        own = server.until(lambda: [line for line in output.read_text().splitlines()
                                    if line.startswith("0::")], "the cgroup of the job")[0]
        if "no cgroups of their own" in (self.folder / "server.log").read_text():
            self.skipTest("this user may not divide a cgroup")
        self.assertRegex(own, "/jobs/[0-9a-f]+-1.1$")
        for pid, part in ((self.server.pid, "server"), (self.supervisor(), "supervisors")):
            self.assertRegex(pathlib.Path(f"/proc/{pid}/cgroup").read_text(), f"(?m)^0::.*/{part}$")
        cgroup = pathlib.Path((self.state / "runs" / "1.1" / "cgroup").read_text())
        self.assertTrue(cgroup.is_dir())
        self.succeeds("cancel", job)
        self.await_end(job)
        self.assertFalse(cgroup.exists())


@unittest.skipUnless(os.geteuid() == 0, "other users need root")
class FilesOfAUser(server.SystemServerTest):
    def test_a_job_can_open_its_outputs_again_and_no_other_file_of_its_folder(self):
        run = self.state / "runs" / "1.1"
        os.chmod(self.state, 0o711)  # what an administrator may have done
        done = self.as_nobody("submit", "--wait", "--mem", "1G", "--", "sh", "-c",
                              "echo hi > /dev/stderr && echo ho >> /dev/stdout && "
                              f"! touch {run}/claim {run}/new {run}/../new 2> /dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        logs = self.as_nobody("logs", "1")
        self.assertEqual((logs.stdout, logs.stderr), ("ho\n", "hi\n"))
        for name in ("stdout", "stderr"):
            found = (run / name).stat()
            self.assertEqual((found.st_uid, stat.S_IMODE(found.st_mode)), (server.nobody(), 0o600))
        for place in (run, run / "claim", run / "leader", run / "exit"):
            self.assertEqual(place.stat().st_uid, 0)
        self.assertEqual(stat.S_IMODE(run.stat().st_mode), 0o700)

    def test_a_job_has_the_umask_and_the_limits_of_its_submission(self):
        def restrict():
            os.umask(0o027)
            resource.setrlimit(resource.RLIMIT_NOFILE, (321, 654))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
        done = self.as_nobody("submit", "--wait", "--mem", "1G", "--", "sh", "-c",
                              "umask; ulimit -Sn; ulimit -Hn; ulimit -Sc", before=restrict)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.as_nobody("logs", "1").stdout, "0027\n321\n654\n0\n")

    def test_a_job_of_another_client_has_those_of_a_login(self):
        hard = resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)[1]
        job = {"argv": ["sh", "-c", "umask; ulimit -Sn; ulimit -Hn"], "cwd": str(self.mine), "mem": "1G"}
        status, body = self.request("POST", "/v1/jobs", job)
        self.assertEqual(status, 200, body)
        self.assertEqual(self.await_end(1)["state"], "succeeded")
        self.assertEqual((self.state / "runs" / "1.1" / "stdout").read_text(),
                         f"0022\n{min(1024, hard)}\n{min(524288, hard)}\n")
        status, body = self.request("POST", "/v1/jobs", {**job, "limits": {"nofile": "2:1"}})
        self.assertEqual(status, 400, body)
        self.assertIn(b"SOFT:HARD", body)

    def test_a_limit_of_the_server_is_the_most_that_a_job_can_have(self):
        hard = resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)[1]
        job = {"argv": ["sh", "-c", "ulimit -Hn"], "cwd": str(self.mine), "mem": "1G",
               "limits": {"nofile": "5:unlimited"}}
        self.assertEqual(self.request("POST", "/v1/jobs", job)[0], 200)
        self.assertEqual(self.await_end(1)["state"], "succeeded")
        self.assertEqual((self.state / "runs" / "1.1" / "stdout").read_text(), f"{hard}\n")


if __name__ == "__main__":
    unittest.main()
