#!/usr/bin/env python3
"""What train and report write: whole or not at all, and nothing else."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile
import unittest

import cli

OLD = b"what was there before"
NOBODY = 65534
WRITERS = (("train", "a.model.json"), ("report", "a.html"))
HOSTILE_NAMES = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "a'b&c", "j\u00f6b \u65e5\u672c", "{{x}}",
)


class Files(cli.CarpoolTest):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="carpool-e2e-")
        cls.addClassCleanup(made.cleanup)
        os.chmod(made.name, 0o755)
        cls.data = cli.write_dataset(pathlib.Path(made.name) / "mine")

    def start(self, *arguments):
        return subprocess.Popen(
            [cli.PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=cli.environment(self.folder))

    def writing(self, command, file):
        """The command line of a quick run."""
        return command, "--quiet", "--data", self.data, "-o", file

    def as_a_user(self):
        """Options to run it as a user without root rights."""
        if os.geteuid() != 0:
            return {}
        self.folder.chmod(0o755)
        try:
            subprocess.run([cli.PROGRAM, "--version"], user=NOBODY, group=NOBODY, check=True,
                           stdout=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError):
            self.skipTest("only root may run the program")
        return {"user": NOBODY, "group": NOBODY}

    def test_only_what_was_asked_for_is_written(self):
        for command, file in WRITERS:
            self.succeeds(*self.writing(command, file))
        self.assertEqual(sorted(self.contents()), ["a.html", "a.model.json"])

    def test_are_replaced_whole(self):
        for command, file in WRITERS:
            path = self.write(file, OLD)
            before = path.stat().st_ino
            with open(path, "rb") as reader:
                self.succeeds(*self.writing(command, file))
                self.assertEqual(reader.read(), OLD)  # a reader keeps the old content
            self.assertNotEqual(path.stat().st_ino, before)
            self.assertGreater(path.stat().st_size, 1000)

    def test_have_the_permissions_that_the_user_asked_for(self):
        for command, file in WRITERS:
            self.succeeds(*self.writing(command, file), umask=0o027)
            self.assertEqual(stat.S_IMODE((self.folder / file).stat().st_mode), 0o640)

    def test_into_a_folder_that_is_not_there_is_an_error(self):
        for command, _ in WRITERS:
            self.refuses(*self.writing(command, "nowhere/file"), says=("nowhere/file", "No such file"))
        self.assertEqual(self.contents(), {})

    def test_into_a_folder_that_may_not_be_written_is_an_error(self):
        user = self.as_a_user()
        closed = self.folder / "closed"
        closed.mkdir()
        (closed / "old").write_bytes(OLD)
        closed.chmod(0o555)
        self.addCleanup(closed.chmod, 0o755)
        for command, _ in WRITERS:
            for file in ("closed/new", "closed/old"):
                self.refuses(*self.writing(command, file), says=(file, "Permission denied"), code=1, **user)
        self.assertEqual(os.listdir(closed), ["old"])
        self.assertEqual((closed / "old").read_bytes(), OLD)

    def test_that_may_not_be_read_are_an_error(self):
        user = self.as_a_user()
        cli.write_dataset(self.folder / "mine")
        (self.folder / "mine" / "pairs.csv").chmod(0)
        self.refuses("predict", "job0", "job1", "--data", "mine", says=("pairs.csv", "Permission denied"), code=1,
                     **user)

    def test_too_large_to_be_true_are_not_read(self):
        cli.write_dataset(self.folder / "mine")
        os.truncate(self.folder / "mine" / "pairs.csv", 1 << 32)  # a hole, no blocks
        self.refuses("predict", "job0", "job1", "--data", "mine", says=("pairs.csv", str(1 << 32)))

    def test_over_a_folder_is_an_error(self):
        (self.folder / "taken").mkdir()
        for command, _ in WRITERS:
            self.refuses(*self.writing(command, "taken"), says=("taken", "directory"), code=1)
        self.assertEqual(os.listdir(self.folder), ["taken"])

    def test_without_a_name_are_an_error(self):
        for command, _ in WRITERS:
            self.refuses(*self.writing(command, ""), says="file name is empty")
        self.assertEqual(self.contents(), {})

    def test_never_take_the_place_of_a_pipe_or_device(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        for command, _ in WRITERS:
            # Rejected, or written into the pipe until it is full: both are right.
            try:
                self.carpool(*self.writing(command, "pipe"), timeout=10)
            except subprocess.TimeoutExpired:
                pass
            self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode), command)

    def test_of_an_interrupted_run_are_as_before(self):
        slow = (("report", "-o", "a.html"), ("train", "--model", "kace-rf", "-o", "a.model.json"))
        for wait_s in (0.02, 0.1, 0.3):
            for arguments in slow:
                path = self.write(arguments[-1], OLD)
                with self.start(*arguments) as running:
                    try:
                        running.wait(timeout=wait_s)
                    except subprocess.TimeoutExpired:
                        running.send_signal(signal.SIGINT)
                    running.communicate(timeout=cli.TIMEOUT_S)
                self.assertIn(running.returncode, (0, -signal.SIGINT))
                if running.returncode != 0:
                    self.assertEqual(path.read_bytes(), OLD)
        self.assertEqual(sorted(self.contents()), ["a.html", "a.model.json"])

    def test_an_interrupted_evaluation_says_nothing_half(self):
        with self.start("evaluate", "--models", "share", "--seeds", "20000", "--json") as running:
            try:
                running.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual((running.returncode, out), (-signal.SIGINT, b""))


class Report(cli.CarpoolTest):
    def page(self, *options):
        self.succeeds("report", "--quiet", "-o", "a.html", *options)
        return (self.folder / "a.html").read_text(encoding="utf-8")

    def test_loads_nothing_from_anywhere(self):
        page = self.page()
        self.assertIn("default-src 'none'", page)
        markup = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1</script>", page, flags=re.DOTALL)
        for source in re.findall(r"<[^>]*\b(?:src|href|action|poster)\s*=\s*[\"']?([^\"'\s>]+)", markup):
            self.assertRegex(source, r"^(#|data:)")
        for pattern in (r"@import", r"\burl\(\s*[\"']?(?!data:|#)", r"<iframe", r"<object", r"<base\b"):
            self.assertNotRegex(markup, pattern)

    def test_is_one_whole_page_with_charts(self):
        page = self.page()
        self.assertTrue(page.lower().startswith("<!doctype html>"))
        self.assertTrue(page.rstrip().lower().endswith("</html>"))
        data = re.search(r'<script type="application/json" id="chart-data">(.*?)</script>', page, re.DOTALL)
        self.assertTrue(cli.strict_json(data[1]))
        for name in ("share", "kace-lr", "memcap", "Tesla V100-SXM2-32GB"):
            self.assertIn(name, page)

    def test_is_the_same_twice(self):
        def without_times(page):
            return re.sub(r"\d+(\.\d+)?(e-\d+)?", "0", page)
        first, second = self.page(), self.page()
        self.assertEqual(len(first.splitlines()), len(second.splitlines()))
        self.assertEqual(without_times(first), without_times(second))

    def test_treats_names_as_text(self):
        rows = [f'"{name}",{10 * (i + 1)}' for i, name in enumerate(HOSTILE_NAMES)]
        self.write("odd/profiles.csv", "workload,exclusive_thr\n" + "\n".join(rows) + "\n")
        pairs = [f'"{one}","{other}",{6 * i + 6},{5 * j + 5}' for i, one in enumerate(HOSTILE_NAMES)
                 for j, other in enumerate(HOSTILE_NAMES) if i < j]
        self.write("odd/pairs.csv", "w1,w2,thr1,thr2\n" + "\n".join(pairs) + "\n")
        self.write("odd/dataset.toml", 'gpu = "</title><script>alert(3)</script>"\nprovenance = "<b>bold</b>"\n'
                                       'throughput_unit = "</script>x/s"\n')
        page = self.page("--data", "odd")
        for text in ("<script>alert(", "<img src=x", "<b>bold", "</script>x/s"):
            self.assertNotIn(text, page)


if __name__ == "__main__":
    unittest.main()
