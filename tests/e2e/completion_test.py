#!/usr/bin/env python3
"""Completion scripts of the shells: what they offer where, and the jobs that they ask the server for."""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import unittest

import cli
import server

DRIVER = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_carpool
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes on a terminal only: ^X prints the line as it is after a tab, and empties it.
ZSH_SETUP = """PS1= PROMPT_EOL_MARK=; autoload -Uz compinit; compinit -u -D; source {script}; \
show() {{ zle -I; print -r -- "[[$BUFFER]]"; BUFFER= }}; zle -N show; bindkey '^X' show; print rea''dy
"""


def shell(name):
    return unittest.skipUnless(shutil.which(name), f"{name} is not installed")


class CompletionTest(server.ServerTest):
    def script(self, name):
        return self.write(f"carpool.{name}", self.succeeds("completion", name))

    def environment(self):
        env = cli.environment(self.folder, CARPOOL_SOCKET=str(self.socket))
        return {**env, "PATH": f"{pathlib.Path(cli.PROGRAM).parent}:{os.environ['PATH']}"}

    def run_shell(self, *words):
        done = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, check=True, timeout=60,
                              env=self.environment())
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]


class Bash(CompletionTest):
    def offered(self, *words):
        """As bash passes the words: "=" is a word of its own."""
        return self.run_shell("bash", "-c", DRIVER, "bash", self.script("bash"), "carpool", *words)

    def test_commands_options_and_values(self):
        self.assertEqual(self.offered("sub"), ["submit"])
        self.assertEqual(self.offered("--json", "sub"), ["submit"])
        self.assertEqual(self.offered("--color", "never", "sub"), ["submit"])
        self.assertEqual(self.offered("queue", "--us"), ["--user"])
        self.assertEqual(self.offered("queue", "--qui"), ["--quiet"])  # of every command
        self.assertEqual(self.offered("--color", "al"), ["always"])
        self.assertEqual(self.offered("--color", "=", "al"), ["always"])
        self.assertEqual(sorted(self.offered("--color", "=")), ["always", "auto", "never"])
        self.assertEqual(self.offered("journal", "re"), ["repair"])
        self.assertEqual(self.offered("help", "sub"), ["submit"])
        self.assertEqual(self.offered("queue", "--user", ""), [])
        self.assertEqual(self.offered("serve", "--policy", "carp"), ["carpool"])
        self.assertIn("hrrn", self.offered("serve", "--order", ""))
        self.assertIn("aegis", self.offered("serve", "--recovery", ""))
        self.assertEqual(self.offered("submit", "--class", "b"), ["best-effort"])
        self.assertIn("orion", self.offered("run", "--best-effort", "--policy", ""))

    def test_files_folders_and_programs(self):
        self.write("data/profiles.csv", "")
        self.write("notes.txt", "")
        self.assertEqual(self.offered("dataset", "da"), ["data"])
        self.assertEqual(self.offered("recommend", "--data", "da"), ["data"])
        self.assertEqual(self.offered("recommend", "--data", "no"), [])
        self.assertEqual(self.offered("--config", "no"), ["notes.txt"])
        self.assertEqual(self.offered("submit", "--", "cat", "no"), ["notes.txt"])
        self.assertIn("basename", self.offered("submit", "--mem", "1G", "basen"))

    def test_jobs_of_the_server(self):
        self.assertEqual(self.offered("cancel", ""), [])  # no server
        self.start()
        self.succeeds("submit", "--array", "1-2", "--exclusive", "--gpus", "2", "--", "sleep", "600")
        self.succeeds("cancel", "2")
        self.await_end(2)
        self.assertEqual(self.offered("cancel", ""), ["1"])
        self.assertEqual(self.offered("logs", ""), ["1", "2"])
        self.assertRegex(self.succeeds("completion", "jobs"), r"\A1\t\S+ \w+\n\Z")


class Fish(CompletionTest):
    def offered(self, line):
        script = self.script("fish")
        lines = self.run_shell("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
        return [line.split("\t")[0] for line in lines]

    @shell("fish")
    def test_commands_options_values_and_jobs(self):
        self.assertEqual(self.offered("carpool sub"), ["submit"])
        self.assertEqual(self.offered("carpool --color never sub"), ["submit"])
        self.assertEqual(self.offered("carpool queue --us"), ["--user"])
        self.assertEqual(self.offered("carpool queue --qui"), ["--quiet"])
        self.assertEqual(self.offered("carpool --color al"), ["always"])
        self.assertEqual(self.offered("carpool journal re"), ["repair"])
        self.write("data/profiles.csv", "")
        self.assertEqual(self.offered("carpool dataset da"), ["data/"])
        self.start()
        self.succeeds("submit", "--", "sleep", "600")
        self.assertEqual(self.offered("carpool cancel "), ["1"])


class Zsh(CompletionTest):
    def read_until(self, mark):
        seen = ""
        while mark not in seen:
            self.assertTrue(select.select([self.terminal], [], [], server.PATIENCE_S)[0], seen)
            seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def completed(self, line):
        """The line after a tab."""
        os.write(self.terminal, line.encode() + b"\t\x18")
        return re.search(r"\[\[(.*)\]\]\r?\n", self.read_until("]]\r\n"))[1]

    @shell("zsh")
    def test_commands_options_values_and_files(self):
        script = self.script("zsh")
        self.run_shell("zsh", "-n", script)
        self.write("data/profiles.csv", "")
        child, self.terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**self.environment(), "TERM": "dumb", "ZDOTDIR": str(self.folder)})
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.addCleanup(os.close, self.terminal)
        os.write(self.terminal, ZSH_SETUP.format(script=script).encode())
        self.read_until("ready\r")
        for line, expected in (("carpool sub", "carpool submit "), ("carpool --color al", "carpool --color always "),
                               ("carpool --color never sub", "carpool --color never submit "),
                               ("carpool queue --us", "carpool queue --user="),
                               ("carpool journal re", "carpool journal repair "),
                               ("carpool help sub", "carpool help submit "),
                               ("carpool dataset da", "carpool dataset data/")):
            self.assertEqual(self.completed(line), expected)


if __name__ == "__main__":
    unittest.main()
