#!/usr/bin/env python3
"""gpus, top, record and doctor over a fake driver, over recordings, and without either."""

import ctypes.util
import os
import signal
import subprocess
import unittest

import cli

GIB = 2**30
REAL_DRIVER = ctypes.util.find_library("nvidia-ml")
TWO_GPUS = f"""
gpus = 2
name = Fake H200
memory_total = {140 * GIB}
memory_used = {12 * GIB}
utilization = 88
power_mw = 412000
clock_reasons = 4
gpm.2 = 63
gpu1.gpm = 0
processes = {os.getpid()}:{3 * GIB}
mps_processes = 999999999:{5 * GIB}
"""


class GpuTest(cli.CarpoolTest):
    """With a fake driver; set_driver() gives its values."""

    def setUp(self):
        super().setUp()
        self.set_driver(TWO_GPUS)

    def set_driver(self, text):
        self.driver = cli.fake_driver(self.write("driver.txt", text))


class Gpus(GpuTest):
    def test_shows_a_row_a_gpu_with_values_and_footnotes(self):
        text = self.succeeds("gpus", env=self.driver)
        heading, first, second, *notes = text.splitlines()
        for word in ("memory [GiB]", "SM [%]", "DRAM [%]", "power [W]", "throttled"):
            self.assertIn(word, heading)
        for value in ("12.0 / 140.0", "63", "412 / 700", "power-cap"):
            self.assertIn(value, first)
        self.assertIn("*", second)
        self.assertTrue(any("GPU 1: * memory utilisation replaces DRAM" in n for n in notes), text)

    def test_ends_the_tour_where_there_are_any(self):
        heading = "What do the GPUs of this machine do?"
        self.assertIn(heading, self.succeeds("demo", env=self.driver))
        self.assertNotIn(heading, self.succeeds("demo"))

    def test_tells_json_all_it_knows(self):
        first, second = self.prints_json("gpus", env=self.driver)
        self.assertEqual(first["name"], "Fake H200")
        self.assertEqual(first["sample"]["memory_used_bytes"], 12 * GIB)
        self.assertAlmostEqual(first["activity"]["sm_active"], 0.63)
        self.assertGreaterEqual(first["activity"]["span_seconds"], 0.1)
        self.assertNotIn("sm_active", second["activity"])
        self.assertTrue(second["activity"]["stand_ins"])

    def test_names_the_processes_of_this_machine(self):
        ours = next(p for p in self.prints_json("gpus", env=self.driver)[0]["processes"]
                    if p["pid"] == os.getpid())
        self.assertIn("gpu_commands_test.py", ours["command"])
        self.assertTrue(ours["user"])
        table = self.succeeds("gpus", "--processes", env=self.driver)
        self.assertIn(str(os.getpid()), table)
        self.assertRegex(table, r"999999999 +- +- +5\.0  yes  -")

    def test_tells_the_sm_activity_of_processes_as_far_as_the_driver_does(self):
        def told(command):
            return {process["pid"]: process.get("sm_active") for process in
                    self.prints_json(*command, env=self.driver)[0]["processes"]}
        ours, mps_client = os.getpid(), 999999999
        for command in (("gpus",), ("top", "--once")):
            with self.subTest(command):
                self.set_driver(TWO_GPUS + f"sm_of = {ours}:35 {mps_client}:5\n")
                self.assertEqual(told(command), {ours: 0.35, mps_client: 0.05})
                # A driver that tells MPS clients apart and one that does not look the same while they are idle.
                self.set_driver(TWO_GPUS)
                self.assertEqual(told(command), {ours: 0, mps_client: None})
                self.set_driver(TWO_GPUS + "fail.nvmlDeviceGetProcessUtilization = 3\n")
                self.assertEqual(told(command), {ours: None, mps_client: None})

    def test_a_driver_without_a_gpu_is_no_failure(self):
        self.set_driver("gpus = 0")
        self.assertIn("finds no usable GPU", self.succeeds("gpus", env=self.driver))
        self.assertEqual(self.prints_json("gpus", env=self.driver), [])

    @unittest.skipIf(REAL_DRIVER, "this machine has a driver")
    def test_without_a_driver_it_leads_to_the_doctor(self):
        for command in (("gpus",), ("top",), ("record", "-o", "r.jsonl")):
            with self.subTest(command):
                self.refuses(*command, code=1, says=("no NVIDIA driver", "carpool doctor"))
        self.assertFalse((self.folder / "r.jsonl").exists())

    def test_a_driver_that_is_not_loaded_leads_to_the_doctor(self):
        self.set_driver("fail.nvmlInit_v2 = 9")
        self.refuses("gpus", code=1, says=("kernel module", "carpool doctor"), env=self.driver)

    def test_a_gpu_that_is_lost_is_shown_as_such(self):
        with subprocess.Popen(
                [cli.PROGRAM, "gpus", "--watch", "0.1", "--json"], stdout=subprocess.PIPE, text=True,
                env=cli.environment(self.folder, **self.driver), cwd=self.folder) as running:
            self.assertNotIn("problem", running.stdout.readline())
            lost = "fail.nvmlDeviceGetMemoryInfo_v2 = 15\nfail.nvmlDeviceGetMemoryInfo = 15\n"
            fresh = self.write("fresh.txt", TWO_GPUS + lost)
            fresh.rename(self.folder / "driver.txt")
            while "problem" not in (line := running.stdout.readline()):
                self.assertTrue(line)
            running.terminate()
        first, second = cli.strict_json(line)["gpus"]
        self.assertIn("lost", first["problem"])
        self.assertNotIn("sample", second)

    def test_watches_as_often_as_asked(self):
        text = self.succeeds("gpus", "--watch", "0.1", "--count", "3", "--json", env=self.driver)
        lines = [cli.strict_json(line) for line in text.splitlines()]
        self.assertEqual([len(line["gpus"]) for line in lines], [2, 2, 2])
        self.assertRegex(lines[0]["time"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        text = self.succeeds("gpus", "--watch", "0.1", "--count", "2", env=self.driver)
        self.assertEqual(text.count("memory [GiB]"), 2)
        self.assertNotIn("\033", text)

    def test_a_signal_ends_watching(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(
                    [cli.PROGRAM, "gpus", "--watch", "--json"], stdout=subprocess.PIPE, text=True,
                    env=cli.environment(self.folder, **self.driver), cwd=self.folder) as running:
                self.assertTrue(running.stdout.readline())
                running.send_signal(number)
                self.assertEqual(running.wait(timeout=cli.TIMEOUT_S), 0)

    def test_a_full_disk_ends_watching(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.carpool("gpus", "--watch", "0.1", env=self.driver, stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written", done.stderr)

    def test_refuses_what_cannot_be_meant(self):
        for wrong in ("0", "-1", "nan", "soon", "1e99"):
            self.refuses("gpus", "--watch", wrong, says="--watch")
        self.refuses("gpus", "--count", "3", says="--watch")

    def test_an_old_driver_has_fewer_values(self):
        old = {**self.driver, "LD_LIBRARY_PATH": cli.FAKE_NVML_OLD}
        gpus = self.prints_json("gpus", env=old)
        self.assertFalse(any(gpu["fine_activity"] for gpu in gpus))


class Replay(cli.CarpoolTest):
    def test_needs_no_gpu(self):
        self.assertIn("NVIDIA H200", self.succeeds("gpus", "--replay", cli.RECORDING))
        self.assertIn("NVIDIA A30", self.succeeds("top", "--replay", cli.RECORDING))
        self.assertIn("sample", self.prints_json("gpus", "--replay", cli.RECORDING)[0])

    def test_names_no_process_of_this_machine(self):
        gpus = self.prints_json("gpus", "--replay", cli.RECORDING)
        processes = [process for gpu in gpus for process in gpu["processes"]]
        self.assertEqual([process for process in processes if "command" in process], [])
        self.assertGreater(len(processes), 0)

    def test_bad_recordings_are_refused_with_their_name(self):
        header = cli.RECORDING.read_text().splitlines()[0]
        bad = {
            "empty.jsonl": ("", 2, "is empty"),
            "text.jsonl": ("hello\n", 2, ":1: not a recording"),
            "list.jsonl": ("[]\n", 2, ":1: not a recording"),
            "other.jsonl": ('{"format": "something else"}\n', 2, ":1: not a recording"),
            "newer.jsonl": (header.replace('"version": 1', '"version": 2') + "\n", 1, "version 2"),
            "cut.jsonl": (header + '\n{"gpu": 0, "sam', 1, ":2: the last line is incomplete"),
            "wild.jsonl": (header + '\n{"gpu": 7, "sample": {}, "processes": []}\n', 1,
                           ":2: reading: gpu: 7 is not below 2"),
            "bytes.jsonl": (b"\xff\xfe\x00\x01", 2, ":1: not a recording"),
        }
        for name, (content, code, says) in bad.items():
            self.write(name, content)
            for command in ("gpus", "top"):
                with self.subTest(name), self.subTest(command):
                    self.refuses(command, "--replay", name, code=code, says=(name, says))
        self.refuses("gpus", "--replay", "nowhere.jsonl", says="nowhere.jsonl")
        self.refuses("top", "--replay", self.folder, says=str(self.folder), code=2)


class Record(GpuTest):
    def test_what_was_recorded_can_be_replayed(self):
        told = self.prints_json("record", "--seconds", "0.5", "--interval", "0.1", "-o", "r.jsonl",
                                env=self.driver)
        self.assertEqual((told["gpus"], told["readings"]), (2, 6))
        live = self.prints_json("gpus", env=self.driver)[0]
        replayed = self.prints_json("gpus", "--replay", "r.jsonl")[0]
        self.assertEqual(replayed["name"], live["name"])
        self.assertEqual(replayed["sample"]["memory_used_bytes"], 12 * GIB)
        self.assertAlmostEqual(replayed["activity"]["sm_active"], 0.63)
        self.assertEqual(len(replayed["processes"]), len(live["processes"]))

    def test_goes_on_with_a_recording_of_the_same_gpus_only(self):
        record = ("record", "--seconds", "0.2", "--interval", "0.1", "-o", "r.jsonl")
        self.succeeds(*record, env=self.driver)
        lines = len((self.folder / "r.jsonl").read_text().splitlines())
        self.succeeds(*record, env=self.driver)
        before = (self.folder / "r.jsonl").read_bytes()
        self.assertEqual(len(before.splitlines()), 2 * lines - 1)
        self.set_driver(TWO_GPUS + "uuid = GPU-another\n")
        self.refuses(*record, says="r.jsonl is a recording of other GPUs", env=self.driver)
        self.assertEqual((self.folder / "r.jsonl").read_bytes(), before)

    def test_never_writes_over_anything_else(self):
        self.write("notes.txt", "dear diary\n")
        self.refuses("record", "--seconds", "0.2", "-o", "notes.txt", says="notes.txt:1: not a recording", env=self.driver)
        self.assertEqual((self.folder / "notes.txt").read_text(), "dear diary\n")

    def test_a_signal_ends_it_and_keeps_what_there_is(self):
        with subprocess.Popen(
                [cli.PROGRAM, "record", "--interval", "0.1", "-o", "r.jsonl"], text=True,
                stdout=subprocess.PIPE, env=cli.environment(self.folder, **self.driver),
                cwd=self.folder) as running:
            while not (self.folder / "r.jsonl").exists() or \
                    len((self.folder / "r.jsonl").read_bytes().splitlines()) < 5:
                self.assertIsNone(running.poll())
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual(running.returncode, 0)
        self.assertRegex(out, r"\d+ readings of 2 GPUs in [\d.]+ s: r\.jsonl")
        self.succeeds("gpus", "--replay", "r.jsonl")

    def test_there_must_be_a_gpu_and_a_file(self):
        self.refuses("record", "--seconds", "1", says="--output", env=self.driver)
        self.refuses("record", "-o", "nowhere/r.jsonl", "--seconds", "0.2", env=self.driver,
                     says="nowhere/r.jsonl")
        self.set_driver("gpus = 0")
        self.refuses("record", "-o", "r.jsonl", says="no GPU to record", code=1, env=self.driver)
        self.assertFalse((self.folder / "r.jsonl").exists())


class Doctor(GpuTest):
    def checks(self, can_share, **options):
        done = self.carpool("doctor", "--json", **options)
        report = cli.strict_json(done.stdout)
        self.assertIs(report["can_share"], can_share, report)
        self.assertEqual(done.returncode, 0 if can_share else 1, done.stderr)
        return report, {check["name"]: check for check in report["checks"]}

    @unittest.skipIf(REAL_DRIVER, "this machine has a driver")
    def test_without_a_driver_it_says_so_and_fails(self):
        done = self.carpool("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^missing   driver ")
        self.assertTrue(done.stderr.startswith("carpool: "), done.stderr)
        _, checks = self.checks(can_share=False)
        self.assertEqual(checks["NVML library"]["state"], "missing")

    def test_with_driver_and_mps_sharing_works(self):
        report, checks = self.checks(can_share=True, env={**self.driver, **cli.FAKE_MPS})
        self.assertEqual(checks["driver"]["state"], "ok")
        self.assertIn("Fake H200", checks["GPUs"]["found"])
        self.assertEqual(checks["SM counters (GPM)"]["found"], "not available on GPU 1")
        self.assertEqual(checks["MPS"]["state"], "ok")
        for check in report["checks"]:
            self.assertIn(check["state"], ("ok", "degraded", "missing"))
            self.assertTrue(check["found"], check)
        text = self.succeeds("doctor", env={**self.driver, **cli.FAKE_MPS})
        self.assertIn("Jobs can share the GPUs", text)

    def test_without_mps_sharing_does_not_work(self):
        report, checks = self.checks(
            can_share=False, env={**self.driver, "CARPOOL_MPS_CONTROL": str(self.folder / "nothing")})
        self.assertIn("MPS", report["verdict"])
        self.assertEqual(checks["MPS"]["state"], "missing")

    def test_a_prohibited_gpu_is_found(self):
        self.set_driver("compute_mode = 2")
        _, checks = self.checks(can_share=False, env={**self.driver, **cli.FAKE_MPS})
        self.assertIn("prohibited", checks["compute mode"]["found"])

    def test_a_runtime_folder_with_too_long_a_name_is_found(self):
        long = self.folder / ("x" * 90)
        long.mkdir()
        _, checks = self.checks(
            can_share=False, env={**self.driver, **cli.FAKE_MPS, "XDG_RUNTIME_DIR": str(long)})
        self.assertIn("too long", checks["runtime folder"]["found"])

    def test_a_library_that_is_not_the_drivers_is_named(self):
        _, checks = self.checks(can_share=False, env={"LD_LIBRARY_PATH": cli.FAKE_NVML_NOT})
        self.assertEqual(checks["driver"]["state"], "missing")
        self.assertIn("lacks the function", checks["driver"]["found"])

    def test_looks_at_python_on_demand(self):
        python = self.write("bin/python3", "#!/bin/sh\necho '2.11.0, CUDA usable'\n")
        python.chmod(0o755)
        path = {"PATH": f"{python.parent}:{os.environ['PATH']}"}
        done = self.carpool("doctor", "--python", "--json", env=path)
        checks = {check["name"]: check for check in cli.strict_json(done.stdout)["checks"]}
        self.assertEqual(checks["PyTorch"]["found"], "2.11.0, CUDA usable")
        done = self.carpool("doctor", "--json", env=path)
        self.assertNotIn("PyTorch", [check["name"] for check in cli.strict_json(done.stdout)["checks"]])


if __name__ == "__main__":
    unittest.main()
