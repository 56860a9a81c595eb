#!/usr/bin/env python3
"""What people look at to find a job: names, folded arrays, reasons in one word, times, files and ends."""

import fcntl
import os
import struct
import subprocess
import termios
import unittest

import cli
import server


class FindJobs(server.ServerTest):
    def setUp(self):
        super().setUp()
        self.start()

    def row(self, text, *words):
        found = [line for line in text.splitlines() if all(word in line for word in words)]
        self.assertEqual(len(found), 1, text)
        return found[0]

    def test_a_job_is_named_by_its_script(self):
        self.succeeds("drain")
        self.write("train.py", "print()")
        self.write("go.sh", "#!/bin/sh\n#CARPOOL --mem 1G\ntrue\n").chmod(0o755)
        jobs = [self.submit("--mem", "1G", "--", "python3", "-u", "train.py", "--lr", "3"), self.submit("./go.sh")]
        self.assertEqual([self.job(job)["name"] for job in jobs], ["train.py", "go.sh"])
        self.succeeds("cancel", "--name", "train.p?")
        self.assertEqual([self.job(job)["state"] for job in jobs], ["cancelled", "queued"])

    def test_an_array_is_one_row_and_the_reason_one_word(self):
        self.succeeds("drain")
        self.succeeds("submit", "--array", "0-9", "--mem", "1G", "--", "true")
        self.succeeds("hold", "1_[7-9]")
        text = self.succeeds("queue")
        row = self.row(text, "1_[0-9]", "7 PD, 3 H")
        self.assertIn("(Drained)", row)
        self.assertNotIn("drain --undo", row)
        expanded = self.succeeds("queue", "--expand")
        self.assertEqual(len(expanded.splitlines()), len(text.splitlines()) + 9)
        self.row(expanded, "true[8]", "(Held)")
        self.assertEqual(len(self.prints_json("queue")["jobs"]), 10)

    def test_rows_fit_the_terminal(self):
        self.succeeds("drain")
        self.submit("--mem", "1G", "--name", "n" * 200, "--", "true")
        person, program = os.openpty()
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
        done = subprocess.run([cli.PROGRAM, "--color", "never", "-q", "queue"], stdout=program, stdin=program,
                              check=False, timeout=cli.TIMEOUT_S,
                              env=cli.environment(self.folder, **self.surroundings()))
        os.close(program)
        lines = cli.read_terminal(person).splitlines()
        os.close(person)
        self.assertEqual((done.returncode, len(lines)), (0, 2), lines)
        self.assertLessEqual(max(len(line) for line in lines), 90, lines)
        self.assertIn("nnn\u2026", lines[1])

    def test_history_has_the_end_the_gpu_and_the_exit_code(self):
        self.assertEqual(self.carpool("submit", "--wait", "--mem", "1G", "--", "sh", "-c", "exit 3").returncode, 3)
        self.carpool("submit", "--wait", "--mem", "1G", "--", "sh", "-c", "kill -9 $$")
        latest, first = self.prints_json("history")["jobs"]
        self.assertEqual((first["exit_code"], latest["signal"], len(latest["gpus"])), (3, 9, 1))
        text = self.succeeds("history")
        for heading in ("ENDED", "EXIT", "GPU", "PEAK"):
            self.assertIn(heading, text.splitlines()[0])
        self.assertIn("signal 9", text)
        self.assertRegex(text, r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d")

    def test_show_has_times_files_and_the_array(self):
        self.carpool("submit", "--wait", "--array", "4-5", "--mem", "1G", "--", "echo", "hello")
        text = self.succeeds("show", "2")
        self.assertIn("index 5 of array 1[]", text)
        for name in ("submitted", "started", "ended"):
            self.assertRegex(text, rf"(?m)^{name} +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$")
        file = self.job(2)["stdout_file"]
        with open(file, encoding="utf-8") as output:
            self.assertEqual(output.read(), "hello\n")
        self.assertIn(file, text)


if __name__ == "__main__":
    unittest.main()
