"""Requests as programs of different kinds serve them: request_shapes.py SHAPE COUNT | flood SECONDS.

Each request has a kernel of KERNEL_MS. The program times its requests itself; with the library it tells, too, how many the library has
found, and their median. flood: kernels of 0.5 ms, few of them ahead, until the time is up or standard input ends.
"""

import ctypes
import json
import pathlib
import queue
import select
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import counters  # noqa: E402
import driver  # noqa: E402

KERNEL_MS, FLOOD_US = 4, 500
GAP_S = 0.004  # between requests
BYTES = 4096
NOT_READY = 600
SPIN = """.visible .entry spin_{us}us()
{{
    .reg .u64 %begin, %now, %since;
    .reg .pred %more;
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %since, %now, %begin;
    setp.lt.u64 %more, %since, {us}000;
    @%more bra again;
    ret;
}}
"""


class Service:
    """Two streams that do not wait for the default one, two events, and memory on both sides."""

    def __init__(self, us):
        self.cuda = driver.Driver().cuda
        self.function, self.device, self.host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), (".version 7.0\n.target sm_80\n.address_size 64\n" + SPIN.format(us=us)).encode())
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, f"spin_{us}us".encode())
        self.call("cuMemAlloc_v2", ctypes.byref(self.device), ctypes.c_size_t(BYTES))
        self.call("cuMemHostAlloc", ctypes.byref(self.host), ctypes.c_size_t(BYTES), 0)
        self.compute, self.copies = self.stream(), self.stream()
        self.events = [self.event(), self.event()]

    def call(self, name, *arguments):
        driver.check(getattr(self.cuda, name)(*arguments), name)

    def stream(self):
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)
        return made

    def event(self):
        made = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(made), 2)  # without timing
        return made

    def launch(self, stream=None):
        self.call("cuLaunchKernel", self.function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)

    def record(self, number, stream):
        self.call("cuEventRecord", self.events[number], stream)

    def join(self, stream, number):
        self.call("cuStreamWaitEvent", stream, self.events[number], 0)

    def wait(self, stream=None):
        self.call("cuStreamSynchronize", stream)

    def wait_for(self, number):
        self.call("cuEventSynchronize", self.events[number])

    def is_done(self, number):
        return self.cuda.cuEventQuery(self.events[number]) != NOT_READY

    def copy_in(self, stream):
        self.call("cuMemcpyHtoDAsync_v2", self.device, self.host, ctypes.c_size_t(BYTES), stream)

    def copy_out(self, stream):
        self.call("cuMemcpyDtoHAsync_v2", self.host, self.device, ctypes.c_size_t(BYTES), stream)


def one_by_one(serve):
    """The latencies of requests with a pause between them."""

    def times(service, count):
        found = []
        for _ in range(count):
            began = time.perf_counter()
            serve(service)
            found.append(time.perf_counter() - began)
            time.sleep(GAP_S)
        return found

    return times


@one_by_one
def plain(service):
    service.copy_in(None)
    service.launch()
    service.copy_out(None)
    service.wait()


@one_by_one
def several_inputs(service):
    for _ in range(3):
        service.copy_in(service.compute)
        service.wait(service.compute)
    service.launch(service.compute)
    service.wait(service.compute)


@one_by_one
def copy_stream(service):
    service.copy_in(service.copies)
    service.record(0, service.copies)
    service.join(service.compute, 0)
    service.launch(service.compute)
    service.record(1, service.compute)
    service.join(service.copies, 1)
    service.copy_out(service.copies)
    service.wait(service.copies)


@one_by_one
def beside_others(service):
    """The program waits for work that has nothing to do with the request first."""
    service.launch(service.compute)
    service.call("cuMemcpyDtoH_v2", service.host, service.device, ctypes.c_size_t(BYTES))
    service.wait(service.copies)
    service.wait(service.compute)


@one_by_one
def waited_for_later(service):
    service.launch(service.compute)
    service.record(0, service.compute)
    time.sleep(0.75e-3 * KERNEL_MS)
    service.wait_for(0)


@one_by_one
def polled(service):
    service.launch(service.compute)
    service.record(0, service.compute)
    while not service.is_done(0):
        time.sleep(0.5e-3)


@one_by_one
def called_back(service):
    told = queue.SimpleQueue()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: told.put(True))
    service.launch(service.compute)
    service.call("cuLaunchHostFunc", service.compute, function, None)
    told.get()


def launched_ahead(service, count):
    """Each step is launched before the one in front of it is waited for."""
    began, found = [0.0, 0.0], []
    for step in range(count):
        began[step % 2] = time.perf_counter()
        service.launch(service.compute)
        service.record(step % 2, service.compute)
        if step > 0:
            service.wait_for((step - 1) % 2)
            found.append(time.perf_counter() - began[(step - 1) % 2])
        time.sleep(0.75e-3 * KERNEL_MS)
    service.wait(service.compute)
    return found


def two_threads(service, count):
    def serve(stream, times):
        service.call("cuCtxSetCurrent", context)
        for _ in range(count // 2):
            began = time.perf_counter()
            service.copy_in(stream)
            service.launch(stream)
            service.wait(stream)
            times.append(time.perf_counter() - began)
            time.sleep(3 * GAP_S)

    context, found = ctypes.c_void_p(), ([], [])
    service.call("cuCtxGetCurrent", ctypes.byref(context))
    threads = [threading.Thread(target=serve, args=pair) for pair in zip((service.compute, service.copies), found)]
    for thread in threads:
        thread.start()
        time.sleep(0.5e-3 * KERNEL_MS)  # the requests overlap
    for thread in threads:
        thread.join()
    return [*found[0], *found[1]]


SHAPES = {"plain": plain, "several-inputs": several_inputs, "copy-stream": copy_stream, "beside-others": beside_others,
          "waited-for-later": waited_for_later, "polled": polled, "called-back": called_back, "launched-ahead": launched_ahead,
          "two-threads": two_threads}


def serve(name, count):
    service = Service(1000 * KERNEL_MS)
    times = SHAPES[name](service, count)
    plain(service, 1)  # the library notices the end of a request with the begin of the next one
    counted = counters.of_process() or {}
    times.sort()
    print(json.dumps({"ok": name, "requests": len(times), "p50_ms": 1e3 * statistics.median(times), "p95_ms": 1e3 * times[int(0.95 * len(times))],
                      "counted": {key: counted.get(key) for key in ("requests", "p50_ns")}}))


def flood(seconds):
    service, end, done = Service(FLOOD_US), time.monotonic() + seconds, 0
    print("ready", flush=True)
    while time.monotonic() < end and not select.select([sys.stdin], [], [], 0)[0]:
        if done >= 2:
            service.wait_for(done % 2)
        for _ in range(4):
            service.launch(service.compute)
        service.record(done % 2, service.compute)
        done += 1
    print(json.dumps({"ok": "flood", "kernels": 4 * done}))


if __name__ == "__main__":
    if sys.argv[1] == "flood":
        flood(float(sys.argv[2]))
    else:
        serve(sys.argv[1], int(sys.argv[2]))
