#!/usr/bin/env python3
"""submit --notify with an address: one JSON document when a job has ended, to a web service of this test."""

import http.server
import json
import os
import socket
import ssl
import threading
import unittest

import certificates
import server

SECRET = "/services/T0SECRET"


class Service:
    """Answers POST requests with the given states, the last of them for all that follow."""

    def __init__(self, test, *states, tls=None):
        self.posts = []
        states = list(states or [200])
        posts = self.posts

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                state = states[min(len(posts), len(states) - 1)]
                posts.append((self.path, self.headers, json.loads(body)))
                self.send_response(state)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            certificate, key = tls
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.address = f"{'https://localhost' if tls else 'http://127.0.0.1'}:{self.http.server_port}"
        thread = threading.Thread(target=self.http.serve_forever, args=(0.05,))
        thread.start()
        test.addCleanup(self.http.server_close)
        test.addCleanup(thread.join)
        test.addCleanup(self.http.shutdown)


class WebhookBase:
    def all_given(self):
        """No folder of a notice is left: each has ended, and the failures are in the log."""
        return not any((self.state / "notices").iterdir())

    def until_given(self):
        server.until(self.all_given, "the notice")

    def server_log(self):
        return (self.folder / "server.log").read_text()


class Webhook(WebhookBase, server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def submit_to(self, address, *arguments):
        return self.submit("--mem", "1G", "--notify", address, *arguments)

    def test_gets_one_document_for_each_job(self):
        service = Service(self)
        address = service.address + SECRET + "?room=lab%20one"
        fails = self.submit_to(address, "--name", "fails", "--", "sh", "-c", "exit 3")
        record = self.await_end(fails)
        self.until_given()
        waits = self.submit_to(address, "--hold", "--", "true")
        self.succeeds("cancel", waits)
        self.until_given()
        (path, headers, first), (_, _, second) = service.posts
        self.assertEqual(path, SECRET + "?room=lab%20one")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertTrue(headers["User-Agent"].startswith("carpool/"))
        attempt = record["attempts"][0]
        self.assertEqual(first, {
            "id": fails, "name": "fails", "user": record["user"], "host": socket.gethostname(), "state": "failed",
            "reason": first["reason"], "attempts": 1, "array_job": None, "array_index": None,
            "submitted_s": record["submitted_s"], "started_s": round(attempt["started_s"], 3), "ended_s": record["ended_s"],
            "gpus": attempt["gpus"], "exit_code": 3, "signal": None,
            "text": f"Job {fails} (fails) failed on {socket.gethostname()}: {first['reason']}"})
        self.assertIn("3", first["reason"])
        self.assertEqual((second["id"], second["state"], second["started_s"], second["gpus"]),
                         (waits, "cancelled", None, []))
        self.assertEqual(self.job(fails)["notify"], address)
        self.assertNotIn("--notify", self.server_log())

    def test_is_told_once_also_where_the_server_is_killed(self):
        service = Service(self)
        os.mkfifo(self.folder / "gate")
        job = self.submit_to(service.address, "--", "sh", "-c", "read x < gate")
        self.await_state(job, "running")
        self.kill_server()
        (self.folder / "gate").write_text("go\n")
        self.start()
        self.await_end(job)
        self.until_given()
        self.kill_server()
        self.start()
        self.until_given()
        self.assertEqual([(document["id"], document["state"]) for _, _, document in service.posts],
                         [(job, "succeeded")])

    def test_that_cannot_take_it_now_is_asked_twice_more(self):
        service = Service(self, 503, 429, 204)
        self.await_end(self.submit_to(service.address, "--", "true"))
        self.until_given()
        self.assertEqual(len(service.posts), 3)
        self.assertEqual(service.posts[0][2], service.posts[2][2])
        self.assertNotIn("--notify", self.server_log())
        service = Service(self, 500)
        job = self.submit_to(service.address, "--", "true")
        self.await_end(job)
        self.until_given()
        self.assertEqual(len(service.posts), 3)
        self.assertIn(f"job {job}: --notify failed: {service.address}: it answers HTTP 500, 3 times", self.server_log())

    def test_that_refuses_it_is_not_asked_again_and_its_path_is_not_logged(self):
        service = Service(self, 404)
        job = self.submit_to(service.address + SECRET, "--", "true")
        self.await_end(job)
        self.until_given()
        self.assertEqual(len(service.posts), 1)
        self.assertIn(f"job {job}: --notify failed: {service.address}: it answers HTTP 404\n", self.server_log())
        self.assertNotIn(SECRET, self.server_log())

    def test_that_is_not_there_or_silent_blocks_nothing(self):
        nowhere = self.submit_to(f"http://127.0.0.1:{server.free_port()}", "--", "true")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            job = self.submit_to(f"http://127.0.0.1:{port}{SECRET}", "--", "true")
            with silent.accept()[0] as connection:
                self.assertIn(b"POST " + SECRET.encode(), connection.recv(10000))
                # While it waits for the answer, other jobs start and end.
                self.await_end(self.submit("--mem", "1G", "--", "true"))
                self.assertFalse(self.all_given())
                self.until_given()
                silent.setblocking(False)
                self.assertRaises(BlockingIOError, silent.accept)  # it may have been taken: not posted again
        log = self.server_log()
        self.assertIn(f"job {job}: --notify failed: http://127.0.0.1:{port}: it took the document and did not answer",
                      log)
        self.assertRegex(log, rf"job {nowhere}: --notify failed: http://127.0.0.1:\d+: no connection .*, 3 times")

    def test_by_tls_needs_a_certificate_that_is_trusted(self):
        ca, certificate, key = certificates.make_authority(self.folder, "ours")
        service = Service(self, tls=(certificate, key))
        stranger = self.submit_to(service.address, "--", "true")
        self.await_end(stranger)
        self.until_given()
        self.assertEqual(service.posts, [])
        self.assertIn(f"job {stranger}: --notify failed: {service.address}: its certificate is not trusted",
                      self.server_log())
        friend = self.submit_to(service.address, "--env", f"SSL_CERT_FILE={ca}", "--", "true")
        self.await_end(friend)
        self.until_given()
        self.assertEqual([document["id"] for _, _, document in service.posts], [friend], self.server_log())

    def test_a_command_has_the_environment_of_the_job_and_its_failure_is_logged(self):
        job = self.submit_to('echo first >&2; echo "$WHY" >&2; exit 4', "--env", "WHY=why", "--", "true")
        self.await_end(job)
        self.until_given()
        self.assertIn(f"job {job}: --notify failed: exit code 4: why\n", self.server_log())


@unittest.skipUnless(os.geteuid() == 0, "a server for all users needs root")
class WebhookOfAUser(WebhookBase, server.SystemServerTest):
    def test_is_told_as_the_user(self):
        service = Service(self)
        done = self.as_nobody("submit", "--parsable", "--mem", "1G", "--notify", service.address, "--", "true")
        self.await_end(int(done.stdout))
        self.until_given()
        self.assertEqual([document["user"] for _, _, document in service.posts], ["nobody"])
        self.assertNotIn("--notify", self.server_log())


if __name__ == "__main__":
    unittest.main()
