#!/usr/bin/env python3
"""Text of jobs does not reach the terminal of an operator as anything but text."""

import json
import os
import pty
import re
import subprocess
import unittest

import cli
import server

# The title of a window, the clipboard, a cleared screen, a query that the terminal answers as if it
# were typed, the same in C1, DEL, a forged line, reversed text.
HOSTILE = ("\033]0;owned\a\033]52;c;cm0gLXJm\033\\\033[2J\033[6n\033P$q\033\\\u009b2J\u009d0;x\u009c\u0085\x7f\b\r"
           "\nstate        succeeded\t\u202etxt.exe\u2066\u200f")
# What the server accepts in a name: it refuses C0 and DEL.
NAME = "\u009b2J\u009d0;x\u009c\u0085\u202etxt.exe\u2066\u200f"
# Styles that Carpool itself uses on a terminal.
OWN_STYLES = re.compile(r"\033\[(0|1|2|1;32|31|32|33)m")
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")
READING = (("queue",), ("queue", "--all"), ("queue", "--state", "ended"), ("queue", "--state", "active"),
           ("show", "1"), ("show", "2"), ("show", "3"), ("explain", "1"), ("explain", "2"), ("explain", "3"),
           ("history",), ("history", "--all"), ("status",), ("usage", "--by", "job"), ("wait", "1"), ("hold", "3"), ("release", "3"))


class HostileText(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()
        self.here = self.folder / "fol\033[2Jder\u009b"
        self.here.mkdir()

    def submit_hostile(self, *argv, **more):
        job = {"argv": [*argv, HOSTILE], "name": NAME, "workload": NAME, "cwd": str(self.here),
               "env": {"PATH": os.environ["PATH"], "E": HOSTILE}, "mem": "1G", **more}
        status, body = self.request("POST", "/v1/jobs", job, {"Content-Type": "application/json"})
        self.assertLess(status, 300, body)
        return json.loads(body)["ids"][0]

    def assert_text(self, text, what):
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, f"{what}: {text!r}")

    def on_terminal(self, *arguments):
        """Everything that a terminal receives."""
        person, program = pty.openpty()
        running = subprocess.Popen(
            [cli.PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=program, stderr=program,
            cwd=self.folder, env=cli.environment(self.folder, **self.surroundings()))
        os.close(program)
        seen = cli.read_terminal(person)
        os.close(person)
        running.wait(timeout=cli.TIMEOUT_S)
        return seen.replace("\r\n", "\n")

    def jobs_of_each_kind(self):
        """One that has failed with hostile last words, one that runs, one that waits."""
        failing = self.submit_hostile("sh", "-c", 'printf "%s" "$0" >&2; exit 3')
        self.assertEqual(self.await_end(failing)["state"], "failed")
        running = self.submit_hostile("sh", "-c", "sleep 600")
        self.submit_hostile("sleep", after=[running])
        self.await_state(running, "running")

    def test_is_shown_by_no_command_as_anything_but_text(self):
        self.jobs_of_each_kind()
        commands = (*READING, ("requeue", "2"), ("drain",), ("drain", "--undo"), ("gpus", "--processes"), ("top", "--once"))
        for command in commands:
            done = self.carpool(*command)
            self.assert_text(done.stdout, command)
            self.assert_text(done.stderr, command)
            self.assertNotIn("\nstate        succeeded", done.stdout, command)
        for command in READING:
            self.assert_text(OWN_STYLES.sub("", self.on_terminal(*command)), ("terminal", command))
            self.assert_text(self.on_terminal(*command, "--json"), ("JSON", command))
        self.assertIn("\\u009b2J", self.carpool("queue", "--state", "ended").stdout)

    def test_keeps_its_value_in_json(self):
        job = self.submit_hostile("true")
        self.await_end(job)
        text = self.succeeds("show", job, "--json")
        self.assert_text(text, "JSON")
        self.assertEqual(cli.strict_json(text)["argv"], ["true", HOSTILE])
        self.assertEqual(cli.strict_json(text)["cwd"], str(self.here))

    def test_is_filtered_from_output_on_a_terminal_and_raw_elsewhere(self):
        job = self.submit("--mem", "1G", "--", "sh", "-c", 'printf "\\033[31mred\\033[0m %s" "$0"', HOSTILE)
        self.await_end(job)
        shown = self.on_terminal("logs", job)
        self.assertIn("\033[31mred\033[0m \\x1b]0;owned\\x07", shown)
        self.assert_text(shown.replace("\r", "").replace("\033[31m", "").replace("\033[0m", ""), "logs")
        self.assertIn("\033]0;owned\a", self.on_terminal("logs", "--raw", job))
        raw = subprocess.run([cli.PROGRAM, "logs", str(job)], capture_output=True, check=True,
                             env=cli.environment(self.folder, **self.surroundings())).stdout
        self.assertEqual(raw.decode(), "\033[31mred\033[0m " + HOSTILE)

    def test_reaches_neither_messages_nor_the_log_of_the_server(self):
        self.jobs_of_each_kind()
        for command in ((HOSTILE,), ("show", HOSTILE), ("queue", HOSTILE), ("queue", "--socket", self.folder / HOSTILE),
                        ("submit", "--time", HOSTILE, "--", "true"), ("submit", "--chdir", HOSTILE, "--", "true"),
                        ("predict", HOSTILE)):
            done = self.carpool(*command)
            self.assert_text(done.stdout, command)
            self.assert_text(done.stderr, command)
        self.stop_server()
        log = (self.folder / "server.log").read_text()
        self.assert_text(log, "log")
        for line in log.splitlines():
            self.assertRegex(line, r"^carpool: (debug|info|warning|error): ")


if __name__ == "__main__":
    unittest.main()
