#!/usr/bin/env python3
"""Jobs of a server with the library in front of the driver: over a fake driver, a fake NVML and a fake MPS."""

import json
import os
import struct
import unittest

import cli
import server

MIB = 2**20
GIB = 2**30
MACHINE = os.getpid() % 0xFFFF
UUID = f"GPU-{MACHINE:04x}fafa-fafa-fafa-fafa-fafafafafa00"
# Of src/interpose/state/layout.hpp: where the entries of jobs are, and which bits of a word are bytes.
JOBS_AT, BYTES = 2 * 4096, 2**48 - 1
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
        self.start()
        number = self.run_client("launches", LD_PRELOAD="libdl.so.2")
        self.assertEqual(self.await_end(number)["state"], "succeeded")
        seen = self.variables_of(number)
        preloaded = seen["LD_PRELOAD"].split(":")
        self.assertTrue(preloaded[0].endswith("/lib/carpool/libcarpool_cuda.so"), preloaded)
        self.assertEqual(preloaded[1:], ["libdl.so.2"])
        self.assertTrue(seen["LD_LIBRARY_PATH"].split(":")[0].endswith("/lib/carpool/cuda"))
        self.assertEqual(os.path.dirname(seen["CARPOOL_REAL_LIBCUDA"]), os.path.realpath(cli.FAKE_CUDA))
        self.assertEqual(seen["CARPOOL_SHIM_JOB"], str(number))
        self.assertNotIn("CARPOOL_SHIM_CLASS", seen)  # of class normal: it waits for nobody
        self.assertNotIn("CUDA_INJECTION64_PATH", seen)
        state = os.stat(seen["CARPOOL_STATE_DIR"])
        self.assertEqual((state.st_mode & 0o777, state.st_uid), (0o700, os.geteuid()))
        self.assertTrue(os.path.exists(f'{seen["CARPOOL_STATE_DIR"]}/{UUID}.state'))

    def test_the_latency_reaches_the_program(self):
        self.start()
        for options, expected in (
                (("--slo", "20ms"), {"CLASS": "slo", "SLO_NS": "20000000", "QUANTILE": "0.99"}),
                (("--slo", "0.5s", "--quantile", "0.9"),
                 {"CLASS": "slo", "SLO_NS": "500000000", "QUANTILE": "0.9"}),
                (("--best-effort",), {"CLASS": "best-effort", "MPS": "1"}),
                (("--best-effort", "--policy", "time"), {"CLASS": "best-effort", "POLICY": "time", "MPS": "1"}),
                (("--env", "CARPOOL_SHIM_SLO_NS=5"), {"MPS": "1"})):
            number = self.run_client("launches", options=("--mem", "8G", *options))
            job = self.await_end(number)
            self.assertEqual(job["state"], "succeeded")
            seen = self.variables_of(number)
            self.assertEqual({name: seen[f"CARPOOL_SHIM_{name}"] for name in ("CLASS", "SLO_NS", "QUANTILE", "POLICY", "MPS")
                              if f"CARPOOL_SHIM_{name}" in seen}, expected)
            self.assertEqual(job["class"], expected.get("CLASS", "normal"))
        self.assertIn("is of class normal", self.succeeds("explain", "--holds", str(number)))

    def test_the_cap_holds_in_the_program(self):
        self.start()
        number = self.run_client("allocate", "--mib", 16, options=("--mem", "1G"))
        self.await_end(number)
        seen = self.output_of(number)
        self.assertEqual(seen["result"], "2")  # out of memory
        limit = int(self.variables_of(number)["CARPOOL_SHIM_LIMIT"])
        self.assertLessEqual(int(seen["allocated"]), limit)
        self.assertGreater(int(seen["allocated"]), limit - 16 * MIB)

    def test_jobs_that_do_not_want_it_are_left_alone(self):
        self.start()
        numbers = [self.run_client("launches", LD_LIBRARY_PATH=cli.FAKE_CUDA, **given)
                   for given in ({"CARPOOL_SHIM": "off"}, {"LD_PRELOAD": f"{cli.FAKE_CUDA}/libcuda.so.1"})]
        for number in numbers:
            self.await_end(number)
            seen = self.variables_of(number)
            self.assertNotIn("CARPOOL_SHIM_JOB", seen)
            self.assertNotIn("libcarpool_cuda", seen.get("LD_PRELOAD", ""))

    def test_a_server_that_keeps_no_latency_says_so(self):
        self.start("--no-shim")
        for words, told in (("--slo", "20ms"), True), (("--best-effort",), False):
            done = self.carpool("submit", *words, "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("does not keep latencies" in done.stderr, told, done.stderr)
        self.stop_server()
        self.start()
        self.assertNotIn("latencies", self.carpool("submit", "--slo", "20ms", "--", "true").stderr)

    def test_a_submission_tells_what_the_server_does_not_do_for_it(self):
        self.start()
        for words, told in ((("--slo", "20ms"), ""),
                            (("--class", "slo"), "class slo without a latency"),
                            (("--slo", "20ms", "--exclusive"), "an exclusive job"),
                            (("--slo", "20ms", "--env", "CARPOOL_SHIM=off"), "keeps the library"),
                            (("--best-effort", "--policy", "time"), ""),
                            (("--best-effort", "--policy", "orion"), "spacetime takes the place of orion")):
            for asked in ("--hold",), ("--hold", "--dry-run"):
                done = self.carpool("submit", *asked, *words, "--", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, f"warning: .*{told}" if told else "^$")
        self.assertIn("it has not started yet", self.succeeds("explain", "--holds", "1"))

    def test_a_server_without_the_library_starts_jobs_without_it(self):
        self.start("--no-shim")
        number = self.run_client("launches", LD_LIBRARY_PATH=cli.FAKE_CUDA)
        self.assertEqual(self.await_end(number)["state"], "succeeded")
        self.assertNotIn("LD_PRELOAD", self.variables_of(number))


class NoDriverTest(server.ServerTest):
    GPUS = 1

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "this machine has a driver")
    def test_without_a_driver_the_server_says_why_and_goes_on(self):
        self.start()
        self.assertEqual(self.await_end(self.submit("--mem", "1G", "--", "true"))["state"], "succeeded")
        log = (self.folder / "server.log").read_text()
        for said in "without the library in front of the driver", "libcuda.so.1", "install NVIDIA's driver":
            self.assertIn(said, log)


class ProgressTest(ShimTest):
    def test_launches_are_a_rate_without_a_window(self):
        self.start()
        number = self.run_client("loop", "--mib", 16, "--kernel", "spin_1000us")
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(leader.exists, "the first process of the job")
        self.on_gpu(json.loads(leader.read_text())["pid"])

        def rate():
            rows = json.loads(self.succeeds("knowledge", "--json"))["workloads"]
            return rows and rows[0].get("solo_rate") and rows[0]

        row = server.until(rate, "the speed of the workload")
        self.assertGreater(row["solo_rate"], 1)
        self.assertEqual(row["solo_rate_unit"], "launches")
        self.assertRegex(self.succeeds("knowledge"), r"launches/s")
        self.assertFalse(list(self.runtime.glob(f"**/progress/*/{number}.1/window")))
        self.succeeds("cancel", str(number))
        self.await_end(number)


class LimitsTest(ShimTest):
    """A job that holds memory, and asks for more when it is told to."""

    def run_on_gpu(self, *arguments, options=("--mem", "8G")):
        number = self.run_client(*arguments, options=options)
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(leader.exists, "the first process of the job")
        return number, json.loads(leader.read_text())["pid"]

    def limit_of(self, number):
        """As another program of the user sees it."""
        folder = self.variables_of(number)["CARPOOL_STATE_DIR"]
        with open(f"{folder}/{UUID}.state", "rb") as file:
            file.seek(JOBS_AT)
            for _ in range(128):
                job, limit, guarantee = struct.unpack("<QQQ40x", file.read(64))
                if job == number:
                    return limit & BYTES, guarantee & BYTES
        return None

    def test_the_limit_follows_the_reservation(self):
        self.start()
        number, pid = self.run_on_gpu("loop", "--mib", 16, options=("--mem", "8G"))
        cap = self.job(number)["attempts"][0]["cap_bytes"]
        self.assertEqual(self.limit_of(number)[0], cap)
        self.on_gpu(pid)
        # The reservation shrinks to the peak of 1 GiB with some room; nobody else wants the rest.
        server.until(lambda: self.limit_of(number)[1] < 2 * GIB, "the reservation to shrink")
        self.assertEqual(self.limit_of(number)[0], cap)
        # Another job is let into the room.
        other = self.run_client("loop", options=("--mem", "60G"), LD_LIBRARY_PATH=cli.FAKE_CUDA, CARPOOL_SHIM="off")
        self.await_state(other, "running")
        server.until(lambda: self.limit_of(number)[0] < cap, "the limit to shrink")
        self.assertGreaterEqual(self.limit_of(number)[0], GIB)
        self.succeeds("cancel", str(other))
        server.until(lambda: self.limit_of(number)[0] == cap, "the limit to grow")
        self.succeeds("cancel", str(number))
        self.await_end(number)
        server.until(lambda: self.limit_of(number) is None, "its entry to be removed")

    def test_a_server_that_restarts_goes_on(self):
        self.start()
        number, pid = self.run_on_gpu("loop", "--mib", 16)
        self.on_gpu(pid)
        self.kill_server()
        self.start()
        server.until(lambda: self.limit_of(number)[1] < 2 * GIB, "the reservation to shrink")
        self.succeeds("cancel", str(number))
        self.await_end(number)

    def test_without_mps_the_cap_holds_too(self):
        self.start("--no-mps")
        number = self.run_client("allocate", "--mib", 16, options=("--mem", "1G"))
        attempt = self.await_end(number)["attempts"][0]
        self.assertEqual(attempt["mechanism"], "time-slicing")
        self.assertLessEqual(int(self.output_of(number)["allocated"]), attempt["cap_bytes"])
        self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", self.variables_of(number))

    def test_a_refusal_is_over_the_cap_and_the_next_attempt_has_more(self):
        self.start()
        script = (f"{cli.CUDA_CLIENT} allocate --mib 64 | grep result=0 || "
                  "{ echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.' >&2; exit 1; }")
        number = self.submit("--mem", "1G", "--env", f"CARPOOL_FAKE_CUDA={self.cuda}", "--", "sh", "-c", script)
        job = self.await_job(number, lambda job: len(job["attempts"]) > 1, "to have a second attempt")
        self.assertEqual(job["attempts"][0]["end"], "over-cap", job["attempts"][0])
        self.assertGreater(job["attempts"][1]["reserved_bytes"], job["attempts"][0]["reserved_bytes"])
        self.succeeds("cancel", str(number))

    def words_of_gpu(self, number):
        """Total, headroom and foreign memory."""
        folder = self.variables_of(number)["CARPOOL_STATE_DIR"]
        with open(f"{folder}/{UUID}.state", "rb") as file:
            file.seek(4096)
            return [word & BYTES for word in struct.unpack("<QQQ", file.read(24))]

    def test_memory_of_foreign_processes_is_told_to_the_programs(self):
        self.start()
        number, pid = self.run_on_gpu("loop", "--mib", 16)
        self.on_gpu(pid, os.getpid())
        server.until(lambda: self.words_of_gpu(number)[2] == GIB, "the foreign memory to be known")
        self.on_gpu(pid)
        server.until(lambda: self.words_of_gpu(number)[2] == 0, "the foreign memory to be gone")
        self.succeeds("cancel", str(number))
        self.await_end(number)

    def test_a_process_without_the_library_is_told(self):
        self.start()
        script = f"env -u LD_PRELOAD sleep 600 & echo $! > pid.new; mv pid.new pid; exec {cli.CUDA_CLIENT} loop"
        number = self.submit("--mem", "8G", "--env", f"CARPOOL_FAKE_CUDA={self.cuda}", "--", "sh", "-c", script)
        leader = self.state / "runs" / f"{number}.1" / "leader"
        server.until(lambda: leader.exists() and (self.folder / "pid").exists(), "the processes of the job")
        self.on_gpu(json.loads(leader.read_text())["pid"], int((self.folder / "pid").read_text()))
        server.until(lambda: "not enforced" in self.succeeds("explain", str(number)), "the escape to be told")
        self.assertRegex(self.succeeds("explain", str(number)), r"process \d+ \(.*sleep 600, 1 GiB\) of it uses")
        self.assertIn("not enforced", self.succeeds("show", str(number)))
        log = (self.folder / "server.log").read_text()
        self.assertEqual(log.count("its cap is not enforced"), 1, log)
        self.succeeds("cancel", str(number))
        self.await_end(number)


@unittest.skipUnless(os.geteuid() == 0, "a system server needs root")
class SystemTest(server.SystemServerTest):
    GPUS = 1

    def setUp(self):
        self.uuid = f"uuid = {UUID}\n"
        super().setUp()

    def surroundings(self, **more):
        return super().surroundings(**{"LD_LIBRARY_PATH": f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}", **more})

    def start(self, *options):
        self.write("nvml", f"gpus = 1\n{self.uuid}memory_total = {64 * GIB}\nmemory_used = 0\nprocesses =\n")
        return super().start(*options)

    def test_the_state_is_made_for_the_user_of_the_job(self):
        cuda = self.mine / "cuda.txt"  # its device is made beside it
        cuda.write_text(f"memory = {64 * 1024}\nmachine = {MACHINE}\n")
        done = self.as_nobody("submit", "--parsable", "--mem", "1G", "--env", f"CARPOOL_FAKE_CUDA={cuda}", "--",
                              "sh", "-c", f"echo state=$CARPOOL_STATE_DIR; {cli.CUDA_CLIENT} allocate --mib 16")
        number = int(done.stdout)
        attempt = self.await_end(number)["attempts"][0]
        seen = dict(line.split("=", 1) for line in self.succeeds("logs", str(number)).splitlines() if "=" in line)
        self.assertLessEqual(int(seen["allocated"]), attempt["cap_bytes"], seen)
        for path in (seen["state"], f'{seen["state"]}/{UUID}.state'):
            found = os.stat(path)
            self.assertEqual((found.st_uid, found.st_mode & 0o77), (server.nobody(), 0), path)


if __name__ == "__main__":
    unittest.main()
