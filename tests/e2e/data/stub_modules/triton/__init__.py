"""A triton whose kernels can be launched and compute nothing."""


class Kernel:
    def __getitem__(self, grid):
        return lambda *_: grid


def jit(_):
    return Kernel()
