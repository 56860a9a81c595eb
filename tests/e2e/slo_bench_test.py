#!/usr/bin/env python3
"""bench/slo/run without a GPU: its flow with cells that need no PyTorch, its cells with a torch that computes nothing."""

import importlib.machinery
import importlib.util
import json
import pathlib
import py_compile
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

import cli
import server

BENCH = cli.ROOT / "bench" / "slo"
STUBS = pathlib.Path(__file__).resolve().parent / "data" / "stub_modules"
RESIDENT = cli.ROOT / "bench" / "shim" / "gpu" / "resident.py"


class SloBench(cli.CarpoolTest):
    def run_bench(self, *options, code=0):
        out = self.folder / "result.json"
        done = subprocess.run(
            [sys.executable, BENCH / "run", "--out", out, *options], cwd=self.folder, capture_output=True, text=True,
            timeout=cli.TIMEOUT_S, check=False,
            env=cli.environment(self.folder, ON_GPU_CELLS=str(BENCH / "fake_cells.py"), SLO_FAKE_FOLDER=str(self.folder),
                                TMPDIR=str(self.folder), PYTHONDONTWRITEBYTECODE="1"))
        self.said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, self.said)
        return json.loads(out.read_text())["blocks"] if out.exists() else []

    def test_latency_and_speed_are_those_of_the_same_window(self):
        found, = self.run_bench("--ways", "slicing", "--cells", "bert-base@60/s", "--trainers", "rnnlm", "--seconds", "1", "--warm-up", "0")
        row, = found["rows"]
        self.assertEqual((found["services"][0]["busy"], row["requests"], found["attempt"]), (0.6, found["alone"][0]["requests"], 1))
        self.assertAlmostEqual(row["p99_of_alone"], 3.0)  # 15 ms beside a trainer, 5 ms alone
        self.assertEqual(row["attainment"], {"1.5": 0.0, "2.0": 0.0, "3.0": 1.0})
        self.assertEqual((found["longest_kernels"], row["within_bound"]), ([{"ms": 10.0, "kernel": "rnnlm"}], True))
        self.assertAlmostEqual(row["bound_ms"], 15.1)
        self.assertGreater(row["training"], 0.0)
        self.assertAlmostEqual(row["harvest"], row["training"] / 0.4)

    def test_requests_that_a_service_is_too_slow_for_are_told(self):
        found, = self.run_bench("--ways", "slicing", "--cells", "slow@60/s", "--trainers", "rnnlm", "--seconds", "1", "--warm-up", "0")
        self.assertEqual((found["rows"][0]["unsent"], found["rows"][0]["requests"]), (3, 0))
        self.assertIn("3 requests were not sent and count with the time that they had waited: the service is too slow", self.said)

    def test_gate_loads_the_library_into_service_and_trainer(self):
        program, library = self.folder / "bin/carpool", self.folder / "lib/carpool/libcarpool_cuda.so"
        older, older_library = self.folder / "older/bin/carpool", self.folder / "older/lib/carpool/libcarpool_cuda.so"
        for file in (program, library, older, older_library):
            file.parent.mkdir(parents=True)
            file.touch()
        program.write_text("#!/bin/sh\necho carpool 7\n")
        program.chmod(0o755)
        words = ("--cells", "bert-base@60/s", "--trainers", "rnnlm", "--seconds", "1", "--warm-up", "0", "--slo", "9")
        self.assertEqual(self.run_bench("--ways", "gate", *words, code=2), [])  # without --program
        for wrong in ("mps@8", "mps@2x", "gate:", "gate@many", "gate@x", "gate@0x", "nothing", "mps=x", f"gate={self.folder}/none/bin/carpool"):
            self.assertEqual(self.run_bench("--ways", wrong, "--program", str(program), *words, code=2), [])
        found, = self.run_bench("--ways", f"gate-time@8={older}", *words)  # one of its own, without --program
        self.assertEqual([row["slo_ms"] for row in found["rows"]], [8.0])
        told = [json.loads(file.read_text()) for file in self.folder.glob("environment-*.json")]
        self.assertEqual([each["LD_PRELOAD"] for each in told if each], 2 * [str(older_library)])
        for file in self.folder.glob("environment-*.json"):
            file.unlink()
        found, = self.run_bench("--ways", "slicing,gate-time:time@7.5", "--weights", "3", "--program", str(program), *words)
        self.assertEqual(found["weights"], {"steps": 3, "repeated_alone": True, "same": {"gate-time:time@7.5": True}})
        self.assertEqual([(row["way"], row.get("gate"), row.get("slo_ms")) for row in found["rows"]],
                         [("slicing", None, None), ("gate-time:time@7.5", [], 7.5)])
        self.assertEqual(found["request_seconds"], {"bert-base": {"slicing": 0.01, "gate-time:time@7.5": 0.01}})
        told = [json.loads(file.read_text()) for file in self.folder.glob("environment-*.json")]
        service, = [each for each in told if each.get("CARPOOL_SHIM_CLASS") == "slo"]
        trainer, = [each for each in told if each.get("CARPOOL_SHIM_CLASS") == "best-effort"]
        self.assertEqual((service["CARPOOL_SHIM_SLO_NS"], service["CARPOOL_SHIM_QUANTILE"]), ("7500000", "0.99"))
        self.assertEqual((trainer["CARPOOL_SHIM_POLICY"], trainer["CARPOOL_SHIM_MPS"]), ("time", "0"))
        self.assertEqual([each.get("LD_PRELOAD") for each in (service, trainer)], 2 * [str(library)])
        self.assertEqual([each for each in told if not each], 4 * [{}])  # those without the gate
        for file in self.folder.glob("environment-*.json"):
            file.unlink()
        found = self.run_bench("--ways", "gate-time@2x", "--program", str(program), *words, "--cells", "bert-base@60/s,tick@20/s")
        self.assertEqual([row["slo_ms"] for each in found for row in each["rows"]], [10.0, 10.0])  # twice the 5 ms alone
        told = [json.loads(file.read_text()) for file in self.folder.glob("environment-*.json")]
        self.assertEqual([each["CARPOOL_SHIM_SLO_NS"] for each in told if "CARPOOL_SHIM_SLO_NS" in each], 2 * ["10000000"])  # one for each cell

    def test_service_and_trainer_of_a_gate_under_mps(self):
        sys.path.insert(0, str(BENCH))
        sharing = importlib.import_module("way")
        for kind, service, trainer in (("gate", "0", "1"), ("gate-mps", "1", "1"), ("gate-time", "0", "0")):
            way = sharing.way_of(f"{kind}@8={self.folder}/bin/carpool", 8.0)
            self.assertEqual(way.needs_mps, "1" in (service, trainer))
            self.assertEqual([way.gate_environment(self.folder, quantile)["CARPOOL_SHIM_MPS"] for quantile in ("0.99", None)], [service, trainer])

    def test_a_policy_with_a_limit(self):
        sys.path.insert(0, str(BENCH))
        way = importlib.import_module("way").way_of("gate-mps:hami:50@20", 8.0)
        self.assertEqual((way.policy, way.slo_ms, way.in_file_names), ("hami:50", 20.0, "gate-mps-hami-50-20"))

    def test_queues_for_the_streams_of_a_trainer(self):
        sys.path.insert(0, str(BENCH))
        sharing = importlib.import_module("way")
        for text, connections in (("gate@20", "1"), ("gate/32@20", "32"), ("gate-time/8:time@2x", "8"), ("mps", None)):
            way = sharing.way_of(text, 8.0, self.folder / "bin/carpool")
            self.assertEqual(way.kind.trainer_environment.get("CUDA_DEVICE_MAX_CONNECTIONS"), connections)
        for text in ("mps/8", "gate/0@20", "gate/33@20", "gate/x@20", "gate/99999999999@20"):
            self.assertIsNone(sharing.way_of(text, 8.0), text)

    def test_stamps_tell_when_the_gpu_changed(self):
        found, = self.run_bench("--ways", "slicing", "--cells", "bert-base@60/s", "--trainers", "rnnlm", "--seconds", "1", "--warm-up", "0", "--stamps")
        told = found["rows"][0]["turns"]
        self.assertEqual((told["requests"], told["gpu_us"]["p50"], told["usual_steps_us"]), (found["rows"][0]["requests"], 5000.0, [5000]))
        self.assertLess(told["before_us"]["p50"], 20_000)  # a step takes 10 ms
        sys.path.insert(0, str(BENCH))
        turns = importlib.import_module("turns")
        requests = turns.by_request([1_000_000 * number + at for number in range(1, 21) for at in (0, 100_000, 300_000)], 20)
        requests[7] = [8_000_000, 8_100_000, 8_900_000]
        spans = [(request[0] - 50_000, request[-1] + 20_000) for request in requests]
        spans[3] = (spans[3][0] - 700_000, spans[3][1])
        told = turns.summary(requests, spans, [500_000, 990_000, 1_310_000, 7_950_000, 8_600_000, 8_920_000])
        self.assertEqual((told["before_us"]["p50"], told["gpu_us"], told["trainer_stamps_inside"]), (3690.0, {"p50": 300.0, "p95": 300.0, "p99": 900.0}, 0.05))
        self.assertEqual(told["usual_steps_us"], [100, 200])
        self.assertEqual(told["queued_us"], {"p50": 70.0, "p95": 70.0, "p99": 770.0})
        self.assertEqual(told["slowest"][0], {"queued_us": 770, "gpu_us": 300, "extra_us": [0, 0], "trainer_at_us": []})
        self.assertEqual(told["slowest"][1], {"queued_us": 70, "gpu_us": 900, "extra_us": [0, 600], "trainer_at_us": [600]})
        self.assertEqual(turns.by_request([], 3), [])
        self.assertRaises(ValueError, turns.by_request, [1, 2, 3], 2)

    def test_several_services_and_trainers_and_seeds(self):
        found, = self.run_bench("--ways", "slicing", "--cells", "bert-base@60/s+tick@20/s", "--trainers", "rnnlm+vit-b", "--seeds", "1,2", "--seconds", "1",
                                "--warm-up", "0")
        base, tick = found["rows"]
        self.assertEqual([(row["service"], row["trainer"]) for row in (base, tick)], [("bert-base", "rnnlm+vit-b"), ("tick", "rnnlm+vit-b")])
        self.assertGreater(base["requests"], tick["requests"])
        self.assertEqual([len(base["p99_ms_by_seed"]), len(base["trainings"]), len(found["alone"])], [2, 2, 2])
        self.assertAlmostEqual(base["busy"], 0.8)
        self.assertAlmostEqual(base["training"], sum(base["trainings"]) / 2)

    def test_a_block_begins_with_the_last_timing_of_the_one_before(self):
        first, second = self.run_bench("--ways", "slicing", "--cells", "bert-base@60/s", "--trainers", "rnnlm,vit-b", "--seconds", "1", "--warm-up", "0")
        self.assertEqual([each["trainer"] for each in (first, second)], ["rnnlm", "vit-b"])
        self.assertEqual(second["alone"], first["alone_after"])

    def test_what_cannot_be_meant_is_refused(self):
        for words in (("--cells", "bert-base"), ("--cells", "bert-base@x"), ("--cells", "bert-base@60/s+tick@1.5"), ("--seeds", "one"), ("--seeds", "1,"),
                      ("--seconds", "0"), ("--warm-up", "-1"), ("--weights", "-3")):
            self.assertEqual(self.run_bench("--ways", "slicing", *words, code=2), [])
        for words in (("--service", "echo"), ("--service", "echo@x/s"), ("--program", "/nonexistent"), ("--beside", "0")):
            done = subprocess.run([sys.executable, BENCH / "served", "--program", cli.PROGRAM, *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, "Traceback" in done.stderr), (2, False), done.stderr)

    def test_an_unknown_service_is_told_and_what_was_measured_is_kept(self):
        found = self.run_bench("--ways", "slicing", "--cells", "bert-base@60/s,missing@0.2", "--trainers", "rnnlm", "--seconds", "1", "--warm-up", "0", code=1)
        self.assertEqual([each["services"][0]["name"] for each in found], ["bert-base"])
        self.assertIn("error: ValueError: there is no service missing", self.said)

    def test_no_cell_is_begun_without_time(self):
        self.assertEqual(self.run_bench("--ways", "slicing", "--cells", "bert-base@0.2", "--total", "5", code=1), [])

    def test_a_run_that_leaves_ways_out_is_not_complete(self):
        sys.path.insert(0, str(BENCH))
        loader = importlib.machinery.SourceFileLoader("slo_run", str(BENCH / "run"))  # its name has no .py
        bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("slo_run", loader))
        loader.exec_module(bench)
        ways = [bench.sharing.way_of(name, 8.0) for name in ("slicing", "mps")]
        chosen = types.SimpleNamespace(ways=ways, trainers="rnnlm", seconds=1.0, warm_up=0.0, seeds=[1], most_drift=0.15)
        for measured, complete in ((0, False), (1, False), (2, True)):
            kept = mock.Mock()
            found = {"rows": measured * [{}], "drift": 0.0, "alone_after": []}
            with mock.patch.multiple(bench, load_of=mock.Mock(), request_seconds=mock.Mock(), alone_of=lambda *_: [{"p99_ms": 5.0}],
                                     block=lambda *_, found=found: found):
                self.assertIs(bench.blocks_of_cell(mock.MagicMock(), "tick@1/s", chosen, time.monotonic() + 1000.0, kept), complete)
            self.assertEqual([len(call.args[0]["rows"]) for call in kept.block.call_args_list], [measured] if measured else [])

    def test_rows_are_kept_before_their_block_is_complete(self):
        sys.path.insert(0, str(BENCH))
        out = self.folder / "new" / "kept.json"
        kept = importlib.import_module("kept").Kept({"gpu": "x"}, out)
        kept.unfinished({"rows": [1]})
        self.assertEqual(json.loads(out.read_text()), {"gpu": "x", "blocks": [], "unfinished": {"rows": [1]}})
        kept.block({"rows": [1, 2]})
        self.assertEqual(json.loads(out.read_text()), {"gpu": "x", "blocks": [{"rows": [1, 2]}]})

    def answers_with_stub(self, requests, **environment):
        """Each of the requests to the cells is answered, with a torch that computes nothing."""
        done = subprocess.run([sys.executable, RESIDENT], input="".join(json.dumps(request) + "\n" for request in requests), text=True,
                              capture_output=True, check=False, timeout=cli.TIMEOUT_S,
                              env=cli.environment(self.folder, ON_GPU_CELLS=str(BENCH / "slo_cells.py"), PYTHONPATH=str(STUBS),
                                                  PYTHONDONTWRITEBYTECODE="1", **environment))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(requests), done.stderr)
        for request, line in zip(requests, lines):
            self.assertNotIn('"error"', line, f"{request}: {done.stderr}")

    def test_cells_for_pytorch_answer(self):
        requests = [{"cell": "pin", "first": 0, "count": 1}]
        for service in ("bert-large", "bert-base", "encoder-decoder", "encoder-decoder.b3", "bert-base.graph", "bert-base.b2.graph", "gpt2", "tick"):
            requests += [{"cell": "ready", "service": service}, {"cell": "busy", "service": service}, {"cell": "serve", "service": service, "rate": 100, "seconds": 0.05, "seed": 1, "warm_up": 0.01}]
        for trainer in ("rnnlm", "vgg16", "vit-b", "products"):
            requests += [{"cell": "prepare", "trainer": trainer}, {"cell": "train", "trainer": trainer, "seconds": 0.02},
                         {"cell": "longest", "trainer": trainer}, {"cell": "weights", "trainer": trainer, "steps": 2}]
        self.answers_with_stub(requests)
        self.answers_with_stub([{"cell": "ready", "service": "bert-base.graph"}, {"cell": "train", "trainer": "vit-b", "seconds": 0.02}], SLO_STAMPS="1")

    def test_figures_of_latencies(self):
        sys.path.insert(0, str(BENCH))
        latency = importlib.import_module("latency")
        values = [float(number) for number in range(1, 101)]
        self.assertEqual([latency.quantile(values, share) for share in (0.5, 0.99, 1.0)], [50.0, 99.0, 100.0])
        low, high = latency.resampling.interval(values, lambda drawn: latency.quantile(drawn, 0.5))
        self.assertLess(low, 50.0)
        self.assertGreater(high, 50.0)
        self.assertFalse(latency.against_bound(7.2, 5.0, [2.0, 1.0])["within_bound"])
        self.assertEqual(latency.against_bound(7.2, 5.0, [2.0, None]), {})
        self.assertEqual(latency.speed([0.5, 1.0, 1.5, 2.0], (1.0, 2.0)), 2.0)
        moments = latency.poisson(100.0, 50.0, 1)
        self.assertEqual(moments, latency.poisson(100.0, 50.0, 1))
        self.assertAlmostEqual(len(moments) / 50.0, 100.0, delta=5.0)
        for source in BENCH.glob("*.py"):
            py_compile.compile(str(source), cfile=str(self.folder / "compiled"), doraise=True)


class ServedBench(server.ServerTest):
    def test_a_service_beside_a_trainer_as_jobs_of_a_server(self):
        self.write("nvml", "gpus = 1\nmemory_used = 0\nprocesses =\n")
        out = self.folder / "result.json"
        done = subprocess.run(
            [sys.executable, BENCH / "served", "--program", cli.PROGRAM, "--out", out, "--service", "echo@50/s", "--trainers", "steps", "--alone", "1",
             "--beside", "1", "--settle", "0.5"], cwd=self.folder, capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False,
            env=cli.environment(self.folder, **self.surroundings(SLO_CELLS="fake_programs", TMPDIR=str(self.folder), PYTHONDONTWRITEBYTECODE="1")))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(out.read_text())
        self.assertGreater(found["alone"]["p99_ms"], 2.0)
        self.assertGreater(found["beside"]["requests"], 20)
        self.assertGreater(found["steps_per_s"]["steps"], 20.0)
        self.assertEqual(found["after_cancel"]["service"], "running")
        self.assertIn("not measured yet", found["told"]["text"])  # nothing is launched


if __name__ == "__main__":
    unittest.main()
