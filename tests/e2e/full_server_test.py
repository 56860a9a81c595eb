#!/usr/bin/env python3
"""A command asks again while the server has no room for its request."""

import http.server
import json
import socketserver
import threading
import unittest

import cli


class UnixHttpServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    refusals = 0  # requests that still find it full
    asked = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "socket"

    def log_message(self, *_):
        pass

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked += 1
        full = self.server.refusals > 0
        self.server.refusals -= full
        body = json.dumps({"error": {"kind": "unavailable", "message": "full", "status": 503}} if full
                          else {"ids": [7], "jobs": []}).encode()
        self.send_response(503 if full else 200)
        if full and self.server.retry_after:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer


class FullServer(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.socket = self.folder / "s"
        self.server = UnixHttpServer(str(self.socket), Handler)
        self.server.retry_after = True
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def test_is_asked_again(self):
        for command in (("queue", "--socket", self.socket), ("submit", "--socket", self.socket, "--", "true")):
            self.server.refusals = 2
            done = self.carpool(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("trying again"), 1, done.stderr)

    def test_is_not_asked_for_ever(self):
        self.server.refusals = 1000
        self.assertIn("full", self.refuses("queue", "--socket", self.socket, code=69))
        self.assertLess(self.server.asked, 10)

    def test_that_does_not_invite_it_is_not_asked_again(self):
        self.server.refusals, self.server.retry_after = 1000, False
        self.refuses("queue", "--socket", self.socket, code=69)
        self.assertEqual(self.server.asked, 1)


if __name__ == "__main__":
    unittest.main()
