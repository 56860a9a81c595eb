#!/usr/bin/env python3
"""The simulated GPU of carpool.trace: a program that asks for a GPU gets the CPU, and all patches are undone afterwards."""

import unittest

import traced_torch
import tree

tree.use_package()

from carpool import simulated_gpu  # noqa: E402


def told(*arguments, **keywords):
    return arguments, keywords


class SimulatedGpu(unittest.TestCase):
    def setUp(self):
        self.torch = traced_torch.make()
        patch = simulated_gpu.simulated(self.torch)
        patch.__enter__()
        self.addCleanup(patch.__exit__, None, None, None)

    def asked(self, *arguments, **keywords):
        return self.torch.call(told, *arguments, **keywords)

    def test_a_gpu_by_name_is_the_cpu(self):
        self.assertEqual(self.asked(3, device="cuda"), ((3,), {"device": "cpu"}))
        self.assertEqual(self.asked("cuda:1", non_blocking=True), (("cpu",), {"non_blocking": True}))
        self.assertEqual(self.asked("cudas", name="cpu"), (("cudas",), {"name": "cpu"}))

    def test_a_gpu_as_a_device_is_the_cpu(self):
        (first,), named = self.asked(self.torch.device("cuda:0"), device=self.torch.device("cuda"))
        self.assertEqual((first.type, named["device"].type), ("cpu", "cpu"))
        other = self.torch.device("meta")
        self.assertIs(self.asked(other)[0][0], other)

    def test_a_gpu_by_number_is_the_cpu_only_where_a_device_stands(self):
        tensor = traced_torch.Tensor(2)
        self.assertEqual(self.torch.call(traced_torch.Tensor.to, tensor, 0, True), (("cpu", True), {}))
        self.assertEqual(self.torch.call(traced_torch.Tensor.to, tensor, True), ((True,), {}))
        self.assertEqual(self.asked(0, device=1, dim=1), ((0,), {"device": "cpu", "dim": 1}))

    def test_tensors_stay_where_they_are(self):
        tensor = traced_torch.Tensor(2)
        self.assertIs(self.torch.call(traced_torch.Tensor.cuda, tensor, 0), tensor)
        self.assertIs(self.torch.call(traced_torch.Tensor.pin_memory, tensor), tensor)

    def test_the_default_device_is_the_cpu(self):
        for device in ("cuda", "cuda:0", 0):
            self.torch.set_default_device(device)
            self.assertEqual(self.torch.default_device, "cpu")
        self.torch.set_default_device("meta")
        self.assertEqual(self.torch.default_device, "meta")

    def test_autocast_is_made_for_the_cpu(self):
        autocast = self.torch.amp.autocast_mode.autocast
        self.assertEqual(autocast("cuda").given, ("cpu", "torch.float16", True))
        self.assertEqual(autocast("cuda", "torch.bfloat16", False).given, ("cpu", "torch.bfloat16", False))
        self.assertEqual(autocast("cuda", dtype="torch.bfloat16").given, ("cpu", "torch.bfloat16", True))
        self.assertEqual(autocast("cpu", enabled=False).given, ("cpu", None, False))

    def test_loaders_have_no_workers_and_keep_the_rest(self):
        loader = self.torch.utils.data.DataLoader
        for given in (loader("data", 8, True, None, None, 2, "collate", True, 60, "spawn").given,
                      loader("data", batch_size=8, shuffle=True, num_workers=2, collate_fn="collate", pin_memory=True,
                             prefetch_factor=4, persistent_workers=True).given):
            self.assertEqual(given, {
                "dataset": "data", "batch_size": 8, "shuffle": True, "sampler": None, "batch_sampler": None,
                "num_workers": 0, "collate_fn": "collate", "pin_memory": False, "timeout": 0,
                "multiprocessing_context": None, "prefetch_factor": None, "persistent_workers": False})

    def test_the_first_step_of_a_scaler_is_a_step(self):
        steps = []
        optimizer = type("Optimizer", (), {"step": lambda _self: steps.append(1)})()
        scaler = self.torch.amp.GradScaler()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(steps, [1])

    def test_questions_about_the_gpu_are_answered(self):
        self.assertIs(self.torch.cuda.is_available(), True)
        self.assertEqual(self.torch.cuda.device_count(), 1)
        self.assertFalse(hasattr(self.torch.cuda, "mem_get_info"), "nothing that this PyTorch does not have")


class Afterwards(unittest.TestCase):
    def test_all_is_as_it_was(self):
        torch = traced_torch.make()

        def parts():
            return [torch.set_default_device, torch.utils.data.DataLoader.__init__,
                    torch.amp.autocast_mode.autocast.__init__, *vars(torch.amp.GradScaler).values(),
                    *vars(torch.cuda).values(), *torch.modes]

        before = parts()
        with self.assertRaises(KeyError), simulated_gpu.simulated(torch):
            self.assertNotEqual(parts(), before)
            raise KeyError
        self.assertEqual(parts(), before)


if __name__ == "__main__":
    unittest.main()
