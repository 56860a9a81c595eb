"""A recorder against a watcher that acts whenever the recorder would sleep."""

import os
import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

import fake_torch
import tree

tree.use_package()

from carpool import recorder, step_file  # noqa: E402
from carpool.step_file import END, ENDED, HELD, HOLD, RUN, RUNNING, STARTING, StepFile  # noqa: E402

WATCHER = 4711


class RecorderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "steps")
        StepFile.create(self.path, 8)
        self.file = StepFile(self.path)
        self.now = 0
        self.parent = WATCHER
        self.script = []
        self.naps = 0

    def make(self, **options):
        return recorder.Recorder(StepFile(self.path), WATCHER, clock=self.tick, pause=self.nap,
                                 parent=lambda: self.parent, **options)

    def tick(self):
        self.now += 10
        return self.now

    def nap(self, seconds):
        """The actions of the watcher while the worker is held, one per sleep."""
        self.assertEqual(seconds, 0.004)
        self.assertEqual(self.file.state, HELD)
        self.naps += 1
        if not self.script:
            self.fail("held for ever")
        self.script.pop(0)()

    def order(self, value):
        def act():
            self.file.order = value
        return act

    def use_gpu(self):
        gpu = fake_torch.Gpu()
        patch = mock.patch.dict(sys.modules, torch=fake_torch.module(gpu))
        patch.start()
        self.addCleanup(patch.stop)
        return gpu

    def running(self, **options):
        """A released recorder with one step done."""
        worker = self.make(**options)
        self.file.order = RUN
        worker.step()
        self.assertEqual(self.file.state, RUNNING)
        return worker


class Layout(RecorderTest):
    def test_fields_are_where_the_watcher_looks_for_them(self):
        worker = self.running()
        worker.step(units=2.5)
        self.file.cores = 5
        data = pathlib.Path(self.path).read_bytes()
        self.assertEqual(len(data), 64 + 8 * 8)
        self.assertEqual(struct.unpack_from("<8sIIQIIdQQQ", data),
                         (b"CPSTEP1\0", 1, 8, 2, RUNNING, RUN, 2.5, os.getpid(), 5, 0))
        self.assertEqual(struct.unpack_from("<3Q", data, 64), (10, 20, 0))

    def test_a_new_file_holds_a_worker_that_is_starting(self):
        self.assertEqual((self.file.state, self.file.order, self.file.units, self.file.done),
                         (STARTING, HOLD, 1.0, 0))

    def test_the_ring_keeps_the_last_steps(self):
        worker = self.running()
        for _ in range(10):
            worker.step()
        self.assertEqual(self.file.done, 11)
        self.assertEqual([self.file.time_of(n) for n in range(3, 11)],
                         [10 * (n + 1) for n in range(3, 11)])

    def test_a_worker_goes_on_counting_where_the_file_stands(self):
        self.running().step()
        self.running()
        self.assertEqual(self.file.done, 3)

    def test_other_files_are_refused_by_name(self):
        for data, part in ((b"", "0 bytes"), (b"x" * 64, "not a step file"),
                           (step_file.MAGIC + struct.pack("<II", 2, 8) + bytes(112), "version 2"),
                           (step_file.MAGIC + struct.pack("<II", 1, 6) + bytes(96), "ring of 6"),
                           (step_file.MAGIC + struct.pack("<II", 1, 8) + bytes(48), "ring of 8")):
            pathlib.Path(self.path).write_bytes(data)
            with self.assertRaisesRegex(RuntimeError, part) as caught:
                StepFile(self.path)
            self.assertIn(self.path, str(caught.exception))


class Orders(RecorderTest):
    def test_the_first_step_ends_held_until_the_watcher_lets_it_go(self):
        self.script = [lambda: self.assertEqual(self.file.done, 1), self.order(RUN)]
        self.make().step()
        self.assertEqual((self.naps, self.file.state), (2, RUNNING))

    def test_a_running_worker_is_held_after_its_step_and_let_go_again(self):
        worker = self.running()
        worker.step()
        self.assertEqual(self.naps, 0)
        self.file.order = HOLD
        self.script = [self.order(RUN)]
        worker.step()
        self.assertEqual((self.naps, self.file.state, self.file.done), (1, RUNNING, 3))

    def test_the_order_to_end_ends_the_program_well(self):
        worker = self.running()
        self.file.order = END
        with self.assertRaises(SystemExit) as caught:
            worker.step()
        self.assertEqual((caught.exception.code, self.file.state, self.file.done), (0, ENDED, 2))

    def test_a_held_worker_can_be_ended(self):
        self.script = [self.order(END)]
        with self.assertRaises(SystemExit) as caught:
            self.make().step()
        self.assertEqual((caught.exception.code, self.file.state), (0, ENDED))

    def orphan(self):
        self.parent = 1

    def test_a_worker_leaves_when_its_watcher_dies_while_it_is_held(self):
        self.script = [self.orphan]
        with self.assertRaises(SystemExit) as caught:
            self.make().step()
        self.assertEqual((caught.exception.code, self.file.state), (1, ENDED))

    def test_a_worker_leaves_when_its_watcher_dies_while_it_runs(self):
        worker = self.running()
        self.orphan()
        with self.assertRaises(SystemExit) as caught:
            worker.step()
        self.assertEqual((caught.exception.code, self.file.state), (1, ENDED))

    def test_going_on_moves_every_thread_to_the_given_cores(self):
        moved = []
        self.file.cores = 0b101
        with mock.patch("os.listdir", return_value=["7", "8"]), \
                mock.patch("os.sched_setaffinity", side_effect=lambda *call: moved.append(call)):
            self.running()
        self.assertEqual(moved, [(7, {0, 2}), (8, {0, 2})])

    def test_cores_that_cannot_be_had_are_done_without(self):
        self.file.cores = 1
        with mock.patch("os.sched_setaffinity", side_effect=OSError):
            self.running()

    def test_no_cores_leaves_threads_where_they_are(self):
        with mock.patch("os.sched_setaffinity", side_effect=AssertionError):
            self.running()


class GpuSteps(RecorderTest):
    def test_depth_2_waits_for_the_step_before_while_this_one_is_in_flight(self):
        gpu = self.use_gpu()
        worker = self.running()  # Held first: that step was waited for.
        gpu.calls.clear()
        worker.step()
        self.assertEqual((gpu.calls, self.file.done), ([("record", 0)], 1))
        worker.step()
        self.assertEqual(gpu.calls, [("record", 0), ("record", 1), ("wait", 0)])
        self.assertEqual(self.file.done, 2)

    def test_depth_1_waits_for_each_step(self):
        gpu = self.use_gpu()
        worker = self.make()
        worker.configure(depth=1)
        self.file.order = RUN
        worker.step()
        worker.step()
        self.assertEqual(gpu.calls, [("record", 0), ("wait", 0), ("record", 1), ("wait", 1)])

    def test_a_fixed_depth_is_not_reconfigured(self):
        gpu = self.use_gpu()
        worker = self.running(fixed_depth=1)
        worker.configure(depth=3)
        gpu.calls.clear()
        worker.step()
        self.assertEqual(gpu.calls, [("record", 0), ("wait", 0)])

    def test_holding_waits_for_all_work_in_flight_and_counts_it(self):
        self.use_gpu()
        worker = self.running()
        worker.configure(depth=4)
        for _ in range(3):
            worker.step()
        self.assertEqual(self.file.done, 1)
        self.file.order = HOLD
        self.script = [lambda: self.assertEqual(self.file.done, 5), self.order(RUN)]
        worker.step()

    def test_events_are_used_again(self):
        self.use_gpu()
        worker = self.running()
        fake_torch.Event.made = 0
        for _ in range(20):
            worker.step()
        self.assertLessEqual(fake_torch.Event.made, 1)

    def test_a_program_that_has_not_touched_the_gpu_is_timed_by_its_calls(self):
        gpu = self.use_gpu()
        gpu.initialized = False
        self.running().step()
        self.assertEqual((gpu.calls, self.file.done), ([], 2))

    def test_closing_counts_what_is_in_flight(self):
        self.use_gpu()
        worker = self.running()
        worker.step()
        worker.close()
        self.assertEqual((self.file.done, self.file.state), (2, ENDED))

    def test_closing_after_the_gpu_broke_still_says_that_it_ended(self):
        gpu = self.use_gpu()
        worker = self.running()
        worker.step()
        gpu.failing = True
        worker.close()
        self.assertEqual((self.file.done, self.file.state), (1, ENDED))

    def test_a_depth_below_one_is_refused(self):
        with self.assertRaisesRegex(ValueError, "depth 0"):
            self.make().configure(depth=0)


if __name__ == "__main__":
    unittest.main()
