#!/usr/bin/env python3
"""Commands on one machine, the server on another: https with a token, and ssh.

The other machine is this one: certificates are made here, and `ssh` is a program that runs its command (sshd_test.py has a real one).
"""

import contextlib
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import time
import unittest
import warnings

import certificates
import cli
import server


class RemoteTest(server.ServerTest):
    """The client has a home of its own and knows the server by CARPOOL_HOST only."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "client"
        self.home.mkdir()

    def make_authority(self, name):
        return certificates.make_authority(self.folder, name)

    def put_token(self, token, mode=0o600):
        file = self.write("client/.config/carpool/token", token + "\n")
        os.chmod(file, mode)
        return file

    def away(self, host, **more):
        """The environment of the client: nothing of it leads to the server but CARPOOL_HOST."""
        return {"CARPOOL_HOST": host, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"),
                "CARPOOL_SOCKET": "", "XDG_RUNTIME_DIR": str(self.home), **more}

    def token_for(self, *arguments):
        return self.succeeds("token", "create", *arguments, "--tokens", self.tokens).strip()


class Https(RemoteTest):
    def setUp(self):
        super().setUp()
        self.tokens = self.folder / "tokens"
        self.user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.token = self.token_for(self.user)
        self.ca, self.certificate, self.key = self.make_authority("lab")
        self.port = server.free_port()
        self.host = f"https://localhost:{self.port}"
        self.put_token(self.token)

    def serve(self, *more):
        self.start("--listen", f"127.0.0.1:{self.port}", "--tokens", str(self.tokens), "--tls-cert",
                   str(self.certificate), "--tls-key", str(self.key), *more)

    def away(self, host=None, **more):
        return super().away(host or self.host, **{"CARPOOL_CA_FILE": str(self.ca), **more})

    def request(self, method, path, body=None, headers=None):
        """As the base class does it, but over TLS where a token is given."""
        if not headers or "Authorization" not in headers:
            return super().request(method, path, body, headers)
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=server.PATIENCE_S, context=ssl.create_default_context(cafile=str(self.ca)))
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def status(self, path, token, method="GET"):
        return self.request(method, path, headers={"Authorization": f"Bearer {token}"})[0]

    def test_jobs_are_submitted_watched_and_read(self):
        self.serve()
        out = self.succeeds("submit", "--wait", "--mem", "1G", "--name", "far", "--env", "GIVEN=1", "--", "sh", "-c",
                            "echo given $GIVEN secret $SECRET; yes | head -c 3000000 | tr -d '\\n'; exit 0",
                            env=self.away(SECRET="of-the-client"))
        self.assertIn("Submitted job 1", out)
        logs = self.succeeds("logs", "1", env=self.away())
        self.assertTrue(logs.startswith("given 1 secret\n"), logs[:100])
        self.assertGreater(len(logs), 1_500_000)  # many records of TLS
        self.assertEqual(self.prints_json("show", "1", env=self.away())["name"], "far")
        self.assertIn("far", self.succeeds("history", env=self.away()))
        self.succeeds("drain", env=self.away())
        self.succeeds("submit", "--array", "1-300", "--mem", "1G", "--env", "X=" + "x" * 100_000, "--", "true",
                      env=self.away())
        queue = self.prints_json("queue", env=self.away())
        self.assertEqual(len(queue["jobs"]), 300)
        begin = time.monotonic()
        self.succeeds("cancel", "--all-mine", env=self.away())
        # Half a second; 300 requests that each wait for a delayed acknowledgement of TCP take 24 s or more.
        self.assertLess(time.monotonic() - begin, 20)
        # The owner is the user of the token.
        self.assertEqual(self.job(1)["user"], self.user)
        # What a token is, is in no file of the server.
        for file in (self.tokens, self.folder / "server.log"):
            self.assertNotIn(self.token, file.read_text())
        self.assertEqual(self.tokens.stat().st_mode & 0o777, 0o600)

    def test_events_are_streamed(self):
        self.serve()
        connection = http.client.HTTPSConnection(
            "localhost", self.port, timeout=server.PATIENCE_S, context=ssl.create_default_context(cafile=str(self.ca)))
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/events?since=0", headers={"Authorization": f"Bearer {self.token}"})
        stream = connection.getresponse()
        self.submit("--mem", "1G", "--", "true")
        seen = ""
        while "closed" not in seen:
            line = stream.readline().decode()
            self.assertTrue(line, seen)
            seen += line
        self.assertIn("submitted", seen)

    def test_wrong_missing_and_revoked_tokens_are_refused(self):
        self.serve()
        self.assertEqual(self.status("/v1/jobs", self.token), 200)
        self.assertEqual(self.status("/v1/jobs", self.token[:-1] + "x"), 401)
        self.assertEqual(self.status("/v1/jobs", ""), 401)
        file = self.put_token("carpool_" + "0" * 64)
        self.refuses("queue", env=self.away(), code=1, says=("no valid token", str(file), "carpool token create"))
        other = self.token_for(self.user)
        self.put_token(other)
        self.succeeds("queue", env=self.away())  # known without a restart
        ids = [entry["id"] for entry in self.prints_json("token", "list", "--tokens", self.tokens)["tokens"]]
        self.assertEqual(len(ids), 2)
        self.succeeds("token", "revoke", ids[1], "--tokens", self.tokens)
        self.refuses("queue", env=self.away(), code=1, says="revoked")
        self.assertEqual(self.status("/v1/jobs", self.token), 200)
        # A file that others may read is not used at all.
        os.chmod(self.tokens, 0o644)
        self.assertEqual(self.status("/v1/jobs", self.token), 401)
        os.chmod(self.tokens, 0o600)
        self.assertEqual(self.status("/v1/jobs", self.token), 200)

    def test_the_token_file_of_the_client_is_private(self):
        self.serve()
        file = self.put_token(self.token, 0o640)
        self.refuses("queue", env=self.away(), says=(str(file), "chmod 600"))
        file.unlink()
        self.refuses("queue", env=self.away(), says=(str(file), "CARPOOL_TOKEN_FILE", "carpool token create"))
        elsewhere = self.write("elsewhere", self.token)
        os.chmod(elsewhere, 0o600)
        self.succeeds("queue", env=self.away(CARPOOL_TOKEN_FILE=str(elsewhere)))

    def test_a_certificate_that_cannot_be_trusted_is_refused_before_the_token_is_sent(self):
        self.serve()
        stranger, _, _ = self.make_authority("stranger")
        self.refuses("queue", env=self.away(CARPOOL_CA_FILE=str(stranger)), code=1,
                     says=("was not issued by", "CARPOOL_CA_FILE"))
        self.refuses("queue", env=self.away(CARPOOL_CA_FILE=""), code=1,
                     says=("the authorities of this system", "CARPOOL_CA_FILE"))
        self.refuses("queue", env=self.away(CARPOOL_CA_FILE=str(self.folder / "absent")),
                     says=("absent", "no readable PEM certificates"))
        self.refuses("queue", env=self.away(f"https://127.0.0.1:{self.port}"), code=1, says="another name")

    def test_without_tls_nothing_is_told(self):
        self.serve()
        self.refuses("queue", env=self.away(f"http://gpu1.example:{self.port}"),
                     says=("plain http", "https://", "CARPOOL_PLAIN_HTTP=1"))
        self.refuses("queue", env=self.away(f"http://127.0.0.1:{self.port}"), code=69, says="write https://")
        # A client that begins no handshake is cut off; the others are served meanwhile.
        with socket.create_connection(("127.0.0.1", self.port), timeout=server.PATIENCE_S) as silent:
            self.assertEqual(self.status("/v1/jobs", self.token), 200)
            self.assertEqual(silent.recv(100), b"")
        with socket.create_connection(("127.0.0.1", self.port), timeout=server.PATIENCE_S) as plain:
            plain.sendall(b"GET /v1/jobs HTTP/1.1\r\nAuthorization: Bearer " + self.token.encode() + b"\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                self.assertNotIn(b"HTTP/1.1 200", plain.recv(1000))
        old = ssl.create_default_context(cafile=str(self.ca))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version = ssl.TLSVersion.TLSv1
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", self.port), timeout=server.PATIENCE_S) as raw:
            with self.assertRaises(OSError):
                old.wrap_socket(raw, server_hostname="localhost")

    def test_a_client_that_leaves_in_the_middle_does_no_harm(self):
        self.serve()
        self.succeeds("drain")
        self.succeeds("submit", "--array", "1-3000", "--mem", "1G", "--name", "n" * 200, "--", "true")
        context = ssl.create_default_context(cafile=str(self.ca))
        for _ in range(10):
            raw = socket.create_connection(("127.0.0.1", self.port), timeout=server.PATIENCE_S)
            client = context.wrap_socket(raw, server_hostname="localhost")
            client.sendall(f"GET /v1/jobs?limit=3000 HTTP/1.1\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
            client.recv(10)
            client.close()
        self.assertEqual(self.status("/v1/jobs", self.token), 200)
        self.assertIsNone(self.server.poll())

    def test_limits_of_the_socket_hold_over_tls(self):
        self.serve()
        large = {"Authorization": f"Bearer {self.token}", "Content-Length": str(5 << 20)}
        self.assertEqual(self.request("POST", "/v1/jobs", None, large)[0], 413)
        self.assertEqual(self.request("GET", "/v1/jobs?" + "x" * 3000, headers=large)[0], 414)

    def test_a_scrape_token_reads_metrics_only(self):
        token = self.token_for("--metrics")
        self.serve()
        status, body = self.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(status, 200)
        self.assertIn(b"carpool_build_info", body)
        self.assertEqual(self.status("/metrics?name=x", token), 200)
        for path in ("/v1/jobs", "/v1/status", "/v1/events", "/healthz", "/metricsx", "/metrics/../v1/jobs"):
            self.assertEqual(self.status(path, token), 403, path)
        self.assertEqual(self.status("/v1/drain", token, "POST"), 403)

    def test_a_token_without_an_account_is_refused(self):
        self.tokens = self.write_tokens(**{"no-such-user": "0123456789abcdef0"})
        self.serve()
        status, body = self.request("GET", "/v1/jobs", headers={"Authorization": "Bearer 0123456789abcdef0"})
        self.assertEqual(status, 403)
        self.assertIn("no account", json.loads(body)["error"]["message"])

    @unittest.skipUnless(os.geteuid() == 0, "other users need root")
    def test_a_request_acts_as_the_user_of_its_token(self):
        nobody = self.token_for("nobody")
        os.chmod(self.folder, 0o755)
        os.chmod(self.runtime, 0o711)
        self.serve("--system", "--group", "nogroup", "--socket", str(self.socket))
        self.submit("--mem", "1G", "--", "true")
        self.put_token(nobody)
        self.succeeds("submit", "--wait", "--mem", "1G", "--chdir", "/", "--", "id", "-u", env=self.away())
        self.assertEqual(self.succeeds("logs", "2", env=self.away()), f"{server.nobody()}\n")
        self.refuses("cancel", "1", env=self.away(), code=1, says="another user")
        self.refuses("drain", env=self.away(), code=1, says="operators")

    def test_a_key_that_others_may_read_is_refused(self):
        os.chmod(self.key, 0o644)
        self.refuses("serve", "--state", self.state, "--listen", "127.0.0.1:1", "--tokens", self.tokens, "--tls-cert",
                     self.certificate, "--tls-key", self.key, says=(str(self.key), "chmod 600"))
        _, _, other = self.make_authority("other")
        self.refuses("serve", "--state", self.state, "--listen", "127.0.0.1:1", "--tokens", self.tokens, "--tls-cert",
                     self.certificate, "--tls-key", other, says=(str(other), "is not the key of the certificate"))


class Ssh(RemoteTest):
    """`ssh` in PATH writes down its words and runs the command in the surroundings of the server."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.said = self.folder / "ssh-words"
        self.fake_ssh('exec sh -c "$last"')

    def fake_ssh(self, last_line):
        script = self.write("bin/ssh", "#!/bin/sh\n"
                            f'echo "$$ $*" >> {self.said}\n'
                            'for last; do :; done\n'
                            f"unset CARPOOL_HOST; export CARPOOL_SOCKET={self.socket} XDG_RUNTIME_DIR={self.runtime}\n"
                            f"export PATH={pathlib.Path(cli.PROGRAM).parent}:$PATH\n"
                            f"{last_line}\n")
        script.chmod(0o755)

    def away(self, host="ssh://ann@gpu1:2222", **more):
        return super().away(host, **{"PATH": f"{self.bin}:{os.environ['PATH']}", **more})

    def test_jobs_are_submitted_watched_and_read_without_a_token(self):
        self.start()
        self.assertIn("Submitted job 1", self.succeeds("submit", "--wait", "--mem", "1G", "--", "echo", "hello",
                                                       env=self.away()))
        self.assertEqual(self.succeeds("logs", "1", env=self.away()), "hello\n")
        self.assertEqual(self.prints_json("queue", env=self.away())["jobs"], [])
        # The GPUs of the server, not those of this machine, whose driver tells more.
        self.assertEqual([("power_watts" in gpu["sample"], gpu["jobs"]) for gpu in
                          self.prints_json("gpus", env=self.away())], [(False, [])] * self.GPUS)
        words = self.said.read_text().splitlines()
        self.assertIn("BatchMode=yes", words[0])
        self.assertTrue(words[0].endswith("-p 2222 -l ann -- gpu1 carpool relay"), words[0])
        for line in words:  # nothing is left behind
            self.assertTrue(server.has_ended(int(line.split()[0])), line)

    def test_the_socket_of_another_server_can_be_named(self):
        self.start()
        self.fake_ssh('unset CARPOOL_SOCKET; exec sh -c "$last"')
        self.succeeds("queue", env=self.away(f"ssh://gpu1{self.socket}"))

    def test_ssh_ends_with_a_client_that_is_killed(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sleep", "1000")
        client = subprocess.Popen([cli.PROGRAM, "wait", str(job)], stdin=subprocess.DEVNULL,
                                  env=cli.environment(self.home, **self.away()))
        server.until(self.said.exists, "ssh to start")
        pid = int(server.until(lambda: self.said.read_text().split(), "the words of ssh")[0])
        client.kill()
        client.wait()
        server.until(lambda: server.has_ended(pid), "ssh to end")
        self.succeeds("cancel", job)
        self.await_end(job)

    def test_what_ssh_says_is_shown(self):
        self.fake_ssh('echo "ssh: Could not resolve hostname gpu1" >&2; exit 255')
        done = self.carpool("queue", env=self.away())
        self.assertEqual(done.returncode, 69)
        self.assertIn("Could not resolve hostname gpu1", done.stderr)
        self.assertIn("`ssh gpu1 true` must work", done.stderr)
        self.fake_ssh('exit 127')
        self.refuses("queue", env=self.away(), code=69, says=("no program `carpool`", "CARPOOL_REMOTE_PROGRAM"))
        self.refuses("queue", env=self.away(PATH="/nonexistent"), says="ssh")

    def test_without_a_server_there_it_says_so(self):
        done = self.carpool("queue", env=self.away())
        self.assertEqual(done.returncode, 69)
        self.assertIn("no server answers on gpu1", done.stderr)
        self.assertIn(str(self.socket), done.stderr)  # by the relay

    def test_addresses_that_are_none_are_refused(self):
        for host in ("gpu1", "ssh://-oProxyCommand=true", "ssh://gpu1/;true", "https://gpu1", "tcp://gpu1:1"):
            self.refuses("queue", env=self.away(host), says=(host, "expected https://HOST:PORT"))
        self.assertFalse(self.said.exists())


if __name__ == "__main__":
    unittest.main()
