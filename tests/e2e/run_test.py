#!/usr/bin/env python3
"""run over a fake driver, a fake MPS and a CUDA program without a GPU."""

import csv
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import unittest

import cli

MIB = 2**20
# Of the fake libcuda.so.1, and of no other test that runs now: locks of GPUs are those of the machine.
MACHINE = os.getpid() % 0xFFFF
UUID = f"GPU-{MACHINE:04x}fafa-fafa-fafa-fafa-fafafafafa00"

# Launches kernels until its standard input has a line.
CUDA_SCRIPT = """
import ctypes, select, sys
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
context, module, kernel = (ctypes.c_void_p() for _ in range(3))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), b"kernels")
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"spin_0us")
told = False
while not select.select([sys.stdin], [], [], 0.001)[0]:
    call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    if not told:
        print("on", flush=True)
        told = True
"""


# Has 10 MiB, and prints its free memory for each empty line that it reads.
MEMORY_SCRIPT = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
context, memory, free, total = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(10 * 2**20))
print(os.getpid(), flush=True)
for line in sys.stdin:
    if line.strip():
        break
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    print(free.value, flush=True)
"""


def strict_checks(text):
    return cli.strict_json(text)["checks"]


class RunTest(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        nvml = self.write("driver.txt", f"name = Fake H200\nuuid = {UUID}\nmemory_total = {1024 * MIB}\n")
        cuda = self.write("cuda.txt", f"memory = 1024\nmachine = {MACHINE}\n")
        self.env = {
            "LD_LIBRARY_PATH": f"{cli.FAKE_NVML}:{cli.FAKE_CUDA}", "CARPOOL_FAKE_NVML": str(nvml),
            "CARPOOL_FAKE_CUDA": str(cuda), "XDG_RUNTIME_DIR": str(self.runtime), **cli.FAKE_MPS}

    def run_program(self, *options, program=("lookup", "fill", "10"), code=0):
        """What the CUDA program printed."""
        done = self.carpool("run", *options, "--", cli.SHIM_PROGRAM, *program, env=self.env)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr, "")
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def start(self, *options, script):
        """A run whose program is a Python script that reads standard input."""
        run = subprocess.Popen(
            [cli.PROGRAM, "run", *options, "--", sys.executable, "-c", script], cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=cli.environment(self.folder, **self.env))
        self.addCleanup(self.end, run)
        return run

    @staticmethod
    def end(run):
        run.kill()
        run.communicate()

    def mps_folders(self):
        return [path for path in (self.runtime / "carpool").glob("run-*") if path.is_dir()]

    def test_a_limit_holds(self):
        seen = self.run_program("--mem", "100M", "--mps", "off")
        self.assertEqual(seen["refused_with"], "2")  # out of memory
        self.assertLessEqual(int(seen["pieces"]), 10)
        self.assertGreaterEqual(int(seen["pieces"]), 9)
        self.assertLessEqual(int(seen["peak_bytes"]), 100 * MIB)
        self.assertLessEqual(int(seen["total"]), 100 * MIB)

    def variables(self, *options):
        """Of the gate, as a program of the run sees them; and what the run said."""
        done = self.carpool("run", *options, "--", "env", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        names = ("CLASS", "SLO_NS", "QUANTILE", "POLICY", "MPS")
        self.nvtx_tool = seen.get("NVTX_INJECTION64_PATH")
        self.priority = seen.get("CUDA_MPS_CLIENT_PRIORITY")
        self.connections = seen.get("CUDA_DEVICE_MAX_CONNECTIONS")
        return {name: seen[f"CARPOOL_SHIM_{name}"] for name in names if f"CARPOOL_SHIM_{name}" in seen}, done.stderr

    def test_a_latency_reaches_the_program(self):
        self.assertEqual(self.variables("--mps", "on"), ({"MPS": "1"}, ""))
        self.assertEqual(self.variables("--mps", "on", "--slo", "20ms"),
                         ({"CLASS": "slo", "SLO_NS": "20000000", "QUANTILE": "0.99", "MPS": "1"}, ""))
        self.assertEqual(self.variables("--best-effort"), ({"CLASS": "best-effort", "MPS": "1"}, ""))
        self.assertEqual(self.connections, "1")
        self.assertEqual(self.variables("--slo", "20ms"),  # requests are faster outside of MPS
                         ({"CLASS": "slo", "SLO_NS": "20000000", "QUANTILE": "0.99"}, ""))
        self.assertEqual(self.variables("--mps", "off", "--slo", "1500us", "--quantile", "0.999"),
                         ({"CLASS": "slo", "SLO_NS": "1500000", "QUANTILE": "0.999"}, ""))
        seen, said = self.variables("--mps", "on", "--best-effort", "--policy", "priority")
        self.assertEqual(seen, {"CLASS": "best-effort", "POLICY": "priority", "MPS": "1"})
        self.assertIn("beside one that does not, spacetime takes the place of priority", said)
        self.assertEqual(self.priority, "1")  # the lower of two

    def test_streams_of_a_best_effort_program_are_one_queue_unless_its_user_says_more(self):
        self.variables("--mps", "off", "--slo", "20ms")
        self.assertIsNone(self.connections)
        self.variables("--mps", "off", "--best-effort")
        self.assertEqual(self.connections, "1")
        self.env["CUDA_DEVICE_MAX_CONNECTIONS"] = "8"
        self.variables("--mps", "off", "--best-effort")
        self.assertEqual(self.connections, "8")

    def test_ranges_may_mark_requests(self):
        self.variables("--mps", "off", "--slo", "20ms")
        self.assertTrue(self.nvtx_tool.endswith("/lib/carpool/libcarpool_cuda.so"), self.nvtx_tool)
        self.variables("--mps", "off", "--best-effort")
        self.assertIsNone(self.nvtx_tool)
        self.env["NVTX_INJECTION64_PATH"] = "/their/tool.so"
        self.variables("--mps", "off", "--slo", "20ms")
        self.assertEqual(self.nvtx_tool, "/their/tool.so")

    def test_best_effort_without_mps_says_what_it_is(self):
        seen, said = self.variables("--mps", "off", "--best-effort")
        self.assertEqual(seen, {"CLASS": "best-effort"})
        self.assertIn("run only between the requests of programs with --slo", said)
        self.assertEqual(self.variables("--mps", "off", "--best-effort", "--policy", "time")[1], "")
        self.refuses("run", "--mps", "off", "--best-effort", "--policy", "orion", "--", "true", env=self.env,
                     says=("--policy orion needs MPS", "leave --policy out"))

    def test_a_policy_may_have_a_limit(self):
        self.assertEqual(self.variables("--mps", "off", "--best-effort", "--policy", "hami:50")[1], "")
        for wrong, says in (("hami:0", "write hami:50"), ("hami:", "write hami:50"), ("hami:101", "1 to 100 percent"), ("time:50", "time takes no limit"),
                            ("fifo:50", "gate policy")):
            self.refuses("run", "--mps", "off", "--best-effort", "--policy", wrong, "--", "true", env=self.env, says=(says,))

    def test_holds_are_explained_by_name(self):
        run = self.start("--mps", "off", "--name", "train", script=CUDA_SCRIPT)
        self.assertEqual(run.stdout.readline(), "on\n")
        self.assertIn("train has neither --slo nor --best-effort", self.succeeds("explain", "--holds", "train", env=self.env))
        seen = cli.strict_json(self.succeeds("explain", "--holds", "train", "--json", env=self.env))
        self.assertEqual((seen["name"], seen["gate"]["held_s"]), ("train", 0))
        self.refuses("explain", "--holds", "serve", env=self.env, says=('"serve"', "these do: train"))
        run.communicate("\n", timeout=60)
        self.refuses("explain", "--holds", "train", env=self.env, says=("none does", "carpool run"))

    def test_without_a_limit_the_gpu_is_the_limit(self):
        self.assertGreater(int(self.run_program("--mps", "off")["pieces"]), 90)

    def test_a_guarantee_is_left_by_others(self):
        promised = self.start("--mem-guarantee", "600M", "--mps", "off", script="print('on', flush=True); input()")
        self.assertEqual(promised.stdout.readline(), "on\n")
        seen = self.run_program("--mps", "off")
        self.assertLessEqual(int(seen["pieces"]), 42)
        self.assertGreaterEqual(int(seen["pieces"]), 40)
        self.refuses("run", "--mem-guarantee", "500M", "--mps", "off", "--", "true", env=self.env,
                     says=("0.6 GiB", "cannot be guaranteed"))
        promised.communicate("\n", timeout=60)
        self.assertGreater(int(self.run_program("--mps", "off")["pieces"]), 90)

    def test_the_exit_code_and_the_streams_are_the_programs(self):
        done = self.carpool("run", "--mps", "off", "--", sys.executable, "-c",
                            "import sys; print(sys.stdin.read()); sys.exit(7)", env=self.env, stdin=None,
                            input="hello")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "hello\n", ""))
        killed = self.carpool("run", "--mps", "off", "--", "sh", "-c", "kill -9 $$", env=self.env)
        self.assertEqual(killed.returncode, 128 + 9)
        self.refuses("run", "--mps", "off", "--", "no-such-program", env=self.env, says="no-such-program")

    def test_signals_reach_the_program(self):
        # In short sleeps: a signal that comes just before a sleep is handled after it.
        script = ("import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(33)); "
                  "print('on', flush=True); [time.sleep(0.05) for _ in range(100000)]")
        run = self.start("--mps", "off", script=script)
        self.assertEqual(run.stdout.readline(), "on\n")
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 33)

    def test_a_server_of_the_gpu_is_respected(self):
        run = self.start("--mps", "off", script="print('on', flush=True); input()")
        self.assertEqual(run.stdout.readline(), "on\n")
        self.refuses("serve", "--socket", self.folder / "s", "--state", self.folder / "state", env=self.env,
                     says=("is managed by", str(run.pid)))
        run.communicate("\n", timeout=60)

    def test_one_mps_daemon_for_all_and_gone_with_the_last(self):
        script = "import os; print(os.environ['CUDA_MPS_PIPE_DIRECTORY'], flush=True); input()"
        first = self.start("--mps", "on", script=script)
        pipe = first.stdout.readline()
        second = self.start("--mps", "on", script=script)
        self.assertEqual(second.stdout.readline(), pipe)
        self.assertEqual(len(self.mps_folders()), 1)
        first.communicate("\n", timeout=60)  # the starter of the daemon
        third = self.start("--mps", "on", script=script)
        self.assertEqual(third.stdout.readline(), pipe)
        for run in (second, third):
            _, problems = run.communicate("\n", timeout=60)
            self.assertEqual((run.returncode, problems), (0, ""))
        self.assertEqual(self.mps_folders(), [])

    def test_top_and_gpus_show_the_client(self):
        run = self.start("--mem", "100M", "--mps", "off", script=CUDA_SCRIPT)
        self.assertEqual(run.stdout.readline(), "on\n")
        for command in ("gpus", "top"):
            (client,) = self.prints_json(command, env=self.env)[0]["clients"]
            self.assertEqual(client["name"], pathlib.Path(sys.executable).name)
            self.assertGreater(client["launches"], 0)
            self.assertGreater(client["launches_per_second"], 0)
            self.assertEqual(client["memory_limit_bytes"], 100 * MIB)
            self.assertFalse(client["orphaned"])
        screen = self.succeeds("top", "--once", env=self.env)
        self.assertRegex(screen, rf"(?m)^ +{client['pid']} +\S+ +0 +run +\d+ +\d+ +\d+ +\d\.\d / 0\.1 +0$")
        run.communicate("\n", timeout=60)
        self.assertEqual(self.prints_json("gpus", env=self.env)[0]["clients"], [])
        self.assertNotIn("CLIENT", self.succeeds("top", "--once", env=self.env))

    def on_gpu(self, **processes):
        """What NVML tells: MiB by PID, as p17=30."""
        listed = " ".join(f"{name[1:]}:{amount * MIB}" for name, amount in processes.items())
        new = self.write("driver.new", f"name = Fake H200\nuuid = {UUID}\nmemory_total = {1024 * MIB}\n"
                                       f"processes = {listed}\n")
        os.replace(new, self.folder / "driver.txt")

    def free_memory_after(self, run, wanted):
        """The program prints its free memory for each line that it gets."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            run.stdin.write("\n")
            run.stdin.flush()
            free = int(run.stdout.readline())
            if free == wanted:
                return
            time.sleep(0.05)
        self.fail(f"{free} bytes are free, not {wanted}")

    def test_the_context_is_part_of_the_limit(self):
        run = self.start("--mem", "100M", "--mps", "off", script=MEMORY_SCRIPT)
        pid = int(run.stdout.readline())
        self.free_memory_after(run, 90 * MIB)
        self.on_gpu(**{f"p{pid}": 45})  # 10 MiB are allocated
        self.free_memory_after(run, 55 * MIB)
        (client,) = self.prints_json("gpus", env=self.env)[0]["clients"]
        self.assertEqual((client["memory_bytes"], client["context_bytes"]), (10 * MIB, 35 * MIB))
        self.on_gpu(**{f"p{pid}": 15})
        self.free_memory_after(run, 85 * MIB)

    def test_memory_of_foreign_processes_is_left_to_them(self):
        self.on_gpu(**{f"p{os.getpid()}": 700})
        run = self.start("--mps", "off", script=MEMORY_SCRIPT)
        run.stdout.readline()
        self.free_memory_after(run, 314 * MIB)
        self.refuses("run", "--mem-guarantee", "500M", "--mps", "off", "--", "true", env=self.env,
                     says=("0.7 GiB", "cannot be guaranteed"))
        self.on_gpu()
        self.free_memory_after(run, 1014 * MIB)

    def test_a_program_without_the_library_is_told(self):
        script = ('import os, subprocess, sys; '
                  'other = subprocess.Popen(["env", "-u", "LD_PRELOAD", "sleep", "600"]); '
                  'print(other.pid, flush=True)\n') + MEMORY_SCRIPT + "other.kill()\n"
        run = self.start("--mem", "100M", "--mps", "off", script=script)
        other, pid = int(run.stdout.readline()), int(run.stdout.readline())
        self.on_gpu(**{f"p{pid}": 10, f"p{other}": 200})
        warning = run.stderr.readline()
        self.assertRegex(warning, rf"process {other} \(.*sleep 600, 0\.2 GiB\) uses the GPU without the library")
        self.assertIn("not enforced", warning)
        processes = {entry["pid"]: entry["library"]
                     for entry in self.prints_json("gpus", env=self.env)[0]["processes"]}
        self.assertEqual(processes, {pid: True, other: False})
        screen = self.succeeds("top", "--once", env=self.env)
        self.assertRegex(screen, rf"(?m)^ +{other} .* no +no +.*sleep 600")
        self.assertRegex(screen, rf"(?m)^ +{pid} .* no +yes ")
        check = self.doctor()["programs without the library"]
        self.assertEqual(check["state"], "degraded")
        self.assertIn(f"process {other} ", check["found"])
        self.assertNotIn(f"process {pid} ", check["found"])
        _, problems = run.communicate("end\n", timeout=60)
        self.assertEqual(problems, "")  # it is told once

    def test_programs_that_open_libcuda_so_are_seen(self):
        run = self.start("--mps", "off", script=CUDA_SCRIPT.replace("libcuda.so.1", "libcuda.so"))
        self.assertEqual(run.stdout.readline(), "on\n")
        (client,) = self.prints_json("gpus", env=self.env)[0]["clients"]
        self.assertGreater(client["launches"], 0)
        run.communicate("\n", timeout=60)

    def test_a_run_that_is_killed_ends_its_program(self):
        run = self.start("--mps", "off", script="import os; print(os.getpid(), flush=True); input()")
        program = os.pidfd_open(int(run.stdout.readline()))
        self.addCleanup(os.close, program)
        run.kill()
        self.assertTrue(select.select([program], [], [], 60)[0], "the program goes on")

    def test_a_kernel_log_has_every_launch(self):
        log = self.folder / "launches.csv"
        seen = self.run_program("--mps", "off", "--learn-kernels", "--kernel-log", log,
                                program=("lookup", "launches", "100"))
        with log.open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), int(seen["launches"]))
        self.assertEqual(len({row["pid"] for row in rows}), 1)
        self.assertEqual({len(row["kernel"]) for row in rows}, {16})
        self.assertEqual(len({row["stream"] for row in rows}), 2)  # the legacy one, that of the thread
        times = [int(row["time_ns"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual(self.run_program("--mps", "off", program=("lookup", "launches", "1"))["logged"], "0")
        self.refuses("run", "--kernel-log", "/nowhere/log", "--mps", "off", "--", "true", env=self.env,
                     says="--kernel-log /nowhere/log")

    def doctor(self):
        checks = strict_checks(self.carpool("doctor", "--json", env=self.env).stdout)
        return {check["name"]: check for check in checks}

    def test_doctor_checks_the_library(self):
        checks = self.doctor()
        self.assertEqual(checks["library of carpool run"]["state"], "ok", checks)
        self.assertRegex(checks["CUDA calls seen"]["found"], r"^all \d{3,} look-ups of CUDA 13\.0$")
        self.assertEqual(checks["shared state"]["state"], "ok")
        self.assertFalse((self.runtime / "carpool" / "state").exists())

    def test_doctor_warns_of_an_old_driver_and_of_a_state_that_others_could_open(self):
        self.write("cuda.txt", f"version = 11080\nmachine = {MACHINE}\n")
        self.run_program("--mps", "off")
        (self.runtime / "carpool" / "state").chmod(0o777)
        checks = self.doctor()
        self.assertEqual(checks["CUDA calls seen"]["found"], "the driver is of CUDA 11.8")
        self.assertEqual(checks["shared state"]["state"], "degraded")

    def test_bad_options_are_explained(self):
        self.refuses("run", "--mps", "off", env=self.env, says="no program")
        self.refuses("run", "--mem", "lots", "--", "true", env=self.env, says="--mem")
        self.refuses("run", "--mem", "1G", "--mem-guarantee", "2G", "--", "true", env=self.env,
                     says="--mem-guarantee 2G is more than --mem 1G")
        self.refuses("run", "--gpu", "5", "--", "true", env=self.env, says="there is no GPU 5")

    def test_without_a_driver_it_says_what_to_do(self):
        env = {**self.env, "LD_LIBRARY_PATH": cli.FAKE_NVML}
        if os.path.exists("/proc/driver/nvidia/version"):
            self.skipTest("this machine has a driver")
        self.refuses("run", "--", "true", env=env, says=("libcuda.so.1", "install NVIDIA's driver"), code=1)


if __name__ == "__main__":
    unittest.main()
