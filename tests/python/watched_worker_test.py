"""Real workers, in Python and in C++, watched through a step file: one contract for both."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import tree

tree.use_package()

from carpool.step_file import END, ENDED, HELD, HOLD, RUN, RUNNING, StepFile  # noqa: E402

CAPACITY = 16
DEADLINE_S = 60

PYTHON_WORKER = """
import os, carpool
carpool.configure(units=4)
done = 0
while os.environ.get("CARPOOL_STEP_FILE") or done < 3:
    carpool.step()
    done += 1
"""

# Two workloads in one process, each with a file of its own.
THREADED_WORKER = """
import threading, carpool
def work(slot):
    carpool.configure(slot=slot, units=slot + 1)
    while True:
        carpool.step()
threads = [threading.Thread(target=work, args=(slot,)) for slot in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def python_worker(program=PYTHON_WORKER):
    return [sys.executable, "-c", program]


def environment(step_file):
    kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS") if name in os.environ}
    if step_file:
        kept["CARPOOL_STEP_FILE"] = step_file
    return {**kept, "PYTHONPATH": str(tree.PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


class WorkerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def step_file(self, name="steps"):
        path = str(self.folder / name)
        StepFile.create(path, CAPACITY)
        return path, StepFile(path)

    def start(self, command, path, **more):
        process = subprocess.Popen(command, env=environment(path), **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_until(self, condition, what):
        """Polls: the event happens in another process."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"{what}: not within {DEADLINE_S} s")
            time.sleep(0.002)

    def wait_for_state(self, file, state):
        self.wait_until(lambda: file.state == state, f"state {state}, still {file.state}")


class Contract:
    """Mixed into a test case that has command()."""

    def test_it_warms_up_runs_holds_and_ends(self):
        path, file = self.step_file()
        process = self.start(self.command(), path)
        self.wait_for_state(file, HELD)
        self.assertEqual((file.pid, file.units, file.done), (process.pid, 4.0, 1))

        core = min(os.sched_getaffinity(0))
        file.cores = 1 << core
        file.order = RUN
        self.wait_until(lambda: file.done > 3 * CAPACITY, "three rings of steps")
        self.assertEqual(file.state, RUNNING)
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            self.assertEqual(os.sched_getaffinity(int(thread)), {core})

        file.order = HOLD
        self.wait_for_state(file, HELD)
        done = file.done
        times = [file.time_of(number) for number in range(done - CAPACITY, done)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], time.monotonic_ns())

        file.order = END
        self.assertEqual(process.wait(DEADLINE_S), 0)
        self.assertEqual((file.state, file.done), (ENDED, done))

    def test_it_leaves_when_its_watcher_dies(self):
        for order, state in ((HOLD, HELD), (RUN, RUNNING)):
            with self.subTest(state=state):
                path, file = self.step_file(f"steps{state}")
                # The shell is the watcher; it ends with its input.
                shell = self.start(["sh", "-c", '"$@" & read -r line', "sh", *self.command()], path,
                                   stdin=subprocess.PIPE)
                file.order = order
                self.wait_for_state(file, state)
                shell.stdin.close()
                self.wait_for_state(file, ENDED)

    def test_it_runs_on_its_own_when_nobody_watches(self):
        self.assertEqual(self.start(self.command(), None).wait(DEADLINE_S), 0)

    def test_it_refuses_a_file_that_is_none(self):
        path = self.folder / "steps"
        path.write_bytes(b"x" * 100)
        process = self.start(self.command(), str(path), stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("step file", said.decode())
        self.assertIn(str(path), said.decode())


class PythonWorker(Contract, WorkerTest):
    def command(self):
        return python_worker()

    def test_a_program_that_ends_by_itself_says_so(self):
        path, file = self.step_file()
        file.order = RUN
        process = self.start(python_worker("import carpool; carpool.step(); carpool.step()"), path)
        self.assertEqual(process.wait(DEADLINE_S), 0)
        self.assertEqual((file.state, file.done), (ENDED, 2))

    def test_threads_have_a_file_each(self):
        (path_a, a), (path_b, b) = self.step_file("a"), self.step_file("b")
        process = self.start(python_worker(THREADED_WORKER), f"{path_a}:{path_b}")
        self.wait_for_state(a, HELD)
        self.wait_for_state(b, HELD)
        self.assertEqual((a.units, b.units), (1.0, 2.0))
        b.order = RUN
        self.wait_until(lambda: b.done > 10, "steps of the second")
        self.assertEqual((a.state, a.done), (HELD, 1))
        a.order = b.order = END
        self.assertEqual(process.wait(DEADLINE_S), 0)
        self.assertEqual((a.state, b.state), (ENDED, ENDED))

    def test_a_slot_without_a_file_is_refused(self):
        path, _ = self.step_file()
        process = self.start(python_worker("import carpool; carpool.configure(slot=1)"), path,
                             stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("slot 1 of 1", said.decode())


class CppWorker(Contract, WorkerTest):
    def command(self):
        return [os.environ["STEP_WORKER"]]


if __name__ == "__main__":
    unittest.main()
