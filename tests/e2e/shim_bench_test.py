#!/usr/bin/env python3
"""bench/shim/on-gpu without a GPU: what its parts find, which programs it has, and what it refuses."""

import json
import pathlib
import py_compile
import subprocess
import sys
import unittest

import cli
import shim_bench

STUBS = pathlib.Path(__file__).resolve().parent / "data" / "stub_modules"


class ShimBench(shim_bench.ShimBenchTest):
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
        run = subprocess.Popen([sys.executable, shim_bench.BENCH / "on-gpu", "--program", cli.PROGRAM, "--out", out, "--parts", "coverage,outputs",
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
        cells = self.write("other_cells.py", f"import os, sys\nsys.path.insert(0, {str(shim_bench.BENCH / 'gpu')!r})\n"
                           "os.environ['ON_GPU_FAKE_OUTPUT'] = os.environ.get('LD_PRELOAD', '')\nfrom fake_cells import CELLS\n")
        found = self.parts("--parts", "outputs", "--models", "bert", "--modes", "eager", code=(1,), ON_GPU_CELLS=str(cells))
        row = found["outputs"]["rows"][0]
        self.assertEqual((row["repeatable"], row["identical"]), (True, False))

    def test_a_quota_holds(self):
        found = self.parts("--parts", "quota", "--mem", "128M")["quota"]
        self.assertEqual(len(found["rows"]), 20)
        self.assertTrue(all(row["met"] for row in found["rows"]), found["table"])

    def test_services_are_not_judged_beside_nothing(self):
        part = shim_bench.part_module("requests_part")

        class Bench:
            def start(self, *_, **__):
                return subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True, start_new_session=True)

        with self.assertRaisesRegex(RuntimeError, "has not begun"):
            part.start_flood(Bench())

    def test_unknown_services_and_numbers_of_requests_are_refused(self):
        found = self.parts("--parts", "requests", "--only", "pear", code=(1,))["requests"]
        self.assertIn("no such service: pear; known are plain, ", found["problem"])
        for number in ("0", "-5", "99999999999999999999"):
            done = subprocess.run([sys.executable, shim_bench.BENCH / "on-gpu", "--program", cli.PROGRAM, "--requests", number],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, "--requests is 10 to 5000" in done.stderr), (2, True), done.stderr)

    def test_requests_that_the_library_missed_are_found(self):
        part = shim_bench.part_module("requests_part")
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
        part = shim_bench.part_module("programs_part")
        done = {"code": 0, "seconds": 1.0, "err": "", "answer": {"ok": "eager", "launches": None}}
        self.assertEqual(part.compare("eager", done, done)["verdict"], "runs, NOT COUNTED")
        seen = {**done, "err": "warning 7\n", "answer": {"ok": "eager", "launches": 3}}
        row = part.compare("eager", {**done, "err": "warning 5\n"}, {**seen, "err": "warning 7\nother\n"})
        self.assertEqual((row["verdict"], row["new_on_stderr"]), ("runs", ["other"]))
        self.assertEqual(part.compare("eager", done, {**seen, "code": 1})["verdict"], "FAILS")
        self.assertEqual(part.compare("eager", done, {**seen, "code": None})["verdict"], "HANGS")

    def test_a_part_stops_at_its_budget_and_keeps_what_it_has(self):
        found = self.parts("--parts", "outputs,coverage", "--budget", "outputs=6", "--models", "bert", "--modes", "eager", code=(1,))
        self.assertEqual((found["outputs"]["complete"], found["outputs"]["rows"]), (False, []))
        self.assertTrue(found["coverage"]["met"])

    def test_an_unknown_part_is_refused_with_the_known_ones(self):
        done = subprocess.run([sys.executable, shim_bench.BENCH / "on-gpu", "--parts", "pear"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such part: pear; known are programs, coverage", done.stderr)

    def with_stub(self, script, *words, said=None):
        """Of a program for PyTorch, with a torch that computes nothing."""
        done = subprocess.run([sys.executable, shim_bench.BENCH / "gpu" / script, *words], capture_output=True, text=True, check=False, input=said,
                              timeout=cli.TIMEOUT_S, env=cli.environment(self.folder, PYTHONPATH=str(STUBS), PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 0, f"{script} {words}: {done.stdout}{done.stderr}")
        return done.stdout.splitlines()

    def test_programs_for_pytorch_run_to_their_end(self):
        for name, program in shim_bench.part_module("programs_part").PROGRAMS.items():
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
        for source in (shim_bench.BENCH / "gpu").rglob("*.py"):
            py_compile.compile(str(source), cfile=str(self.folder / "compiled"), doraise=True)
        part = shim_bench.part_module("programs_part")
        for program in part.PROGRAMS.values():
            text = (shim_bench.BENCH / "gpu" / "programs" / program.script).read_text()
            for word in program.words:
                self.assertIn(f'"{word}": ', text)


if __name__ == "__main__":
    unittest.main()
