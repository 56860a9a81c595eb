#!/usr/bin/env python3
"""The API of the server: permissions, bad requests, listings, events and metrics."""

import json
import os
import pwd
import re
import shlex
import socket
import stat
import unittest

import cli
import server


class Api(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def refused(self, method, path, body=None, status=400, kind="invalid-input", *, says):
        got, answer = self.request(method, path, body)
        self.assertEqual(got, status, answer)
        error = json.loads(answer)["error"]
        self.assertEqual((error["status"], error["kind"]), (status, kind))
        self.assertIn(says, error["message"])

    def test_only_the_owner_may_use_socket_and_state(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.state).st_mode), 0o700)

    def test_bad_requests_are_rejected_with_the_reason(self):
        good = {"argv": ["true"], "cwd": "/"}
        for body, says in (("", "JSON"), ("[]", "JSON"), ("{", "JSON"), ({}, "argv"),
                           ({**good, "colour": 1}, "colour"), ({**good, "mem": "12Q"}, "mem"),
                           ({**good, "argv": "true"}, "argv"), ({**good, "gpus": 0}, "gpus"),
                           ({**good, "gpus": 99}, "gpus"), ({**good, "mem": "999T"}, "mem"),
                           ({**good, "class": "gold"}, "class"), ({**good, "array": "9-1"}, "array"),
                           ({**good, "after": [77]}, "77"), ({**good, "time_s": -1}, "time_s"),
                           ({**good, "env": {"A": 1}}, "env"), ({**good, "gpus": 1e300}, "gpus")):
            with self.subTest(body=body):
                self.refused("POST", "/v1/jobs", body, says=says)
        self.refused("GET", "/v1/jobs/17", status=404, kind="not-found", says="no job 17")
        self.refused("GET", "/v1/jobs/99999999999999999999999", status=404, kind="not-found", says="no job")
        self.refused("POST", "/v1/jobs/17/cancel", "{}", status=404, kind="not-found", says="no job 17")
        self.refused("DELETE", "/v1/jobs/17", status=405, says="GET")
        self.refused("GET", "/v1/jobs?limit=-1", says="limit")
        self.refused("GET", "/v2/anything", status=404, kind="not-found", says="/v2/anything")
        self.refused("POST", "/v1/drain", "{}", says="drain")
        self.assertEqual(self.get("/v1/jobs")["jobs"], [])

    def test_a_broken_request_leaves_the_server_alive(self):
        for text in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/jobs HTTP/1.1\r\nContent-Length: "
                     b"99999999999\r\n\r\n", b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"):
            with socket.socket(socket.AF_UNIX) as caller:
                caller.settimeout(server.PATIENCE_S)
                caller.connect(str(self.socket))
                try:
                    caller.sendall(text)
                    caller.shutdown(socket.SHUT_WR)
                    caller.recv(1000)
                except OSError:
                    pass
        self.assertTrue(self.answers())

    def test_listings_come_in_pages(self):
        self.succeeds("drain")
        self.succeeds("submit", "--array", "1-5", "--mem", "1G", "--", "true")
        first = self.get("/v1/jobs?limit=2")
        self.assertEqual([job["id"] for job in first["jobs"]], [1, 2])
        second = self.get(f"/v1/jobs?limit=3&after={first['next_after']}")
        self.assertEqual([job["id"] for job in second["jobs"]], [3, 4, 5])
        self.assertNotIn("next_after", second)
        self.assertEqual(len(self.prints_json("queue")["jobs"]), 5)

    def test_events_follow_a_job(self):
        connection = server.UnixConnection(self.socket)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/events?since=0")
        stream = connection.getresponse()
        self.submit("--mem", "1G", "--", "true")
        seen = []
        while "closed" not in seen:
            line = stream.readline().decode().strip()
            if line.startswith("event: "):
                seen.append(line.removeprefix("event: "))
        self.assertEqual(seen, ["submitted", "started", "ended", "closed"])

    def test_one_user_has_at_most_16_event_streams(self):
        watchers = []
        status = 200
        while status == 200:
            connection = server.UnixConnection(self.socket)
            self.addCleanup(connection.close)
            connection.request("GET", "/v1/events")
            status = connection.getresponse().status
            watchers.append(connection)
        self.assertEqual((status, len(watchers)), (429, 17))

    def test_metrics_are_well_formed(self):
        self.await_end(self.submit("--mem", "1G", "--", "true"))
        status, page = self.request("GET", "/metrics")
        self.assertEqual(status, 200)
        lines = page.decode().splitlines()
        self.assertIn("carpool_submissions_total 1", lines)
        self.assertIn('carpool_ends_total{end="succeeded"} 1', lines)
        families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
        self.assertEqual(len(families), len(set(families)))
        for line in lines:
            if not line.startswith("#"):
                self.assertRegex(line, r'^carpool_[a-z_]+(\{[^{}]*\})? [-+0-9.e]+$')

    def test_history_survives_a_killed_server(self):
        self.await_end(self.submit("--name", "hello", "--mem", "1G", "--", "false"))
        self.kill_server()
        self.start()
        job = self.prints_json("history")["jobs"][0]
        self.assertEqual((job["name"], job["end"]), ("hello", "failed"))
        self.assertIn("hello", self.succeeds("history"))
        self.assertIn("exit status 1", self.succeeds("show", "1"))


class Examples(server.ServerTest):
    """The examples in the help of the server commands, run as written."""

    def test_run(self):
        self.start()
        self.write("config.json", '{"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, '
                                  '"num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522}')
        self.write("sweep.sh", "true").chmod(0o755)
        self.succeeds("drain")
        self.succeeds("submit", "--array", "1-20", "--mem", "1G", "--", "true")
        for command in ("submit", "queue", "history", "show", "explain", "logs", "hold", "release", "cancel"):
            examples = re.findall(r"^  carpool (.*)$", self.succeeds(command, "--help"), re.MULTILINE)
            self.assertTrue(examples, command)
            for line in examples:
                if "-f" not in line.split():  # follows until the job has ended
                    self.succeeds(*shlex.split(line))
        self.succeeds("drain", "--undo")


class Tokens(server.ServerTest):
    def test_tcp_needs_a_token_that_maps_to_a_user(self):
        self.refuses("serve", "--state", self.state, "--listen", "127.0.0.1:0", says="--tokens")
        tokens = self.write_tokens(root="0123456789abcdef")
        os.chmod(tokens, 0o644)
        self.refuses("serve", "--state", self.state, "--listen", "127.0.0.1:0", "--tokens", tokens,
                     says="chmod")
        os.chmod(tokens, 0o600)
        port = server.free_port()
        self.start("--listen", f"127.0.0.1:{port}", "--tokens", str(tokens))
        for header, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 401),
                               ({"Authorization": "Bearer 0123456789abcdef"}, 200)):
            connection = server.http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/v1/jobs", headers=header)
            self.assertEqual(connection.getresponse().status, status)
            connection.close()


class NoServer(server.ServerTest):
    def test_every_command_says_that_there_is_no_server(self):
        for command in (("queue",), ("submit", "--", "true"), ("show", "1"), ("logs", "1"), ("drain",),
                        ("cancel", "1"), ("history",), ("wait", "1"), ("explain", "1")):
            self.refuses(*command, code=69, says="carpool serve")

    def test_without_a_gpu_it_says_what_to_do(self):
        self.change_gpus("gpus = 0\n")
        self.refuses("serve", "--state", self.state, says="--simulated")


@unittest.skipUnless(os.geteuid() == 0, "other users need root")
class OtherUsers(server.SystemServerTest):
    """A server for all users: a job runs as its owner, and other users do not see its command."""

    def get_as_nobody(self, path):
        os.setegid(pwd.getpwnam("nobody").pw_gid)
        os.seteuid(server.nobody())
        try:
            return self.get(path)
        finally:
            os.seteuid(0)
            os.setegid(0)

    def test_a_job_runs_as_its_owner_in_its_owners_folder(self):
        done = self.as_nobody("submit", "--wait", "--mem", "1G", "--", "sh", "-c", "id -u; touch made")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.as_nobody("logs", "1").stdout, f"{server.nobody()}\n")
        self.assertEqual((self.mine / "made").stat().st_uid, server.nobody())

    def test_a_job_cannot_enter_a_folder_that_its_owner_cannot(self):
        self.folder.joinpath("private").mkdir(mode=0o700)
        done = self.as_nobody("submit", "--wait", "--mem", "1G", "--chdir", self.folder / "private", "--",
                              "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("private", done.stderr)

    def test_other_users_see_no_name_command_or_output_and_change_nothing(self):
        job = self.submit("--name", "topsecret", "--env", "KEY=hunter2", "--mem", "1G", "--", "sleep",
                          "600")
        self.await_state(job, "running")
        self.assertEqual(json.loads(self.as_nobody("queue", "--json").stdout)["jobs"], [])
        listed = self.as_nobody("queue", "--all", "--json").stdout
        self.assertEqual(json.loads(listed)["jobs"][0]["id"], job)
        for secret in ("topsecret", "hunter2", "sleep"):
            self.assertNotIn(secret, listed)
        for command in ("show", "explain", "logs", "cancel", "hold", "requeue"):
            done = self.as_nobody(command, job)
            self.assertEqual(done.returncode, 1, (command, done.stdout))
            self.assertIn("another user", done.stderr)
        drain = self.as_nobody("drain")
        self.assertEqual(drain.returncode, 1)
        self.assertIn("only operators", drain.stderr)
        self.assertEqual(self.job(job)["state"], "running")
        own = self.as_nobody("submit", "--parsable", "--gpus", "2", "--", "sleep", "600").stdout.strip()
        self.succeeds("cancel", own)  # an operator may

    def test_commands_of_ended_jobs_are_hidden_from_other_users(self):
        self.await_end(self.submit("--mem", "1G", "--", "echo", "topsecret"))
        path = "/v1/history?all=1&commands=1"
        self.assertEqual(self.get(path)["jobs"][0]["argv"], ["echo", "topsecret"])  # seen by an operator
        seen = self.get_as_nobody(path)["jobs"][0]
        self.assertEqual(set(seen), {"id", "user", "submitted_s", "started_s", "ended_s", "end"})
        self.assertEqual(self.get_as_nobody("/v1/history?commands=1")["jobs"], [])


if __name__ == "__main__":
    unittest.main()
