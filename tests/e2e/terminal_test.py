#!/usr/bin/env python3
"""Colour, progress and --quiet; a standard output that cannot be written is a failure."""

import itertools
import os
import pty
import select
import signal
import subprocess
import unittest

import cli

ESCAPE = "\033["

# Runs far longer than the two seconds after which progress is shown.
LONG = ("evaluate", "--models", "share", "--seeds", "20000")
ALL_OUTPUTS = (
    ("models",), ("man",), ("help", "queue"), ("dataset",), ("dataset", "--json"), ("--help",), ("--version",), ("evaluate", "--help"),
    ("evaluate", "--models", "memcap"), ("evaluate", "--models", "memcap", "--per-target", "--json"),
    ("predict", *cli.PAIR), ("recommend", cli.PAIR[0]), ("assign",),
    ("gpus", "--processes", "--replay", str(cli.RECORDING)), ("top", "--once", "--replay", str(cli.RECORDING)),
)


class Terminal(cli.CarpoolTest):
    def on_terminal(self, *arguments, **env):
        """Standard output and error of a successful run on a terminal."""
        code, seen = self.watch(arguments, lambda _: False, env)
        self.assertEqual(code, 0, seen)
        return seen

    def watch(self, arguments, enough, env=None):
        """Runs it on a terminal until it ends or `enough` holds for its output, checked twice a second."""
        person, program = pty.openpty()
        running = subprocess.Popen(
            [cli.PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=program, stderr=program,
            cwd=self.folder, env=cli.environment(self.folder, **(env or {})))
        os.close(program)
        seen = b""
        try:
            while not enough(seen.decode(errors="replace")):
                if select.select([person], [], [], 0.5)[0]:
                    seen += os.read(person, 65536)
        except OSError:  # the program has closed the terminal
            pass
        running.terminate()
        os.close(person)
        return running.wait(timeout=cli.TIMEOUT_S), seen.decode()

    def test_is_coloured(self):
        self.assertIn(ESCAPE, self.on_terminal("models"))

    def test_is_not_coloured_with_no_color_or_never(self):
        self.assertNotIn(ESCAPE, self.on_terminal("models", NO_COLOR="1"))
        self.assertNotIn(ESCAPE, self.on_terminal("models", "--color", "never"))

    def test_is_coloured_when_no_color_is_empty(self):
        self.assertIn(ESCAPE, self.on_terminal("models", NO_COLOR=""))

    def test_gets_json_without_colour(self):
        cli.strict_json(self.on_terminal("models", "--json"))

    def test_shows_progress_of_a_long_run(self):
        _, seen = self.watch(LONG, lambda text: "s left" in text)
        self.assertIn("s left", seen)

    def test_names_a_long_piece_of_work(self):
        cli.write_dataset(self.folder / "large", workloads=400)
        _, seen = self.watch(("train", "--data", "large", "-o", "m.model.json"), lambda text: "training" in text)
        self.assertRegex(seen, r"training share on \d+ rows  \d+ s")

    def test_shows_progress_within_a_long_simulation(self):
        self.succeeds("simulate", "--generate", "philly", "--jobs", "100000", "--days", "70", "-o", "long.csv")
        one_run = ("simulate", "long.csv", "--policy", "carpool", "--cluster", "64xA100-40")
        _, seen = self.watch(one_run, lambda text: "s left" in text)
        self.assertRegex(seen, r"simulate  \d+/100000  \d+ s elapsed, about \d+ s left  carpool, 1 of 1")
        self.assertNotIn("100000/100000", seen)

    def test_names_a_long_evaluation_of_larger_groups(self):
        cli.write_dataset(self.folder / "wide", workloads=60)
        cli.write_dataset(self.folder / "wide", workloads=60, table="triples", group_size=3)
        larger = ("evaluate", "--data", "wide", "--protocol", "larger-groups", "--unseen-members")
        _, seen = self.watch(larger, lambda text: "evaluating" in text)
        self.assertRegex(seen, r"evaluating larger groups  \d+ s")

    def test_shows_no_progress_with_quiet(self):
        asked = itertools.count()
        _, seen = self.watch((*LONG, "--quiet"), lambda text: text or next(asked) > 6)
        self.assertEqual(seen, "")


class NoTerminal(cli.CarpoolTest):
    def test_gets_no_escape_codes(self):
        for arguments in ALL_OUTPUTS:
            text = self.succeeds(*arguments)
            self.assertTrue(text, arguments)
            self.assertNotIn("\033", text, arguments)

    def test_gets_no_progress(self):
        with self.assertRaises(subprocess.TimeoutExpired) as stopped:
            self.carpool(*LONG, timeout=3)
        self.assertFalse(stopped.exception.stdout)
        self.assertFalse(stopped.exception.stderr)

    def test_gets_colour_on_demand(self):
        self.assertIn(ESCAPE, self.succeeds("models", "--color", "always"))
        self.assertIn(ESCAPE, self.succeeds("models", "--color", "always", env={"NO_COLOR": "1"}))

    def test_gets_nothing_on_standard_error_from_a_success(self):
        for arguments in ALL_OUTPUTS:
            done = self.carpool(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)

    def test_errors_are_not_coloured(self):
        self.assertNotIn("\033", self.refuses("evaluate", "--data", "nowhere"))


class Unwritable(cli.CarpoolTest):
    def fails(self, arguments, **options):
        done = self.carpool(*arguments, **options)
        self.assertEqual(done.returncode, 1, (arguments, done.stderr))
        self.assertIn("standard output could not be written", done.stderr, arguments)

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        for arguments in ALL_OUTPUTS:
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                self.fails(arguments, stdout=full)

    def test_a_closed_output_is_a_failure(self):
        for arguments in ALL_OUTPUTS:
            with self.subTest(arguments):
                self.fails(arguments, stdout=None, preexec_fn=lambda: os.close(1))

    def test_a_reader_that_leaves_ends_it_without_a_message(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            done = subprocess.run(
                [cli.PROGRAM, "man"], stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.PIPE,
                restore_signals=True, env=cli.environment(self.folder), check=False, timeout=cli.TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))


if __name__ == "__main__":
    unittest.main()
