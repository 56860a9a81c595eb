#!/usr/bin/env python3
"""Help, version and manual page: complete, true, and with examples that run."""

import re
import shlex
import shutil
import subprocess
import unittest

import cli

OPTION = re.compile(r"^ {2}((?:-\w,)?--[\w-]+|-\w)\b", re.MULTILINE)
EXAMPLE = re.compile(r"^  (carpool .*)$", re.MULTILINE)

PLAN = f"""
name = "help"
command = ["python3", "-c", "import sys, time; sys.path.insert(0, '{cli.ROOT / 'python'}'); import carpool\\nwhile True: time.sleep(0.01); carpool.step()"]
alone_repeats = 1
[window]
seconds = 0.2
warm_seconds = 0
[[workload]]
name = "a"
[[workload]]
name = "b"
[[groups]]
table = "pairs"
size = 2
"""


TRAIN = f"""
import sys, time
sys.path.insert(0, {str(cli.ROOT / "python")!r})
import carpool
for step in range(100000):
    time.sleep(0.01)
    print("step", step)
    carpool.step()
"""


def options_of(help_text):
    return [name for match in OPTION.findall(help_text) for name in match.split(",")]


def examples_of(help_text):
    return EXAMPLE.findall(help_text.partition("\nExamples:\n")[2])


class Help(cli.CarpoolTest):
    def test_top_level_help_names_every_command_and_the_exit_codes(self):
        text = self.succeeds("--help")
        for command in cli.COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")
        self.assertIn("Exit codes: 0", text)

    def test_every_command_has_help_with_examples_of_itself(self):
        for command in cli.COMMANDS:
            with self.subTest(command):
                text = self.succeeds(command, "--help")
                self.assertEqual(text, self.succeeds(command, "-h"))
                self.assertIn(f"Usage: carpool {command}", text)
                found = examples_of(text)
                self.assertTrue(found)
                for example in found:
                    self.assertTrue(example.startswith(f"carpool {command}"), example)

    def test_help_of_a_command_leads_to_the_options_that_every_command_takes(self):
        for command in cli.COMMANDS:
            text = self.succeeds(command, "--help")
            self.assertTrue("--quiet" in options_of(text) or "carpool --help" in text, text)

    def test_version_is_that_of_the_tree(self):
        version = (cli.ROOT / "VERSION").read_text().strip()
        self.assertEqual(self.succeeds("--version"), f"carpool {version}\n")

    def test_every_protocol_that_the_help_names_is_known(self):
        known = {entry["name"] for entry in self.prints_json("models")["protocols"]}
        named = re.search(r"--protocol NAME +(.*)", self.succeeds("evaluate", "--help"))[1]
        for protocol in re.findall(r"[a-z][a-z-]+", named.replace("(default)", "")):
            self.assertIn(protocol, known)


class ManualPage(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.page = self.succeeds("man")

    def test_every_option_of_the_help_is_in_it(self):
        parts = self.page.replace("\\-", "-").split("\n.SS carpool ")
        sections = {part.split()[0]: part for part in parts[1:]}
        self.assertEqual(sorted(sections), sorted(cli.COMMANDS))
        for option in options_of(self.succeeds("--help")):
            self.assertIn(option, parts[0])
        for command in cli.COMMANDS:
            options = options_of(self.succeeds(command, "--help"))
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(sections[command], rf"{option}\b", f"{command} {option}")

    def test_groff_has_no_warning(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=self.page, text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("EXAMPLES", re.sub(".\b", "", done.stdout).upper())

    def test_man_shows_it(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        done = subprocess.run(
            ["man", "-l", "-"], input=self.page, text=True, capture_output=True, check=False,
            env=cli.environment(self.folder, MANWIDTH="80", MAN_KEEP_FORMATTING="", PAGER="cat"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("carpool evaluate", done.stdout)


class Examples(cli.CarpoolTest):
    """Run as written, where a user would: beside my-gpu, a recording, a plan and models, with a GPU."""

    def run_examples_of(self, *command):
        cli.write_dataset(self.folder / "my-gpu", workloads=6)
        cli.write_dataset(self.folder / "my-gpu", workloads=6, table="triples", group_size=3)
        shutil.copy(cli.RECORDING, self.folder / "recording.jsonl")
        if not (self.folder / "data").exists():
            (self.folder / "data").symlink_to(cli.ROOT / "data")
        self.write("plan.toml", PLAN)
        self.write("train.py", TRAIN)
        self.write("bert.csv", cli.NCU_EXPORT)
        models = cli.ROOT / "tests" / "fuzz" / "corpus" / "model_files"
        self.write("config.json", (models / "config_llama").read_bytes()[1:])
        self.write("model.onnx", (models / "onnx_small").read_bytes()[1:])
        for name in ("job0", "job1"):
            for folder in (self.folder, self.folder / "profiles"):
                cli.write_profile(folder / f"{name}.profile.json", name, threads=1000, sm_active=0.5)
        machine = {**cli.fake_driver(self.write("driver.txt", "gpus = 2")), **cli.FAKE_MPS}
        for example in examples_of(self.succeeds(*command, "--help")):
            words = shlex.split(example.partition("|")[0])[1:]
            with self.subTest(example):
                self.assertTrue(self.succeeds(*words, env=machine))

    def test_of_the_program_run(self):
        self.run_examples_of()


for name in set(cli.COMMANDS) - set(cli.SERVER_COMMANDS):
    setattr(Examples, f"test_of_{name}_run", lambda self, name=name: self.run_examples_of(name))


if __name__ == "__main__":
    unittest.main()
