"""Programs that reach the driver themselves, by ctypes: driver.py launch | fill MIB | exec | children.

launch: opens libcuda.so by name, launches a kernel from PTX, checks its result. fill: allocates pieces of MIB until the driver refuses.
exec: launches, then becomes `launch`. children: a child by fork that does not use CUDA, one by exec that does.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import counters  # noqa: E402

MIB = 2**20
INCREMENT = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry increment_number(.param .u64 number)
{
    .reg .b64 %address;
    .reg .b32 %value;
    ld.param.u64 %address, [number];
    cvta.to.global.u64 %address, %address;
    ld.global.u32 %value, [%address];
    add.s32 %value, %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""
LAUNCHES = 25


def check(code, call):
    if code != 0:
        sys.exit(f"{call} returned {code}")


class Driver:
    """The primary context of the first GPU."""

    def __init__(self):
        self.name = "libcuda.so"
        try:
            self.cuda = ctypes.CDLL(self.name)
        except OSError:
            self.name = "libcuda.so.1"
            self.cuda = ctypes.CDLL(self.name)
        context = ctypes.c_void_p()
        check(self.cuda.cuInit(0), "cuInit")
        check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
        check(self.cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")

    def allocate(self, count):
        """Address, or 0 if the driver refuses."""
        address = ctypes.c_uint64()
        code = self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(count))
        return 0 if code == 2 else check(code, "cuMemAlloc") or address.value

    def launch(self, count):
        """The number that the kernel has incremented `count` times."""
        module, function, number = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32(0)
        check(self.cuda.cuModuleLoadData(ctypes.byref(module), INCREMENT), "cuModuleLoadData")
        check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, b"increment_number"), "cuModuleGetFunction")
        address = ctypes.c_uint64(self.allocate(4))
        check(self.cuda.cuMemcpyHtoD_v2(address, ctypes.byref(number), ctypes.c_size_t(4)), "cuMemcpyHtoD")
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p))
        for _ in range(count):
            check(self.cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None), "cuLaunchKernel")
        check(self.cuda.cuCtxSynchronize(), "cuCtxSynchronize")
        check(self.cuda.cuMemcpyDtoH_v2(ctypes.byref(number), address, ctypes.c_size_t(4)), "cuMemcpyDtoH")
        check(self.cuda.cuMemFree_v2(address), "cuMemFree")
        return number.value


def launch():
    driver = Driver()
    if (number := driver.launch(LAUNCHES)) != LAUNCHES:
        sys.exit(f"the kernel counted to {number}, not {LAUNCHES}")
    counted = counters.of_process()
    if counted is not None and counted["launches"] != LAUNCHES:
        sys.exit(f"the library counted {counted['launches']} launches, not {LAUNCHES}")
    print(json.dumps({"ok": "launch", "opened": driver.name, "launches": counted and counted["launches"]}))


def fill(mib):
    driver, pieces = Driver(), 0
    while pieces < 100_000 and driver.allocate(mib * MIB):
        pieces += 1
    print(json.dumps({"ok": "fill", "held": pieces * mib * MIB, "counters": counters.of_process()}))


def replace():
    Driver().launch(LAUNCHES)
    os.execv(sys.executable, [sys.executable, __file__, "launch"])


def children():
    driver = Driver()
    driver.launch(1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    check(os.waitpid(child, 0)[1], "the child by fork")
    done = subprocess.run([sys.executable, __file__, "launch"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the child by exec: {done.stdout}{done.stderr}")
    driver.launch(1)
    print(json.dumps({"ok": "children", "child": json.loads(done.stdout)}))


if __name__ == "__main__":
    {"launch": launch, "fill": lambda: fill(int(sys.argv[2])), "exec": replace, "children": children}[sys.argv[1]]()
