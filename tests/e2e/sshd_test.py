#!/usr/bin/env python3
"""CARPOOL_HOST=ssh://… through a real OpenSSH server on a port of this machine, with keys of its own."""

import getpass
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import unittest

import cli
import server

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def why_not():
    """Why no OpenSSH server can be tried here; empty: one can."""
    missing = [name for name in ("ssh", "ssh-keygen") if shutil.which(name) is None]
    if SSHD is None or missing:
        return "the OpenSSH server and client are not installed (Debian: openssh-server)"
    shell = pwd.getpwuid(os.geteuid()).pw_shell
    return "" if shell and not shell.endswith(("nologin", "false")) else "this user cannot log in"


@unittest.skipIf(why_not(), why_not())
class RealSsh(server.ServerTest):
    """The client has a home of its own; only ssh leads from there to the server."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "client"
        self.home.mkdir()
        for name in ("host_key", "user_key", "stranger_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True,
                           timeout=cli.TIMEOUT_S, capture_output=True)
        self.port = server.free_port()
        self.write("authorized_keys", (self.folder / "user_key.pub").read_text())
        self.start_sshd()
        # Carpool passes no option for keys: they come from the user's configuration of ssh.
        key = (self.folder / "host_key.pub").read_text()
        self.write("known_hosts", f"[127.0.0.1]:{self.port} {key}")
        self.configure("user_key")

    def start_sshd(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # as the service makes it
        config = self.write("sshd_config", f"""
ListenAddress 127.0.0.1:{self.port}
HostKey {self.folder}/host_key
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv CARPOOL_SOCKET={self.socket} XDG_RUNTIME_DIR={self.runtime}
""")
        self.sshd_log = open(self.folder / "sshd.log", "wb")
        self.addCleanup(self.sshd_log.close)
        self.sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL,
                                     stdout=self.sshd_log, stderr=self.sshd_log)
        self.addCleanup(self.sshd.wait)
        self.addCleanup(self.sshd.terminate)
        server.until(self.listens, "sshd to listen")

    def listens(self):
        if self.sshd.poll() is not None:
            raise AssertionError("sshd ended: " + (self.folder / "sshd.log").read_text())
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=server.PATIENCE_S).close()
        except ConnectionRefusedError:
            return False
        return True

    def configure(self, key, more=""):
        """ssh reads the configuration of the account, not of $HOME: a wrapper in PATH names another file."""
        self.write("ssh_config", f"IdentityFile {self.folder}/{key}\nIdentitiesOnly yes\n"
                                 f"UserKnownHostsFile {self.folder}/known_hosts\nStrictHostKeyChecking yes\n{more}")
        self.write("bin/ssh", f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder}/ssh_config "$@"\n').chmod(0o755)

    def away(self, host=None, **more):
        return {"CARPOOL_HOST": host or f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}", "CARPOOL_SOCKET": "",
                "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "CARPOOL_REMOTE_PROGRAM": cli.PROGRAM,
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", **more}

    def test_jobs_are_submitted_watched_and_read(self):
        self.start()
        self.assertIn("Submitted job 1", self.succeeds("submit", "--wait", "--mem", "1G", "--", "echo", "hello",
                                                       env=self.away()))
        self.assertEqual(self.succeeds("logs", "1", env=self.away()), "hello\n")
        self.assertEqual(self.job(1)["user"], getpass.getuser())
        self.assertIn("Accepted publickey", (self.folder / "sshd.log").read_text())
        # More than a packet in both directions.
        self.succeeds("drain", env=self.away())
        self.succeeds("submit", "--array", "1-300", "--mem", "1G", "--env", "X=" + "x" * 100_000, "--", "true",
                      env=self.away())
        self.assertEqual(len(self.prints_json("queue", env=self.away())["jobs"]), 300)
        self.succeeds("cancel", "--all-mine", env=self.away())

    def test_a_run_passes_output_and_exit_code_on(self):
        self.start()
        done = self.carpool("run", "--mem", "1G", "--chdir", "/", "--", "sh", "-c", "pwd; echo careful >&2; exit 7",
                            env=self.away())
        self.assertEqual((done.returncode, done.stdout), (7, "/\n"), done.stderr)
        self.assertIn("careful", done.stderr)

    def test_the_socket_can_be_named_and_a_connection_shared(self):
        self.start()
        self.configure("user_key", f"ControlMaster auto\nControlPath {self.folder}/mux\nControlPersist 60\n")
        address = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{self.socket}"
        self.succeeds("queue", env=self.away(address))
        self.succeeds("queue", env=self.away(address))
        subprocess.run([self.folder / "bin" / "ssh", "-O", "exit", "-p", str(self.port), "127.0.0.1"], check=False,
                       capture_output=True, timeout=cli.TIMEOUT_S)
        self.assertEqual((self.folder / "sshd.log").read_text().count("Accepted publickey"), 1)

    def fails_with(self, *words, **more):
        """What ssh and the shell there say comes first, then the message of carpool."""
        done = self.carpool("queue", env=self.away(**more))
        self.assertEqual(done.returncode, 69, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_what_is_missing_is_said(self):
        self.fails_with("no server answers on 127.0.0.1")
        self.start()
        self.fails_with("no program `no-such-program`", "CARPOOL_REMOTE_PROGRAM", CARPOOL_REMOTE_PROGRAM="no-such-program")
        self.configure("stranger_key")
        self.fails_with("Permission denied", "`ssh 127.0.0.1 true` must work")
        self.configure("user_key")
        self.write("known_hosts", f"[127.0.0.1]:{self.port} {(self.folder / 'stranger_key.pub').read_text()}")
        self.fails_with("Host key verification failed", "must work")

    def test_nothing_is_left_on_the_other_machine_when_the_client_is_killed(self):
        self.start()
        job = self.submit("--mem", "1G", "--", "sleep", "1000")
        client = subprocess.Popen([cli.PROGRAM, "wait", str(job)], stdin=subprocess.DEVNULL,
                                  env=cli.environment(self.home, **self.away()))
        relay = server.until(self.relays, "the relay to start")[0]
        client.kill()
        client.wait()
        server.until(lambda: server.has_ended(relay), "the relay to end")
        self.succeeds("cancel", job)
        self.await_end(job)

    def relays(self):
        """Processes `carpool relay` below this test's sshd."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    environment = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if b"relay" in words[1:2] and str(self.socket).encode() in environment:
                    found.append(int(entry.name))
        return found


if __name__ == "__main__":
    unittest.main()
