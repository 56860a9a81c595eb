#!/usr/bin/env python3
"""SIGKILL for the server, supervisors and jobs at random moments: no job is lost, runs twice at
once, or gets stuck."""

import contextlib
import os
import pathlib
import random
import signal
import time
import unittest

import cli
import server

KILLS = int(os.environ.get("CARPOOL_KILLS", "20"))
SEED = int(os.environ.get("CARPOOL_KILL_SEED", "1"))

# Each attempt logs its beginning and its end, in one write each.
JOB = ("echo begin $CARPOOL_JOB_ID $CARPOOL_ATTEMPT >> log; sleep 0.$(($CARPOOL_JOB_ID % 7)); "
       "echo end $CARPOOL_JOB_ID $CARPOOL_ATTEMPT >> log")


class Kills(server.ServerTest):
    GPUS = 4

    def submit_directly(self):
        """The number of an acknowledged job; None when the server died during the request."""
        job = {"argv": ["sh", "-c", JOB], "cwd": str(self.folder), "mem": "1G", "retries": 50,
               "env": {"PATH": os.environ["PATH"], "HOME": str(self.folder)}}
        with contextlib.suppress(OSError, server.http.client.HTTPException):
            status, body = self.request("POST", "/v1/jobs", job)
            if status == 200:
                return server.json.loads(body)["ids"][0]
        return None

    def kill_something(self, chance):
        kind = chance.choice(["server", "supervisor", "supervisor", "job"])
        if kind == "server":
            self.kill_server()
            self.start()
            return
        victims = sorted(self.claims().items())[-8:]
        if not victims:
            return
        run, pid = chance.choice(victims)
        if kind == "job":
            with contextlib.suppress(OSError, ValueError):
                pid = server.json.loads((self.state / "runs" / run / "leader").read_text())["pid"]
        with contextlib.suppress(OSError):
            mark = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"guard" in mark or b"sleep" in mark or b"echo" in mark:  # the number was not reused
                os.kill(pid, signal.SIGKILL)

    def test_nothing_is_lost_run_twice_or_stuck(self):
        chance = random.Random(SEED)
        self.start()
        acknowledged = []
        for _ in range(KILLS):
            for _ in range(chance.randrange(1, 4)):
                if (number := self.submit_directly()) is not None:
                    acknowledged.append(number)
            time.sleep(chance.random() * 0.2)  # the random moment
            self.kill_something(chance)
        self.assertGreaterEqual(len(acknowledged), KILLS)
        self.assertEqual(len(set(acknowledged)), len(acknowledged))
        for number in acknowledged:
            ended = self.await_end(number)
            self.assertEqual(ended["state"], "succeeded", ended)
        self.check_log(acknowledged)
        self.assertEqual(self.get("/v1/queue?all=1")["jobs"], [])

    def check_log(self, acknowledged):
        running, begun, finished = {}, set(), set()
        for line in (self.folder / "log").read_text().splitlines():
            kind, job, attempt = line.split()
            if kind == "begin":
                self.assertNotIn((job, attempt), begun, "an attempt began twice")
                begun.add((job, attempt))
                running[job] = attempt
            else:
                self.assertEqual(running.get(job), attempt, "two attempts at once")
                finished.add(int(job))
        self.assertEqual(set(acknowledged) - finished, set(), "jobs that never ran to their end")


if __name__ == "__main__":
    unittest.main()
