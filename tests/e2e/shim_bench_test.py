#!/usr/bin/env python3
"""bench/shim/on-gpu without a GPU: its programs and probes on a fake driver, its other parts with cells that need no PyTorch."""

import importlib
import json
import os
import pathlib
import py_compile
import shutil
import subprocess
import sys
import tempfile
import unittest

import cli

BENCH = cli.ROOT / "bench" / "shim"
MIB = 2**20
STUBS = pathlib.Path(__file__).resolve().parent / "data" / "stub_modules"
# Of this test alone: locks of GPUs are those of the machine.
MACHINE = os.getpid() % 0xFFFF
UUID = f"GPU-{MACHINE:04x}fafa-fafa-fafa-fafa-fafafafafa00"
NVCC = shutil.which("nvcc") or (pathlib.Path("/usr/local/cuda/bin/nvcc").exists() and "nvcc")


def part_module(name):
    """A module of the benchmark."""
    if str(BENCH / "gpu") not in sys.path:
        sys.path.insert(0, str(BENCH / "gpu"))
    return importlib.import_module(name)


class ShimBench(cli.CarpoolTest):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="carpool-e2e-")
        cls.addClassCleanup(made.cleanup)
        cls.counters = str(part_module("counters").build(pathlib.Path(made.name)))

    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir(mode=0o700)
        nvml = self.write("driver.txt", f"name = Fake H200\nuuid = {UUID}\nmemory_total = {1024 * MIB}\n")
        cuda = self.write("cuda.txt", f"memory = 1024\nmachine = {MACHINE}\nkernel.spin = 20\n")
        self.env = {"LD_LIBRARY_PATH": f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}", "CARPOOL_FAKE_NVML": str(nvml), "CARPOOL_FAKE_CUDA": str(cuda),
                    "XDG_RUNTIME_DIR": str(self.folder / "run"), "TMPDIR": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1",
                    "ON_GPU_COUNTERS": self.counters, "ON_GPU_CELLS": str(BENCH / "gpu" / "fake_cells.py"), **cli.FAKE_MPS}

    def parts(self, *options, code=(0,), **more):
        """The parts of the result file; the exit code is one of `code`."""
        out = self.folder / "result.json"
        done = subprocess.run([sys.executable, BENCH / "on-gpu", "--program", cli.PROGRAM, "--out", out, *options], cwd=self.folder,
                              capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False,
                              env=cli.environment(self.folder, **{**self.env, **more}))
        self.assertIn(done.returncode, code, done.stdout + done.stderr)
        self.assertIn("\n== ", done.stdout)
        result = json.loads(out.read_text())
        self.assertIn("commit", result)
        return result["parts"]

    def test_launches_and_outputs_are_compared(self):
        found = self.parts("--parts", "coverage,outputs", "--models", "bert,lstm", "--modes", "eager,compiled")
        self.assertEqual([row["percent"] for row in found["coverage"]["rows"]], [100.0] * 4)
        self.assertEqual(found["coverage"]["rows"][0]["library"], 3 * 40)
        self.assertTrue(all(row["identical"] for row in found["outputs"]["rows"]))

    def test_each_row_is_written_when_it_was_measured(self):
        self.parts("--parts", "coverage,quota", "--models", "bert", "--modes", "eager", "--mem", "128M")
        lines = (self.folder / "result.json.rows").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        self.assertEqual([row["part"] for row in rows], ["coverage"] + ["quota"] * 20)
        self.assertEqual(rows[0]["percent"], 100.0)

    def test_a_run_that_is_killed_keeps_its_rows(self):
        out = self.folder / "cut.json"
        run = subprocess.Popen([sys.executable, BENCH / "on-gpu", "--program", cli.PROGRAM, "--out", out, "--parts", "coverage,outputs",
                                "--models", "bert,lstm", "--modes", "eager,compiled,graph"], cwd=self.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=cli.environment(self.folder, **self.env))
        while not run.stdout.readline().startswith("coverage lstm eager"):
            self.assertIsNone(run.poll())
        run.terminate()
        run.communicate(timeout=60)
        rows = [json.loads(line) for line in (self.folder / "cut.json.rows").read_text().splitlines()]
        self.assertIn(("bert", "eager"), [(row["model"], row["mode"]) for row in rows])

    def test_a_launch_that_the_library_missed_is_found(self):
        found = self.parts("--parts", "coverage", "--models", "bert,lstm", "--modes", "eager", code=(1,), ON_GPU_FAKE_MISSED="lstm")
        self.assertEqual([row["percent"] == 100.0 for row in found["coverage"]["rows"]], [True, False])

    def test_an_output_that_the_library_changes_is_found(self):
        cells = self.write("other_cells.py", f"import os, sys\nsys.path.insert(0, {str(BENCH / 'gpu')!r})\n"
                           "os.environ['ON_GPU_FAKE_OUTPUT'] = os.environ.get('LD_PRELOAD', '')\nfrom fake_cells import CELLS\n")
        found = self.parts("--parts", "outputs", "--models", "bert", "--modes", "eager", code=(1,), ON_GPU_CELLS=str(cells))
        row = found["outputs"]["rows"][0]
        self.assertEqual((row["repeatable"], row["identical"]), (True, False))

    def test_a_quota_holds(self):
        found = self.parts("--parts", "quota", "--mem", "128M")["quota"]
        self.assertEqual(len(found["rows"]), 20)
        self.assertTrue(all(row["met"] for row in found["rows"]), found["table"])

    def test_timings_are_taken_in_turn(self):
        # Whether a target is met depends on the load of this machine.
        done = self.parts("--parts", "overhead", "--best-effort", "--processes", "2", "--pairs", "2", "--seconds", "0.02", code=(0, 1))["overhead"]
        self.assertEqual([len(row["pairs"]) for row in done["rows"]], [4] * 5)
        self.assertEqual(set(done["recording"]), {"kernel log", "torch.profiler", "torch.profiler, with the library"})
        self.assertEqual(done["problems"], [])
        if NVCC:
            self.assertEqual(len(done["driver_loop"]["processes"]), 3, done["driver_loop"])
            self.assertIn("logged_ns", done["driver_loop"])

    def test_requests_are_compared_with_what_the_service_has_timed(self):
        # Whether they are kept beside others depends on the load of this machine.
        shapes = ["several-inputs", "copy-stream", "called-back", "launched-ahead", "two-threads"]
        found = self.parts("--parts", "requests", "--only", ",".join(shapes), "--requests", "20", code=(0, 1))["requests"]
        self.assertEqual([row["shape"] for row in found["rows"]], shapes)
        for row in found["rows"]:
            self.assertGreater(row["alone"]["p50_ms"], 3.9, row)
            self.assertAlmostEqual(row["alone"]["counted"]["requests"], row["alone"]["requests"], delta=4, msg=row)
            self.assertGreater(row["beside"]["counted"]["p50_ns"], 3.9e6, row)

    def test_services_are_not_judged_beside_nothing(self):
        part = part_module("requests_part")

        class Bench:
            def start(self, *_, **__):
                return subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True, start_new_session=True)

        with self.assertRaisesRegex(RuntimeError, "has not begun"):
            part.start_flood(Bench())

    def test_unknown_services_and_numbers_of_requests_are_refused(self):
        found = self.parts("--parts", "requests", "--only", "pear", code=(1,))["requests"]
        self.assertIn("no such service: pear; known are plain, ", found["problem"])
        for number in ("0", "-5", "99999999999999999999"):
            done = subprocess.run([sys.executable, BENCH / "on-gpu", "--program", cli.PROGRAM, "--requests", number], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, "--requests is 10 to 5000" in done.stderr), (2, True), done.stderr)

    def test_requests_that_the_library_missed_are_found(self):
        part = part_module("requests_part")
        told = {"requests": 100, "p50_ms": 4.0, "p95_ms": 4.5, "counted": {"requests": 97, "p50_ns": 4.1e6}}
        row = part.judge("plain", told, {**told, "p95_ms": 5.4})
        self.assertEqual((row["counted"], row["timed"], row["kept"]), (True, True, True))
        row = part.judge("plain", told, {**told, "p95_ms": 8.0, "counted": {"requests": 300, "p50_ns": 1e3}})
        self.assertEqual((row["counted"], row["timed"], row["kept"]), (False, False, False))
        self.assertIn("NOT counted, timed, kept", part.line(row))
        row = part.judge("plain", told, {"problem": "exit code 1: no GPU"})
        self.assertEqual((row["counted"], row["timed"], row["kept"]), (False, False, False))
        self.assertIn("no GPU", part.line(row))

    def test_programs_that_need_only_the_driver_run(self):
        names = "libcuda.so by dlopen,exec,fork and subprocess"
        found = self.parts("--parts", "programs", "--only", names)["programs"]
        self.assertEqual([row["verdict"] for row in found["rows"]], ["runs"] * 3)
        self.assertEqual(found["rows"][0]["launches"], 25)

    def test_a_program_that_the_library_does_not_see_is_found(self):
        part = part_module("programs_part")
        done = {"code": 0, "seconds": 1.0, "err": "", "answer": {"ok": "eager", "launches": None}}
        self.assertEqual(part.compare("eager", done, done)["verdict"], "runs, NOT COUNTED")
        seen = {**done, "err": "warning 7\n", "answer": {"ok": "eager", "launches": 3}}
        row = part.compare("eager", {**done, "err": "warning 5\n"}, {**seen, "err": "warning 7\nother\n"})
        self.assertEqual((row["verdict"], row["new_on_stderr"]), ("runs", ["other"]))
        self.assertEqual(part.compare("eager", done, {**seen, "code": 1})["verdict"], "FAILS")
        self.assertEqual(part.compare("eager", done, {**seen, "code": None})["verdict"], "HANGS")

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_probes_answer(self):
        rows = self.parts("--parts", "probes", "--only", "a,b,c,e,f,h,j", "--budget", "probes=100")["probes"]["rows"]
        seen = {row["probe"]: row["seen"] for row in rows}
        self.assertEqual(set(seen), set("abcefhj"))
        self.assertEqual(len(seen["a"]), 6)
        self.assertEqual(len(seen["h"]), 18)
        self.assertIn("p99_us", seen["e"]["persistent, time slicing"])
        self.assertEqual(seen["j"]["one process"]["other streams that go on"], 32)
        self.assertEqual(seen["j"]["beside"]["other"]["queued"], 100)
        self.assertEqual(seen["f"]["vgg eager"]["calls"], {"cuLaunchKernel": 60})

    def test_a_part_stops_at_its_budget_and_keeps_what_it_has(self):
        found = self.parts("--parts", "outputs,coverage", "--budget", "outputs=6", "--models", "bert", "--modes", "eager", code=(1,))
        self.assertEqual((found["outputs"]["complete"], found["outputs"]["rows"]), (False, []))
        self.assertTrue(found["coverage"]["met"])

    def test_an_unknown_part_is_refused_with_the_known_ones(self):
        done = subprocess.run([sys.executable, BENCH / "on-gpu", "--parts", "pear"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such part: pear; known are programs, coverage", done.stderr)

    def with_stub(self, script, *words, said=None):
        """Of a program for PyTorch, with a torch that computes nothing."""
        done = subprocess.run([sys.executable, BENCH / "gpu" / script, *words], capture_output=True, text=True, check=False, input=said,
                              timeout=cli.TIMEOUT_S, env=cli.environment(self.folder, PYTHONPATH=str(STUBS), PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 0, f"{script} {words}: {done.stdout}{done.stderr}")
        return done.stdout.splitlines()

    def test_programs_for_pytorch_run_to_their_end(self):
        for name, program in part_module("programs_part").PROGRAMS.items():
            if "torch" in program.needs and "triton" not in program.needs:
                with self.subTest(name):
                    self.assertIn('"ok"', self.with_stub(f"programs/{program.script}", *program.words, self.folder)[-1])

    def test_cells_for_pytorch_answer(self):
        requests = [{"cell": cell, "model": model, "mode": mode, "steps": 2} for cell in ("outputs", "coverage")
                    for model in ("bert", "resnet", "gpt2", "lstm", "vgg") for mode in ("eager", "compiled", "graph")]
        requests += [{"cell": "loop", "name": name, "seconds": 0.001} for name in ("launches", "products", "replays", "training", "streams")]
        requests += [{"cell": "profiled", "seconds": 0.001}, {"cell": "pin", "cores": [0]}, {"cell": "ready"}, {"cell": "told"}]
        requests += [{"cell": cell, "gib": 8} for cell in ("caching", "beyond", "steps")]
        lines = self.with_stub("resident.py", said="".join(json.dumps(request) + "\n" for request in requests))
        self.assertEqual(len(lines), len(requests))
        for request, line in zip(requests, lines):
            self.assertNotIn('"error"', line, request)

    def test_every_program_compiles_and_is_known(self):
        for source in (BENCH / "gpu").rglob("*.py"):
            py_compile.compile(str(source), cfile=str(self.folder / "compiled"), doraise=True)
        part = part_module("programs_part")
        for program in part.PROGRAMS.values():
            text = (BENCH / "gpu" / "programs" / program.script).read_text()
            for word in program.words:
                self.assertIn(f'"{word}": ', text)


if __name__ == "__main__":
    unittest.main()
