"""Steps of a job that a server counts: nothing waits, and nothing ends the job."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import tree

tree.use_package()

from carpool import counter, step_file, watched  # noqa: E402
from carpool.step_file import COUNT, END, STARTING, StepFile  # noqa: E402


class CounterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "steps")
        StepFile.create(self.path, 8)
        self.file = StepFile(self.path)
        self.file.order = COUNT

    def test_counts_steps_without_a_gpu(self):
        steps = watched.open_recorder([self.path], 0)
        for _ in range(20):
            steps.step(units=4)
        self.assertEqual(self.file.done, 20)
        self.assertEqual(self.file.units, 4.0)
        self.assertEqual(self.file.state, STARTING)

    def test_follows_no_order(self):
        steps = watched.open_recorder([self.path], 0)
        self.file.order = END
        steps.step()
        self.assertEqual(self.file.done, 1)

    def test_a_file_that_is_not_visible_is_no_error(self):
        steps = watched.open_recorder([self.path + ".gone"], 0)
        steps.configure(depth=3, units=2)
        steps.step()

    def test_steps_in_flight_are_counted_when_their_gpu_work_has_ended(self):
        done = []

        class Event:
            def record(self):
                self.number = len(done)

            def query(self):
                return bool(done) and done[-1]

        torch = mock.Mock()
        torch.cuda.is_initialized.return_value = True
        torch.cuda.is_current_stream_capturing.return_value = False
        torch.cuda.Event = Event
        with mock.patch.dict(sys.modules, {"torch": torch}):
            steps = counter.Counter(self.file, clock=lambda: 7)
            steps.step()
            steps.step()
            self.assertEqual(self.file.done, 0)
            done.append(True)
            steps.step()
            self.assertEqual(self.file.done, 3)
            done.append(False)
            for _ in range(counter.MOST_IN_FLIGHT + 2):
                steps.step()
            self.assertEqual(self.file.done, 5)

    def test_a_process_whose_parent_has_changed_goes_on(self):
        text = ("import os, carpool\n"
                "carpool.step()\n"
                "os.getppid = lambda: 1\n"
                "carpool.step()\n")
        environment = dict(os.environ, CARPOOL_STEP_FILE=self.path,
                           PYTHONPATH=str(pathlib.Path(step_file.__file__).parents[1]))
        subprocess.run([sys.executable, "-c", text], env=environment, check=True, timeout=60)
        self.assertEqual(self.file.done, 2)


if __name__ == "__main__":
    unittest.main()
