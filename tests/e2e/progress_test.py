"""Progress of running jobs, measured without a change of the job."""

import json
import struct
import sys
import unittest

import cli
import server

SLOTS_AT, SLOT_BYTES, ORDER_AT = 64, 64, 16
DONE = 2


class ProgressTest(server.ServerTest):
    GPUS = 1

    def files(self, number):
        """The folder of its files; None while there is none."""
        found = list(self.runtime.glob(f"**/progress/*/{number}.1"))
        return found[0] if found else None

    def run_job(self, *command, **variables):
        options = []
        for name, value in {**cli.FAKE_CUPTI, **variables}.items():
            options += ["--env", f"{name}={value}"]
        number = self.submit("--mem", "1G", *options, "--", *command)
        self.await_state(number, "running")
        return number

    def put_on_gpu(self, number):
        """The fake driver reports the first process of the job."""
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(leader.exists, "the first process of the job")
        pid = json.loads(leader.read_text())["pid"]
        self.write("nvml", f"gpus = 1\nmemory_used = 2000\nprocesses = {pid}:1000\n")

    def test_launches_are_counted_in_a_window(self):
        self.start()
        number = self.run_job(cli.FAKE_CUDA_PROGRAM, "--steps", "0")
        self.put_on_gpu(number)
        window = self.files(number) / "window"

        def counted():
            block = window.read_bytes()
            (order,) = struct.unpack_from("<I", block, ORDER_AT)
            pid, answered, state, _, launches, over = struct.unpack_from("<IIIiQq", block, SLOTS_AT)
            return order and answered == order and state == DONE and (launches, over)

        launches, over = server.until(counted, "the answer to a window")
        self.assertGreater(launches, 100)
        self.assertGreater(over, 10**8)
        self.succeeds("cancel", str(number))
        self.await_end(number)
        server.until(lambda: self.files(number) is None, "the files to be removed")

    def test_kernels_are_recorded_once_and_become_what_is_believed(self):
        self.start("--kernel-windows")
        number = self.run_job(cli.FAKE_CUDA_PROGRAM, "--steps", "0", "--grid", "33",
                              FAKE_CUPTI_VERSION="130001")
        self.put_on_gpu(number)

        def recorded():
            rows = json.loads(self.succeeds("knowledge", "--json"))["workloads"]
            return rows and rows[0].get("kernel_window")

        window = server.until(recorded, "the kernels of the workload")
        # A quarter of the SMs, for nine tenths of four fifths of the time.
        self.assertAlmostEqual(window["sm_active"], 0.18, delta=0.05)
        self.assertTrue(window["alone"])
        self.assertIn("kernel window of 3 s", self.succeeds("explain", str(number)))
        self.assertIn("kernel window of 3 s", self.succeeds("show", str(number)))
        self.assertRegex(self.succeeds("knowledge"), r"KERNELS")
        self.succeeds("cancel", str(number))
        self.await_end(number)

    def test_steps_are_counted_and_hold_no_job(self):
        self.start("--no-profile-windows")
        program = self.write("job.py", "import os, sys, time\n"
                             f"sys.path.insert(0, {str(cli.ROOT / 'python')!r})\n"
                             "import carpool\n"
                             "assert 'CUDA_INJECTION64_PATH' not in os.environ\n"
                             "for _ in range(3):\n"
                             "    carpool.step()\n")
        number = self.submit("--mem", "1G", "--", sys.executable, str(program))
        self.assertEqual(self.await_end(number)["state"], "succeeded")

    def test_a_job_may_refuse_to_be_measured(self):
        self.start()
        program = self.write("job.py", "import os\n"
                             "print(sorted(n for n in os.environ if n in ("
                             "'CUDA_INJECTION64_PATH', 'CARPOOL_WINDOW_FILE', 'CARPOOL_STEP_FILE')))\n")
        for option, names in ((["--progress", "none"], "[]"),
                              ([], "['CARPOOL_STEP_FILE', 'CARPOOL_WINDOW_FILE', "
                                   "'CUDA_INJECTION64_PATH']")):
            number = self.submit("--mem", "1G", *option, "--", sys.executable, str(program))
            self.await_end(number)
            output = self.state / "runs" / f"{number}.1" / "stdout"
            self.assertEqual(output.read_text().strip(), names)

    def test_an_expression_that_cannot_be_matched_is_refused_at_submission(self):
        self.start()
        result = self.carpool("submit", "--progress", "(a){9}", "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("counted repetition", result.stderr)


if __name__ == "__main__":
    unittest.main()
