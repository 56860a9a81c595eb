#!/usr/bin/env python3
"""A program that computes on a GPU through the CUDA driver, without other packages.

    busy_program.py compute MIB      holds MIB of memory and keeps the SMs busy until it is ended
    busy_program.py fault            writes to an address that is not its own; the driver reports XID 31
"""

import ctypes
import sys

# compute: every thread multiplies and adds for about a millisecond, and writes its result.
PTX = b"""
.version 6.3
.target sm_75
.address_size 64

.visible .entry compute(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %more;
    .reg .f32 %value;
    .reg .b32 %at<5>;
    .reg .b64 %place<3>;
    ld.param.u64 %place0, [out];
    ld.param.u32 %at0, [rounds];
    mov.u32 %at1, %ctaid.x;
    mov.u32 %at2, %ntid.x;
    mov.u32 %at3, %tid.x;
    mad.lo.u32 %at4, %at1, %at2, %at3;
    cvt.rn.f32.u32 %value, %at4;
again:
    fma.rn.f32 %value, %value, 0f3F7FFFFE, 0f3F800000;
    sub.u32 %at0, %at0, 1;
    setp.ne.u32 %more, %at0, 0;
    @%more bra again;
    mul.wide.u32 %place1, %at4, 4;
    add.u64 %place2, %place0, %place1;
    st.global.f32 [%place2], %value;
    ret;
}

.visible .entry fault()
{
    .reg .b32 %one;
    .reg .b64 %nowhere;
    mov.u32 %one, 1;
    mov.u64 %nowhere, 16;
    st.global.u32 [%nowhere], %one;
    ret;
}
\0"""
BLOCKS, THREADS, ROUNDS = 1056, 256, 200_000  # 8 blocks for each of 132 SMs
LAUNCHES_AHEAD = 20


class Gpu:
    """The first visible GPU with a context and the module."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), PTX)

    def call(self, name, *arguments):
        if code := getattr(self.driver, name)(*arguments):
            sys.exit(f"{name} failed with error {code}")

    def memory(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def kernel(self, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, name)
        return function

    def launch(self, kernel, blocks, threads, *values):
        places = (ctypes.c_void_p * max(len(values), 1))(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        self.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, None, places, None)

    def wait(self):
        self.call("cuCtxSynchronize")


def compute(mib):
    gpu = Gpu()
    memory, kernel, rounds = gpu.memory(mib << 20), gpu.kernel(b"compute"), ctypes.c_uint32(ROUNDS)
    print("computing", flush=True)
    while True:
        for _ in range(LAUNCHES_AHEAD):
            gpu.launch(kernel, BLOCKS, THREADS, memory, rounds)
        gpu.wait()


def fault():
    gpu = Gpu()
    gpu.launch(gpu.kernel(b"fault"), 1, 1)
    gpu.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["fault"]:
        fault()
    elif len(sys.argv) == 3 and sys.argv[1] == "compute":
        compute(int(sys.argv[2]))
    else:
        sys.exit(__doc__)
