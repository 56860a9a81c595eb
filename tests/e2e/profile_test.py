#!/usr/bin/env python3
"""profile and profiles over a fake driver, a fake CUPTI and a CUDA program without a GPU."""

import csv
import gzip
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import time
import unittest

import cli

# A fake Nsight Compute: runs the program until it ends, then writes its report.
FAKE_NCU = f"""#!/usr/bin/env python3
import pathlib, subprocess, sys
words = sys.argv[1:]
if words[0] == "--import":
    print(pathlib.Path(words[1]).read_text())
    sys.exit(0)
log = pathlib.Path(words[words.index("--log-file") + 1])
report = pathlib.Path(words[words.index("--export") + 1])
command = words[words.index("--kernel-name") + 2:]
child = subprocess.Popen(command)
with open(log, "w") as file:
    file.write(f"==PROF== Connected to process {{child.pid}} (/fake)\\n")
    for kernel in range(10):
        file.write(f'==PROF== Profiling "kernel_{{kernel}}" - {{kernel}}: 0%....100% - 9 passes\\n')
    file.flush()
    child.wait()
report.write_text('''{cli.NCU_EXPORT}''')
"""


class ProfileTest(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        driver = self.write("driver.txt", "name = Fake H200\ndriver = 580.1\nutilization = 0\ngpm.2 = 63\n")
        self.env = {**cli.fake_driver(driver), **cli.FAKE_CUPTI, "XDG_RUNTIME_DIR": str(self.runtime)}
        self.addCleanup(self.end_leftovers)

    def words(self, *program, options=(), seconds="1"):
        return ["profile", "--name", "job", "-o", "out", "--seconds", seconds, "--longest", "4",
                "--start-limit", "60", *options, "--", cli.FAKE_CUDA_PROGRAM, *program]

    def profile(self, *program, options=()):
        return cli.strict_json(self.succeeds(
            *self.words(*program, options=("--json", *options)), env=self.env))

    def fails(self, *program, says, **how):
        self.refuses(*self.words(*program, **how), says=says, code=1, env=self.env)
        self.nothing_is_left()

    def processes(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid() and \
                        str(self.folder).encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass  # it ended meanwhile
        return found

    def end_leftovers(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def nothing_is_left(self, written=()):
        for _ in range(100):
            if not self.processes():
                break
            time.sleep(0.05)
        self.assertEqual(self.processes(), [])
        self.assertEqual(sorted(p.name for p in self.runtime.rglob("*")), ["carpool"])
        out = self.folder / "out"
        self.assertEqual(sorted(p.name for p in out.rglob("*")) if out.exists() else [],
                         sorted(written))


class OfAProgram(ProfileTest):
    def test_says_how_fast_it_is_and_what_it_launches_without_any_hint(self):
        got = self.profile("--steps", "0", "--kernels", "10", "--step-ms", "5")
        self.assertEqual(got["throughput"]["source"], "launches")
        self.assertAlmostEqual(got["throughput"]["value"], 200, delta=4)
        self.assertAlmostEqual(got["metrics"]["launches_per_s"], 2000, delta=100)
        self.assertAlmostEqual(got["metrics"]["sm_active"], 0.63)
        self.assertGreaterEqual(got["steps"][0]["steps"], 20)
        self.nothing_is_left(["job.kernels.csv.gz", "job.profile.json"])
        table = gzip.decompress((self.folder / "out" / "job.kernels.csv.gz").read_bytes()).decode()
        rows = list(csv.DictReader(io.StringIO(table)))
        self.assertEqual(sorted(row["name"] for row in rows), [f"kernel_{i}" for i in range(10)])
        self.assertAlmostEqual(sum(float(row["time_share"]) for row in rows), 1.0, places=3)
        stored = cli.strict_json((self.folder / "out" / "job.profile.json").read_text())
        self.assertEqual(stored["metrics"], got["metrics"])

    def test_trusts_what_the_program_tells_most(self):
        got = self.profile("--steps", "0", "--calls-step")
        self.assertEqual(got["throughput"]["source"], "carpool.step")
        self.assertEqual([steps["source"] for steps in got["steps"]][:2], ["carpool.step", "launches"])
        rates = [steps["steps_per_second"] for steps in got["steps"][:2]]
        self.assertAlmostEqual(rates[0], rates[1], delta=0.02 * rates[0])

    def test_says_how_much_it_slowed_the_program_down(self):
        got = self.profile("--steps", "0", "--calls-step", options=("--slowdown", "1"))
        self.assertLess(abs(got["slowdown"]), 0.3)
        self.assertNotIn("slowdown", self.profile("--steps", "0", options=("--slowdown", "1")))

    def test_takes_steps_from_ranges_and_from_the_output(self):
        got = self.profile("--steps", "0", "--nvtx", "batch", options=("--nvtx", "batch"))
        self.assertEqual(got["throughput"]["source"], "nvtx")
        self.assertAlmostEqual(got["throughput"]["value"], 200, delta=10)
        got = self.profile("--steps", "0", "--prints", options=("--step-regex", r"step (\d+)"))
        self.assertEqual(got["throughput"]["source"], "output")
        self.assertAlmostEqual(got["throughput"]["value"], 200, delta=20)

    def test_sees_nodes_of_graphs_and_what_children_launch(self):
        got = self.profile("--steps", "0", "--graph")
        self.assertAlmostEqual(got["metrics"]["graph_share"], 1.0)
        self.profile("--steps", "0", "--child")
        self.profile("--steps", "0", "--fork")
        self.nothing_is_left(["job.kernels.csv.gz", "job.profile.json"])

    def test_reads_the_sensors_alone_when_told_to(self):
        got = self.profile("--steps", "0", "--calls-step", options=("--no-activity",))
        self.assertNotIn("launches_per_s", got["metrics"])
        self.assertAlmostEqual(got["metrics"]["sm_active"], 0.63)
        self.assertEqual(got["throughput"]["source"], "carpool.step")
        self.nothing_is_left(["job.profile.json"])

    def test_a_table_for_people_names_unit_source_and_file(self):
        text = self.succeeds(*self.words("--steps", "0"), env=self.env)
        for part in ("steps/s (by launches", "confidence", " kernel_", "out/job.profile.json"):
            self.assertIn(part, text)


class Trouble(ProfileTest):
    def test_a_crash_is_told_with_its_signal(self):
        self.fails("--steps", "0", "--crash", "30", says=("job ended after", "SIGSEGV"))

    def test_a_crash_within_the_window_leaves_no_profile(self):
        self.fails("--steps", "0", "--step-ms", "10", "--crash", "250", says="SIGSEGV", seconds="3")

    def test_a_program_that_ends_too_early(self):
        self.fails("--steps", "5", says=("before it had started up", "exit status 0"))

    def test_a_program_that_uses_no_gpu(self):
        self.fails("--no-gpu", "--steps", "3", says="before it used the GPU")

    def test_a_program_that_never_starts_work(self):
        done = self.refuses(
            "profile", "--start-limit", "0.5", "--", "sleep", "60", code=1, env=self.env,
            says=("did not use the GPU within", "--start-limit"))
        self.assertIn("sleep", done)
        self.nothing_is_left()

    def test_an_interrupt_ends_all_and_writes_nothing(self):
        process = subprocess.Popen(
            [cli.PROGRAM, *self.words("--steps", "0", seconds="60")],
            cwd=self.folder, env=cli.environment(self.folder, **self.env), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        while not list(self.runtime.rglob("activity.*.bin")):  # the program runs and is recorded
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (1, ""), err)
        self.assertIn("stopped before the profile of job was complete", err)
        self.nothing_is_left()

    def test_wrong_use(self):
        self.refuses("profile", says="no command given", env=self.env)
        self.refuses("profile", "--from-ncu", "x.csv", says="--name", env=self.env)
        self.refuses(*self.words(options=("--gpu", "7")), says="there is no GPU 7", env=self.env)
        self.refuses(*self.words(options=("--step-regex", "(")), says="is not a regular expression",
                     env=self.env)
        self.refuses("profile", "--", "no-such-program", says="no-such-program", env=self.env)
        self.refuses("profile", "--name", "a/b", "--", "true", says="is not a workload name", env=self.env)


class NsightCompute(ProfileTest):
    def with_ncu(self, text=FAKE_NCU):
        program = self.write("bin/ncu", text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.env["PATH"] = f"{program.parent}:{os.environ['PATH']}"

    def test_gives_the_kernel_metrics_of_one_launch_of_each(self):
        self.with_ncu()
        got = self.profile("--steps", "0", options=("--ncu",))
        # Both kernels take the same time in the run itself, regardless of their time under ncu.
        self.assertAlmostEqual(got["metrics"]["sm_throughput_pct"], 60.0, delta=0.5)
        self.assertNotIn("sm_throughput_pct", got["stand_ins"])
        self.assertIn("dram_throughput_pct", got["stand_ins"])
        self.nothing_is_left(["job.kernels.csv.gz", "job.profile.json"])

    def test_a_refusal_is_told(self):
        self.with_ncu("#!/bin/sh\nwhile [ \"$1\" != --log-file ]; do shift; done\n"
                      "echo '==ERROR== ERR_NVGPUCTRPERM' > \"$2\"\nexit 1\n")
        self.fails("--steps", "0", options=("--ncu",), says=("profiled no kernel", "ERR_NVGPUCTRPERM"))

    def test_an_export_is_read(self):
        self.write("a.csv", cli.NCU_EXPORT)
        got = self.prints_json("profile", "--name", "job", "--from-ncu", "a.csv", "-o", "out")
        self.assertAlmostEqual(got["metrics"]["sm_throughput_pct"], 70.0)
        self.write("b.csv", cli.NCU_EXPORT.replace('"us"', '"years"'))
        self.refuses("profile", "--name", "job", "--from-ncu", "b.csv",
                     says=("b.csv:3: column gpu__time_duration.sum", "years"))


class Profiles(ProfileTest):
    def test_lists_compares_and_plots(self):
        cli.write_profile(self.folder / "p" / "a.profile.json", "a", threads=100, sm_active=0.5)
        cli.write_profile(self.folder / "p" / "b.profile.json", "b", threads=250)
        self.assertRegex(self.succeeds("profiles", "p"), r"(?m)^a +- +- +- +50\.0")
        self.assertRegex(self.succeeds("profiles", "p", "--compare"), r"threads +100 +250 +2\.50x")
        self.assertEqual([p["workload"] for p in self.prints_json("profiles", "p")], ["a", "b"])
        self.succeeds("profiles", "p", "--plot", "p.html")
        self.assertIn("<html", (self.folder / "p.html").read_text())

    def test_become_columns_that_models_use(self):
        data = cli.write_dataset(self.folder / "data")
        before = (data / "profiles.csv").read_text().splitlines()
        for i in range(6):
            cli.write_profile(self.folder / "p" / f"job{i}.profile.json", f"job{i}", threads=100 * i + 1)
        got = self.prints_json("profiles", "p", "--to-dataset", "data")
        self.assertEqual((got["columns_added"], got["cells_filled"]), (["threads"], 6))
        after = (data / "profiles.csv").read_text().splitlines()
        self.assertEqual([line.rpartition(",")[0] for line in after], before)
        self.assertIn("threads", json.dumps(self.prints_json("dataset", "data")))
        self.succeeds("evaluate", "--data", "data", "--protocol", "random", "--train-fraction", "0.5",
                      "--seeds", "2", "--models", "share")

    def test_of_an_unknown_workload_change_nothing(self):
        data = cli.write_dataset(self.folder / "data")
        cli.write_profile(self.folder / "job9.profile.json", "job9", threads=1)
        before = self.contents()
        self.refuses("profiles", "--to-dataset", data, says=("job9", "did you mean"))
        self.assertEqual(self.contents(), before)

    def test_a_damaged_one_is_named(self):
        self.write("x.profile.json", "{")
        self.refuses("profiles", says="x.profile.json", code=1)
        self.refuses("profiles", "nothing-here", says="nothing-here")
        (self.folder / "empty").mkdir()
        self.refuses("profiles", "empty", says="there is no NAME.profile.json in empty")


if __name__ == "__main__":
    unittest.main()
