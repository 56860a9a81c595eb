#!/usr/bin/env python3
"""Help, version and manual page: complete, in order, and with examples that run."""

import re
import shlex
import shutil
import subprocess
import unittest

import cli
import server

# As the help and the manual show them.
GROUPS = {
    "Jobs": ("submit", "queue", "show", "explain", "logs", "wait", "cancel", "hold", "release", "requeue", "update",
             "history", "usage", "knowledge"),
    "Server": ("serve", "status", "drain", "prune", "journal", "token", "relay"),
    "GPUs": ("run", "gpus", "top", "doctor", "record"),
    "Prediction": ("recommend", "predict", "assign", "estimate", "profile", "profiles"),
    "Research": ("measure", "dataset", "train", "evaluate", "simulate", "report", "models", "policies",
                 "estimators", "demo"),
    "Help": ("help", "man", "completion"),
}
COMMANDS = [command for group in GROUPS.values() for command in group]
GLOBAL_OPTIONS = ["-h", "--help", "-V", "--version", "--json", "-q", "--quiet", "-v", "--verbose",
                  "--color", "--config"]

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
    def test_of_the_program_shows_groups_then_options_examples_and_exit_codes(self):
        for words in (("--help",), ("-h",), ("help",)):
            with self.subTest(words):
                text = self.succeeds(*words)
                at = [text.index(f"\n{heading}:\n") for heading in (*GROUPS, "Options", "Examples")]
                at.append(text.index("\nExit codes: 0 success, 1 failure, 2 bad usage"))
                self.assertEqual(at, sorted(at))
                for group, commands in GROUPS.items():
                    listed = text.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
                    self.assertEqual(re.findall(r"(?m)^  (\w+) +[A-Z]", listed), list(commands))
                self.assertEqual(options_of(text), GLOBAL_OPTIONS)
                self.assertEqual([line.split()[1] for line in examples_of(text)][:4],
                                 ["submit", "queue", "explain", "top"])

    def test_of_a_command_has_its_usage_and_examples_of_itself(self):
        for command in COMMANDS:
            for words in ((command, "--help"), (command, "-h"), ("help", command)):
                with self.subTest(words):
                    text = self.succeeds(*words)
                    self.assertRegex(text, rf"\A[A-Z][^\n]+[^.]\nUsage: carpool {command} ")
                    self.assertEqual(options_of(text)[:2], ["-h", "--help"])
                    found = examples_of(text)
                    self.assertTrue(found)
                    for example in found:
                        self.assertEqual(example.split()[:2], ["carpool", command])
                    self.assertIn("`carpool --help` shows the options that every command takes.", text)

    def test_works_beside_a_broken_configuration(self):
        self.write(".config/carpool/config.toml", "colour = [")
        self.refuses("models", says="config.toml")
        self.assertIn("Usage: carpool submit", self.succeeds("help", "submit"))
        self.assertIn(".SH NAME", self.succeeds("man"))

    def test_version_is_that_of_the_tree(self):
        version = (cli.ROOT / "VERSION").read_text().strip()
        for option in ("--version", "-V"):
            self.assertEqual(self.succeeds(option), f"carpool {version}\n")

    def test_every_protocol_that_the_help_names_is_known(self):
        known = {entry["name"] for entry in self.prints_json("models")["protocols"]}
        line = re.search(r"--protocol NAME +(.*)", self.succeeds("evaluate", "--help"))[1]
        named = set(re.findall(r"[a-z][a-z-]+", line.replace("(default)", "")))
        self.assertEqual(known - named, {"file"})  # which --splits implies
        self.assertEqual(named - known, set())


def sections_of(page):
    parts = re.split(r"\n\.S[HS] ", page.replace("\\-", "-"))
    return {part.partition("\n")[0]: part for part in parts}


class ManualPages(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.page = self.succeeds("man")
        self.succeeds("man", "--write", ".")

    def test_that_of_the_program_lists_all_commands(self):
        sections = sections_of(self.page)
        self.assertEqual(
            list(sections)[1:],
            ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", *GROUPS, "OPTIONS", "EXIT STATUS", "ENVIRONMENT",
             "FILES", "EXAMPLES"])
        for option in GLOBAL_OPTIONS:
            self.assertRegex(sections["OPTIONS"], rf"(?m)^\.B (\S+,)?{option}\b")
        for group, commands in GROUPS.items():
            self.assertEqual(re.findall(r"(?m)^\.B carpool-(\w+)\(1\)$", sections[group]), list(commands))
        self.assertEqual((self.folder / "carpool.1").read_text(), self.page)

    def test_that_of_a_command_has_every_option_of_its_help(self):
        for command in COMMANDS:
            page = (self.folder / f"carpool-{command}.1").read_text()
            self.assertEqual(self.succeeds("man", command), page)
            sections = sections_of(page)
            for name in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES",
                         "EXAMPLES", "SEE ALSO"):
                self.assertIn(name, sections, command)
            for option in options_of(self.succeeds(command, "--help")):
                self.assertRegex(sections["OPTIONS"], rf"(?m)^\.B (\S+,)?{option}\b", f"{command} {option}")

    def test_that_of_a_command_has_the_statuses_variables_and_files_of_the_command(self):
        for command, name, text, there in (
                ("wait", "EXIT STATUS", "75", True), ("queue", "EXIT STATUS", "75", False),
                ("queue", "EXIT STATUS", "69", True), ("models", "EXIT STATUS", "69", False),
                ("run", "EXIT STATUS", "exit code of the program", True),
                ("submit", "ENVIRONMENT", "CARPOOL_JOB_ID", True), ("queue", "ENVIRONMENT", "CARPOOL_SOCKET", True),
                ("models", "ENVIRONMENT", "CARPOOL_SOCKET", False), ("serve", "FILES", "/var/lib/carpool", True),
                ("queue", "FILES", "/var/lib/carpool", False), ("models", "FILES", "/etc/carpool/config.toml", True)):
            with self.subTest((command, name, text)):
                section = sections_of((self.folder / f"carpool-{command}.1").read_text())[name]
                (self.assertIn if there else self.assertNotIn)(text, section)

    def test_of_an_unknown_command_is_refused(self):
        self.refuses("man", "sumbit", says="submit")

    def test_groff_has_no_warning(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for page in self.folder.glob("*.1"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], text=True, capture_output=True, check=True)
            self.assertEqual(done.stderr, "", page)
            self.assertIn("EXIT STATUS", re.sub(".\b", "", done.stdout))

    def test_man_shows_it(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        done = subprocess.run(
            ["man", "-l", "-"], input=self.page, text=True, capture_output=True, check=False,
            env=cli.environment(self.folder, MANWIDTH="80", MAN_KEEP_FORMATTING="", PAGER="cat"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("carpool-evaluate(1)", done.stdout)


class Examples(cli.CarpoolTest):
    """Run as written, where a user would: beside my-gpu, a recording, a plan and models, with a GPU."""

    def write_inputs(self):
        cli.write_dataset(self.folder / "my-gpu", workloads=6)
        cli.write_dataset(self.folder / "my-gpu", workloads=6, table="triples", group_size=3)
        shutil.copy(cli.RECORDING, self.folder / "recording.jsonl")
        if not (self.folder / "data").exists():
            (self.folder / "data").symlink_to(cli.ROOT / "data")
        self.write("plan.toml", PLAN)
        self.write("train.py", TRAIN)
        self.write("serve.py", "print('ready')")
        self.write("finetune.py", "print('done')")
        self.write("bert.csv", cli.NCU_EXPORT)
        models = cli.ROOT / "tests" / "fuzz" / "corpus" / "model_files"
        self.write("config.json", (models / "config_llama").read_bytes()[1:])
        self.write("model.onnx", (models / "onnx_small").read_bytes()[1:])
        for name in ("job0", "job1"):
            for folder in (self.folder, self.folder / "profiles"):
                cli.write_profile(folder / f"{name}.profile.json", name, threads=1000, sm_active=0.5)

    def run_examples_of(self, *command):
        self.write_inputs()
        machine = {**cli.fake_driver(self.write("driver.txt", "gpus = 2")), **cli.FAKE_MPS}
        machine["LD_LIBRARY_PATH"] += f":{cli.FAKE_CUDA}"
        run_examples(self, *command, env=machine)


def run_examples(test, *command, **options):
    found = examples_of(test.succeeds(*command, "--help"))
    test.assertTrue(found)
    for example in found:
        words = shlex.split(example.partition("|")[0])[1:]
        with test.subTest(example):
            test.assertTrue(test.succeeds(*words, **options))


for name in set(cli.COMMANDS) - set(cli.SERVER_COMMANDS):
    setattr(Examples, f"test_of_{name}_run", lambda self, name=name: self.run_examples_of(name))


class ServerExamples(server.ServerTest):
    """Examples of commands that talk to a server; they name jobs 17 and 18."""

    def setUp(self):
        super().setUp()
        self.start()

    def submit_18(self):
        """One runs on all GPUs until the file `go` is there; the others wait."""
        self.succeeds("submit", "--array", "1-18", "--exclusive", "--gpus", "2", "--", "sh", "-c",
                      "echo started; while [ ! -e go ]; do sleep 0.05; done")

    def test_of_the_program_run(self):
        Examples.write_inputs(self)
        run_examples(self)

    def test_of_submit_run(self):
        Examples.write_inputs(self)
        self.write("sweep.sh", "true").chmod(0o755)
        run_examples(self, "submit")

    def test_of_commands_about_waiting_jobs_run(self):
        self.submit_18()
        for command in ("status", "queue", "show", "explain", "update", "hold", "release", "cancel"):
            run_examples(self, command)
        self.assertEqual(self.await_end(17)["state"], "cancelled")

    def test_of_commands_about_running_and_ended_jobs_run(self):
        self.submit_18()
        self.succeeds("cancel", *range(1, 17))
        self.await_state(17, "running")
        run_examples(self, "requeue")
        self.write("go", "")
        self.await_end(18)
        self.assertEqual([self.carpool(*words).returncode for words in
                          (("wait", "17", "18"), ("wait", "--limit", "60", "17"))], [0, 0])
        for command in ("logs", "history", "usage", "knowledge", "drain"):
            run_examples(self, command)
        self.stop_server()
        self.state.rename(self.folder / "carpool")
        run_examples(self, "journal", env={"XDG_STATE_HOME": str(self.folder)})


if __name__ == "__main__":
    unittest.main()
