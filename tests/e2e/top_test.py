#!/usr/bin/env python3
"""carpool top: as plain text, and on a terminal, which it restores."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import cli


class PrintOut(cli.CarpoolTest):
    def top(self, *arguments, **options):
        return self.succeeds("top", "--once", "--replay", cli.RECORDING, *arguments, **options)

    def test_has_a_block_a_gpu_and_a_row_a_process(self):
        text = self.top()
        self.assertIn("carpool top  2 GPUs", text)
        self.assertRegex(text, r"SM +█+░+ +50 %")
        self.assertRegex(text, r"memory █+░* 3\.0 / 141\.0 GiB")
        self.assertRegex(text, r"(?m)^ +4000  - +0 +- +2\.0  no   -$")
        self.assertNotIn("\033", text)

    def test_is_what_an_output_that_is_no_terminal_gets(self):
        self.assertEqual(self.succeeds("top", "--replay", cli.RECORDING), self.top())

    def test_is_plain_ascii_where_the_locale_is(self):
        self.assertTrue(self.top(env={"LC_ALL": "C"}).isascii())

    def test_sorts_as_asked(self):
        driver = cli.fake_driver(self.write(
            "driver.txt", "processes = 30:9000000000 10:1000000000 20:5000000000\nsm_of = 20:80 10:7"))
        def pids(key):
            text = self.succeeds("top", "--once", "--sort", key, env=driver)
            return [int(line.split()[0]) for line in text.partition("COMMAND\n")[2].splitlines()]
        self.assertEqual(pids("memory")[:1], [30])
        self.assertEqual(pids("pid")[:1], [10])
        self.assertEqual(pids("sm")[:1], [20])
        self.assertRegex(self.succeeds("top", "--once", env=driver), r"(?m)^ +20  \S+ +0 +80 +4\.7  no   \S")
        self.refuses("top", "--sort", "colour", says="--sort")

    def test_has_json(self):
        self.assertEqual(len(self.prints_json("top", "--replay", cli.RECORDING)), 2)


class Terminal(cli.CarpoolTest):
    """A user at a terminal of 100 columns and 30 rows."""

    def setUp(self):
        super().setUp()
        self.person, self.program = pty.openpty()
        self.addCleanup(os.close, self.program)
        self.addCleanup(os.close, self.person)
        self.resize(30, 100)
        self.before = termios.tcgetattr(self.program)

    def resize(self, rows, columns):
        fcntl.ioctl(self.program, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def start(self, *arguments, **env):
        running = subprocess.Popen(
            [cli.PROGRAM, "top", "--replay", str(cli.RECORDING), "--interval", "0.1", *arguments],
            stdin=self.program, stdout=self.program, stderr=self.program, cwd=self.folder,
            env=cli.environment(self.folder, **env), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(running.kill)
        return running

    def see(self, wanted):
        """Reads until this text; returns all of it."""
        seen, end = b"", time.monotonic() + cli.TIMEOUT_S
        while wanted.encode() not in seen:
            self.assertLess(time.monotonic(), end, f"never saw {wanted!r}: {seen[-2000:]!r}")
            if select.select([self.person], [], [], 0.2)[0]:
                seen += os.read(self.person, 65536)
        return seen.decode(errors="replace")

    def drain(self):
        """Drops what was drawn before."""
        while select.select([self.person], [], [], 0)[0]:
            os.read(self.person, 65536)

    def ends_well(self, running, code=0):
        """Waits for the end; the terminal is restored."""
        end = time.monotonic() + cli.TIMEOUT_S
        seen = b""
        while running.poll() is None:
            self.assertLess(time.monotonic(), end, "it does not end")
            if select.select([self.person], [], [], 0.05)[0]:
                seen += os.read(self.person, 65536)
        while select.select([self.person], [], [], 0)[0]:
            seen += os.read(self.person, 65536)
        self.assertEqual(running.returncode, code, seen)
        self.assertEqual(termios.tcgetattr(self.program), self.before)
        return seen.decode(errors="replace")

    def test_q_quits_and_leaves_the_terminal_as_it_was(self):
        running = self.start()
        self.see("q quit")
        self.assertNotEqual(termios.tcgetattr(self.program), self.before)
        os.write(self.person, b"q")
        self.assertIn("\033[?1049l", self.ends_well(running))

    def test_signals_leave_the_terminal_as_it_was(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                running = self.start()
                self.see("q quit")
                running.send_signal(number)
                self.assertIn("\033[?1049l", self.ends_well(running))

    def test_control_c_quits(self):
        running = self.start()
        self.see("q quit")
        os.write(self.person, b"\x03")
        self.ends_well(running)

    def test_draws_anew_when_the_terminal_changes_its_size(self):
        running = self.start()
        self.see("q quit")
        for rows, columns, drawn in ((5, 20, "\033["), (1, 1, "\033["), (60, 200, "\033[60;200H")):
            self.drain()
            self.resize(rows, columns)
            running.send_signal(signal.SIGWINCH)
            seen = self.see(drawn)
        self.assertIn("q quit", seen)
        self.assertIsNone(running.poll())
        os.write(self.person, b"q")
        self.ends_well(running)

    def test_arrows_and_letters_are_keys(self):
        running = self.start()
        self.see("q quit")
        # Both encodings of arrow keys. A row is redrawn when it is selected.
        for down, up in ((b"\033OB", b"\033OA"), (b"\033[B", b"\033[A")):
            os.write(self.person, down)
            self.see("4001")
            os.write(self.person, up)
            self.see("4000")
        os.write(self.person, b"mspj?\033\033[5~\033[99~")
        os.write(self.person, b"\033[B")
        self.see("4001")
        self.assertIsNone(running.poll())
        os.write(self.person, b"q")
        self.ends_well(running)

    def test_a_terminal_of_unknown_kind_is_told_what_to_do(self):
        running = self.start(TERM="nobody-knows-this")
        self.assertRegex(self.ends_well(running, code=1), r"(?s)unknown terminal type.*carpool top --once")

    def test_once_prints_and_ends(self):
        running = self.start("--once")
        self.assertIn("carpool top  2 GPUs", self.ends_well(running))

    def test_no_colour_where_the_user_said_no(self):
        running = self.start(NO_COLOR="1")
        self.assertNotIn("\033[36m", self.see("q quit"))
        os.write(self.person, b"q")
        self.ends_well(running)


if __name__ == "__main__":
    unittest.main()
