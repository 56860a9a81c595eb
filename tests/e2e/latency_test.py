#!/usr/bin/env python3
"""Latencies of requests that a server learns and predicts: over a fake driver, a fake NVML and a fake MPS."""

import json
import unittest

import cli
import server
import shim_jobs_test


class LatencyTest(shim_jobs_test.ShimTest):
    def program(self, command, *options):
        """A job that serves requests of 1 ms, or launches kernels of 5 ms without end."""
        go = self.write("go", "")
        return self.submit("--mem", "4G", *options, "--env", f"CARPOOL_FAKE_CUDA={self.cuda}",
                           "--env", f"SHIM_TEST_GO={go}", "--", cli.SHIM_PROGRAM, "lookup", command, "1000000")

    def pid_of(self, number):
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(leader.exists, "the first process of the job")
        return json.loads(leader.read_text())["pid"]

    def why(self, number):
        return json.loads(self.succeeds("explain", str(number), "--json"))

    def knowledge(self):
        return json.loads(self.succeeds("knowledge", "--json"))

    def latencies(self):
        return [entry for row in self.knowledge()["workloads"] for entry in row.get("latencies", [])]

    def end(self, *numbers):
        for number in numbers:
            self.succeeds("cancel", str(number))
            self.await_end(number)

    def test_a_latency_is_learned_predicted_compared_and_kept(self):
        self.start()
        # p90: thirty requests tell it.
        serving = self.program("serve", "--slo", "60ms", "--quantile", "0.9")
        self.assertIn("its latency alone was not measured yet", self.why(serving)["latency"]["text"])
        pids = [self.pid_of(serving)]
        self.on_gpu(*pids)
        alone = server.until(self.latencies, "the latency alone")[0]
        self.assertEqual((alone["sharing"], alone["beside"], alone["quantile"]), ("alone", [], 0.9))
        self.assertGreater(alone["tail_ms"], 0.9)
        self.assertGreaterEqual(alone["tail_ms"], alone["p50_ms"])
        self.assertGreater(alone["requests"], 29)

        training = self.program("flood", "--best-effort")
        pids.append(self.pid_of(training))
        self.on_gpu(*pids)
        self.assertRegex(self.job(training)["attempts"][0]["reason"], rf"predicted p90 .* of job {serving}")
        why = server.until(lambda: self.why(serving)["latency"].get("prediction") and self.why(serving),
                           "the prediction for the group")
        predicted = why["latency"]["prediction"]
        self.assertEqual(predicted["basis"], "gate")
        self.assertLess(predicted["tail_low_ms"], predicted["tail_ms"])
        self.assertLess(predicted["tail_ms"], predicted["tail_high_ms"])
        self.assertRegex(why["latency"]["text"], r"predicted p90 \S+ ms \(\S+ to \S+ ms\) beside .*flood")
        server.until(lambda: "tail_ms" in self.why(serving)["latency"], "the latency of the group", patience=120)
        self.assertRegex(self.succeeds("explain", str(serving)), r"(?m)^latency .*; measured \S+ ms over \d+ requests$")
        server.until(lambda: self.knowledge()["latency_coverage"]["all"] == 1, "the comparison")
        # The gate lets work in by the SLO.
        self.assertEqual({entry["sharing"]: entry.get("slo_ms") for entry in self.latencies()},
                         {"alone": None, "gate-time": 60})
        self.end(training, serving)

        # What was learned survives, and keeps a job away from one with an SLO that would be missed.
        self.stop_server()
        self.on_gpu()
        self.start()
        self.assertEqual({entry["sharing"] for entry in self.latencies()}, {"alone", "gate-time"})
        serving = self.program("serve", "--slo", "0.5ms", "--quantile", "0.9")
        self.await_state(serving, "running")
        training = self.program("flood", "--best-effort")
        why = server.until(lambda: self.why(training).get("constraint") and self.why(training), "the refusal")
        self.assertEqual(why["constraint"], "latency")
        self.assertRegex(why["reason"], rf"job {serving} would have a predicted p90 .*; its SLO is 0.5 ms")
        self.assertEqual(why["candidates"][0]["latencies"][0]["job"], serving)
        self.assertIn("(Latency)", self.succeeds("queue"))
        self.end(training, serving)


if __name__ == "__main__":
    unittest.main()
