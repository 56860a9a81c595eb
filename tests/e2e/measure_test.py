#!/usr/bin/env python3
"""measure over a fake driver, a fake MPS, and workers in Python that sleep."""

import csv
import json
import os
import pathlib
import pty
import signal
import subprocess
import time
import unittest

import cli

WORKER = f"""
import os, pathlib, sys, time
sys.path.insert(0, {str(cli.ROOT / "python")!r})
import carpool

name = sys.argv[1]
pipe = pathlib.Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
if pipe.exists():
    (pipe / f"client.{{os.getpid()}}").touch()
if name == "late":
    time.sleep(600)
if name == "greedy":
    sys.exit("torch.OutOfMemoryError: CUDA out of memory")
carpool.configure(units=4)
seconds = int(name[3:]) / 1000
due = time.monotonic()
while True:
    # Absolute times: an overrun on a busy machine is made up for, a hold is not.
    due = max(due + seconds, time.monotonic() - 4 * seconds)
    time.sleep(max(due - time.monotonic(), 0))
    carpool.step()
"""
ALL_PAIRS = '[[groups]]\ntable = "pairs"\nsize = 2\n'
DRIVER = "name = Fake H200\ndriver = 580.1\n"


class MeasureTest(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        self.worker = self.write("worker.py", WORKER)
        self.driver = self.write("driver.txt", DRIVER)
        self.env = {**cli.fake_driver(self.driver), "XDG_RUNTIME_DIR": str(self.runtime),
                    "CARPOOL_MPS_CONTROL": os.environ["FAKE_MPS_CONTROL"]}
        self.addCleanup(self.end_leftovers)

    def plan(self, names, groups=ALL_PAIRS, more=""):
        lines = ['name = "sleepers"', f'command = ["python3", "{self.worker}", "{{workload}}"]',
                 "alone_repeats = 2", more, "[window]", "seconds = 0.2", "warm_seconds = 0.02",
                 "warm_steps = 1", "[workers]", "end_seconds = 2"]
        for name in names:
            lines += ["[[workload]]", f'name = "{name}"']
        return self.write("plan.toml", "\n".join(lines) + "\n" + groups)

    def starts(self, *arguments):
        """The program in the background; it is killed when the test ends."""
        process = subprocess.Popen(
            [cli.PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=cli.environment(self.folder, **self.env))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def waits_for(self, happened, what):
        for _ in range(600):
            if happened():
                return
            time.sleep(0.05)
        self.fail(f"never: {what}")

    def processes(self):
        """PIDs of processes whose environment names this test's folder."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    command = (entry / "cmdline").read_bytes()
                    if str(self.folder).encode() in command + (entry / "environ").read_bytes():
                        found[int(entry.name)] = command
            except OSError:
                pass  # it ended meanwhile
        return found

    def end_leftovers(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def nothing_is_left(self):
        self.waits_for(lambda: not self.processes(), f"all processes gone: {self.processes()}")
        self.assertEqual(sorted(p.name for p in self.runtime.rglob("*")), ["carpool"])

    def journal(self, folder="data"):
        path = self.folder / folder / "measurements.jsonl"
        return [json.loads(line) for line in path.read_text().split("\n")[1:-1]] \
            if path.exists() else []

    def table(self, name):
        with open(self.folder / "data" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class WholeCampaign(MeasureTest):
    def test_its_folder_is_a_dataset_that_models_are_judged_on(self):
        plan = self.plan(["job4", "job6", "job9", "job14", "job20"])
        done = self.prints_json("measure", plan, "-o", "data", env=self.env)
        self.assertEqual(done, {"folder": "data", "windows": 20, "done": 20, "failed": 0,
                                "measured_now": 20, "complete": True})
        self.nothing_is_left()

        speeds = {row["workload"]: float(row["exclusive_thr"]) for row in self.table("profiles.csv")}
        self.assertEqual(list(speeds), ["job4", "job6", "job9", "job14", "job20"])
        for name, speed in speeds.items():
            self.assertAlmostEqual(speed * int(name[3:]) / 4000, 1.0, delta=0.25)
        for line in (self.folder / "data" / "measurements.jsonl").read_text().splitlines()[1:]:
            for member in json.loads(line)["members"]:
                self.assertAlmostEqual(member["thr"], 4 * member["steps_per_second"])
        self.assertEqual(len(self.table("pairs.csv")), 10)
        self.assertEqual(len(self.table("cells.csv")), 10 + 20)
        self.assertEqual(self.table("failures.csv"), [])

        dataset = self.prints_json("dataset", "data")
        self.assertEqual(dataset["gpu"], "Fake H200")
        self.assertEqual(dataset["tables"], [{"name": "pairs", "rows": 10, "group_size": 2}])
        self.assertIn("sm_busy_pct", [metric["name"] for metric in dataset["metrics"]])
        self.assertIn("share", self.succeeds(
            "evaluate", "--data", "data", "--protocol", "random", "--train-fraction", "0.5",
            "--seeds", "2", "--models", "share,kace-lr"))

        again = self.prints_json("measure", plan, "-o", "data", env=self.env)
        self.assertEqual((again["measured_now"], again["complete"]), (0, True))

    def test_limits_and_mechanisms_are_told_apart(self):
        plan = self.plan(["job4", "job6"], groups="""
[[groups]]
table = "limits"
members = [["job4", "job6"]]
thread_percentages = [[25, 75], [100, 100]]
[[groups]]
mechanism = "time-slicing"
members = [["job4", "job4", "job6"]]
""")
        self.succeeds("measure", plan, "-o", "data", env=self.env)
        self.assertEqual({(row["pct1"], row["pct2"]) for row in self.table("limits.csv")},
                         {("25", "75"), ("100", "100")})
        self.assertEqual({(row["workload"], row["mps_pct"])
                          for row in self.table("exclusive_mps.csv")},
                         {("job4", "100"), ("job4", "25"), ("job6", "100"), ("job6", "75")})
        self.assertEqual({row["mechanism"] for row in self.table("cells.csv")},
                         {"mps", "time-slicing"})
        self.assertEqual(self.prints_json("dataset", "data")["limited_runs"], 6)

    def test_a_workload_that_fails_is_recorded_and_the_others_are_measured(self):
        plan = self.plan(["job4", "job6", "greedy"])
        text = self.succeeds("measure", plan, "-o", "data", env=self.env)
        self.assertIn("data: 9 of 9 windows measured, 4 of them failed", text)
        self.assertEqual(len(self.table("pairs.csv")), 1)
        failures = self.table("failures.csv")
        self.assertEqual({row["reason"] for row in failures}, {"oom"})
        self.assertIn("CUDA out of memory", failures[0]["message"])
        self.assertEqual(len(self.prints_json("dataset", "data")["workloads"]), 2)
        again = self.prints_json("measure", plan, "-o", "data", "--retry-failed", env=self.env)
        self.assertEqual((again["measured_now"], again["failed"]), (4, 4))
        self.nothing_is_left()


class OnATerminal(MeasureTest):
    def test_it_says_what_it_waits_for_and_counts_what_is_still_to_do(self):
        plan = self.plan(["job4", "job6", "job9"])
        first = self.prints_json("measure", plan, "-o", "data", "--time-limit", "1.5", env=self.env)
        person, program = pty.openpty()
        self.addCleanup(os.close, person)
        with os.fdopen(program, "w") as terminal:
            self.succeeds("measure", plan, "-o", "data", env=self.env, stderr=terminal)
        seen = cli.read_terminal(person)
        self.assertRegex(seen, rf"sleepers  0/{9 - first['done']}  starting \d workers \(mps\)")
        self.assertTrue(seen.endswith("\r\033[K"), seen)


class Interrupted(MeasureTest):
    def test_killed_it_goes_on_without_loss_and_repetition(self):
        plan = self.plan(["job4", "job6", "job9"])
        first = self.starts("measure", plan, "-o", "data")
        self.waits_for(lambda: len(self.journal()) >= 3, "three windows measured")
        first.kill()
        first.communicate()
        kept = self.journal()
        self.waits_for(lambda: not any(str(self.worker).encode() in command
                                       for command in self.processes().values()),
                       "the workers die with their owner")
        with open(self.folder / "data" / "measurements.jsonl", "a", encoding="utf-8") as journal:
            journal.write('{"key": "what it was about to wri')
        done = self.prints_json("measure", plan, "-o", "data", env=self.env)
        self.assertEqual((done["done"], done["measured_now"]), (9, 9 - len(kept)))
        now = self.journal()
        self.assertEqual(now[:len(kept)], kept)
        self.assertEqual(len({row["key"] for row in now}), len(now))
        self.nothing_is_left()

    def test_asked_to_stop_it_writes_its_tables(self):
        plan = self.plan(["job4", "job6", "job9", "job14"])
        running = self.starts("measure", plan, "-o", "data")
        self.waits_for(lambda: len(self.journal()) >= 2, "two windows measured")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 0, err)
        self.assertRegex(out, r"data: \d+ of 14 windows measured, 0 of them failed")
        self.assertGreaterEqual(len(self.table("cells.csv")), 2)
        self.nothing_is_left()

    def test_asked_to_stop_it_does_not_wait_for_workers_that_start(self):
        running = self.starts("measure", self.plan(["job4", "late"]), "-o", "data")
        self.waits_for(lambda: any(b"late" in command for command in self.processes().values()),
                       "the late worker starts")
        asked = time.monotonic()
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        self.assertLess(time.monotonic() - asked, 20)
        self.assertEqual(self.journal(), [])
        self.nothing_is_left()

    def test_a_time_limit_ends_it_and_the_next_run_goes_on(self):
        plan = self.plan(["job4", "job6", "job9"])
        first = self.prints_json("measure", plan, "-o", "data", "--time-limit", "1.5", env=self.env)
        self.assertFalse(first["complete"])
        second = self.prints_json("measure", plan, "-o", "data", env=self.env)
        self.assertEqual(second["measured_now"], 9 - first["done"])

    def test_two_at_a_time_do_not_share_a_folder(self):
        first = self.starts("measure", self.plan(["late", "job4"]), "-o", "data")
        self.waits_for(lambda: (self.folder / "data" / "measurements.jsonl").exists(), "it runs")
        self.refuses("measure", self.plan(["job4", "job6"]), "-o", "data", env=self.env, code=1,
                     says="another `carpool measure` is writing to this folder")
        self.assertIsNone(first.poll())


class BeforeAnythingRuns(MeasureTest):
    def test_a_dry_run_needs_no_gpu_and_writes_nothing(self):
        plan = self.plan(["job4", "job6", "job9"])
        text = self.succeeds("measure", plan, "--dry-run")
        self.assertIn("mps", text)
        told = self.prints_json("measure", plan, "--dry-run", "-o", "data")
        self.assertEqual((told["plan"], told["windows"]), ("sleepers", 9))
        self.assertEqual(sum(len(batch["windows"]) for batch in told["batches"]), 9)
        self.assertIn("pairs mps job4+job6 #0", told["batches"][0]["windows"])
        self.assertFalse((self.folder / "data").exists())

    def test_a_bad_plan_is_refused_with_its_line(self):
        for groups, says in (
                ("", "nothing to measure"),
                ("[[groups]]\nsize = 9\n", "there are 0 groups of 9 among 2 workloads"),
                ('[[groups]]\nmembers = [["job4", "job7"]]\n', '"job7"'),
                ('[[groups]]\nsize = 2\nmechanism = "mig"\n', "time-slicing"),
                ("[[groups]\n", "plan.toml:15: "),
                ("[[groups]]\nsize = 2\nsise = 3\n", 'plan.toml:17: [[groups]] unknown key "sise"')):
            with self.subTest(groups):
                self.refuses("measure", self.plan(["job4", "job6"], groups), "-o", "data",
                             env=self.env, says=says)
        self.refuses("measure", "none.toml", "-o", "data", env=self.env, says="none.toml")
        self.refuses("measure", self.plan(["job4", "job6"]), env=self.env, says="-o DIR")
        self.refuses("measure", self.plan(["job4", "job6"], more="gpu = 7"), "-o", "data",
                     env=self.env, says="gpu = 7")
        self.assertEqual(self.journal(), [])

    def test_without_mps_it_says_so_and_blames_no_workload(self):
        env = {**self.env, "CARPOOL_MPS_CONTROL": str(self.folder / "none")}
        self.refuses("measure", self.plan(["job4", "job6"]), "-o", "data", env=env, code=1,
                     says="MPS")
        self.assertEqual(self.journal(), [])
        self.nothing_is_left()

    def test_another_gpus_measurements_are_not_mixed_in(self):
        plan = self.plan(["job4", "job6"])
        self.succeeds("measure", plan, "-o", "data", "--time-limit", "0.01", env=self.env)
        self.driver.write_text(DRIVER.replace("H200", "A100"))
        self.refuses("measure", plan, "-o", "data", env=self.env,
                     says=("Fake H200", "Fake A100", "another folder"))


if __name__ == "__main__":
    unittest.main()
