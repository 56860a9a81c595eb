#!/usr/bin/env python3
"""Jobs of a server with the library in front of the driver: over a fake driver, a fake NVML and a fake MPS."""

import json
import os
import unittest

import cli
import server

MIB = 2**20
GIB = 2**30
MACHINE = os.getpid() % 0xFFFF
UUID = f"GPU-{MACHINE:04x}fafa-fafa-fafa-fafa-fafafafafa00"
# Tells its variables and goes on as a program of the fake driver.
TELL = 'env > env.$CARPOOL_JOB_ID.new; mv env.$CARPOOL_JOB_ID.new env.$CARPOOL_JOB_ID; exec "$@"'


class ShimTest(server.ServerTest):
    GPUS = 1

    def setUp(self):
        super().setUp()
        self.cuda = self.write("cuda.txt", f"memory = {64 * 1024}\nmachine = {MACHINE}\n")
        self.on_gpu()

    def surroundings(self, **more):
        return super().surroundings(**{"LD_LIBRARY_PATH": f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}", **more})

    def on_gpu(self, *processes, bytes_each=GIB):
        listed = " ".join(f"{pid}:{bytes_each}" for pid in processes)
        self.write("nvml", f"gpus = 1\nuuid = {UUID}\nmemory_total = {64 * GIB}\n"
                           f"memory_used = {len(processes) * bytes_each}\nmps_processes = {listed}\n")

    def run_client(self, *arguments, options=("--mem", "8G"), **variables):
        """A job that runs the CUDA program with these arguments."""
        given = []
        for name, value in {"CARPOOL_FAKE_CUDA": self.cuda, **variables}.items():
            given += ["--env", f"{name}={value}"]
        return self.submit(*options, *given, "--", "sh", "-c", TELL, "sh", cli.CUDA_CLIENT, *map(str, arguments))

    def variables_of(self, number):
        file = self.folder / f"env.{number}"
        server.until(file.exists, "the variables of the job")
        return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)

    def output_of(self, number):
        return dict(line.split("=", 1) for line in self.succeeds("logs", str(number)).splitlines() if "=" in line)


class StartTest(ShimTest):
    def test_a_job_that_shares_runs_with_the_library(self):
        self.start("--shim")
        number = self.run_client("launches", LD_PRELOAD="libdl.so.2")
        self.assertEqual(self.await_end(number)["state"], "succeeded")
        seen = self.variables_of(number)
        preloaded = seen["LD_PRELOAD"].split(":")
        self.assertTrue(preloaded[0].endswith("/lib/libcarpool_cuda.so"), preloaded)
        self.assertEqual(preloaded[1:], ["libdl.so.2"])
        self.assertTrue(seen["LD_LIBRARY_PATH"].split(":")[0].endswith("/lib/cuda"))
        self.assertEqual(os.path.dirname(seen["CARPOOL_REAL_LIBCUDA"]), os.path.realpath(cli.FAKE_CUDA))
        self.assertEqual((seen["CARPOOL_SHIM_JOB"], seen["CARPOOL_SHIM_CLASS"]), (str(number), "best-effort"))
        self.assertNotIn("CUDA_INJECTION64_PATH", seen)
        state = os.stat(seen["CARPOOL_STATE_DIR"])
        self.assertEqual((state.st_mode & 0o777, state.st_uid), (0o700, os.geteuid()))
        self.assertTrue(os.path.exists(f'{seen["CARPOOL_STATE_DIR"]}/{UUID}.state'))

    def test_the_cap_holds_in_the_program(self):
        self.start("--shim")
        number = self.run_client("allocate", "--mib", 16, options=("--mem", "1G"))
        self.await_end(number)
        seen = self.output_of(number)
        self.assertEqual(seen["result"], "2")  # out of memory
        limit = int(self.variables_of(number)["CARPOOL_SHIM_LIMIT"])
        self.assertLessEqual(int(seen["allocated"]), limit)
        self.assertGreater(int(seen["allocated"]), limit - 16 * MIB)

    def test_jobs_that_do_not_want_it_are_left_alone(self):
        self.start("--shim")
        numbers = [self.run_client("launches", LD_LIBRARY_PATH=cli.FAKE_CUDA, **given)
                   for given in ({"CARPOOL_SHIM": "off"}, {"LD_PRELOAD": f"{cli.FAKE_CUDA}/libcuda.so.1"})]
        for number in numbers:
            self.await_end(number)
            seen = self.variables_of(number)
            self.assertNotIn("CARPOOL_SHIM_JOB", seen)
            self.assertNotIn("libcarpool_cuda", seen.get("LD_PRELOAD", ""))

    def test_without_the_option_jobs_run_without_it(self):
        self.start()
        number = self.run_client("launches", LD_LIBRARY_PATH=cli.FAKE_CUDA)
        self.await_end(number)
        self.assertNotIn("LD_PRELOAD", self.variables_of(number))

    def test_without_a_driver_the_server_says_what_to_do(self):
        if os.path.exists("/proc/driver/nvidia/version"):
            self.skipTest("this machine has a driver")
        self.refuses("serve", "--shim", "--state", self.state, env={"LD_LIBRARY_PATH": cli.FAKE_NVML},
                     says=("libcuda.so.1", "install NVIDIA's driver"), code=1)


class ProgressTest(ShimTest):
    def test_launches_are_a_rate_without_a_window(self):
        self.start("--shim")
        number = self.run_client("loop", "--mib", 16, "--kernel", "spin_1000us")
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(leader.exists, "the first process of the job")
        self.on_gpu(json.loads(leader.read_text())["pid"])

        def rate():
            rows = json.loads(self.succeeds("knowledge", "--json"))["workloads"]
            return rows and rows[0].get("solo_rate")

        self.assertGreater(server.until(rate, "the speed of the workload"), 1)
        self.assertFalse(list(self.runtime.glob(f"**/progress/*/{number}.1/window")))
        self.succeeds("cancel", str(number))
        self.await_end(number)


if __name__ == "__main__":
    unittest.main()
