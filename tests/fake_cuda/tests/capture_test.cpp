#include <thread>

#include <gtest/gtest.h>

#include "../control.hpp"
#include "calls.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

int status_of(Stream* stream) {
  int status = -1;
  EXPECT_EQ(cuStreamIsCapturing(stream, &status), kSuccess);
  return status;
}

Result end(Stream* stream) {
  Graph* graph = nullptr;
  const Result result = cuStreamEndCapture(stream, &graph);
  EXPECT_EQ(result == kSuccess, graph != nullptr);
  return result;
}

Result allocate() {
  DevicePtr address = 0;
  return cuMemAlloc_v2(&address, 4096);
}

// What an allocation by another thread gives, while this thread captures in this mode.
Result allocate_elsewhere(int thread_mode) {
  Context* context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), kSuccess);
  Result result = -1;
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), kSuccess);
    int mode = thread_mode;
    EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), kSuccess);
    EXPECT_EQ(mode, kCaptureGlobal);
    result = allocate();
  }).join();
  return result;
}

TEST(Capture, RecordsAndDoesNotExecute) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
    EXPECT_EQ(status_of(stream), kCaptureActive);
    EXPECT_EQ(launch(kernel("dot"), stream), kSuccess);
    EXPECT_EQ(launch(kernel("dot"), new_stream()), kSuccess);  // elsewhere: executed
    EXPECT_EQ(end(stream), kSuccess);
    EXPECT_EQ(status_of(stream), kCaptureNone);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 1);
    EXPECT_EQ(fake_cuda_count("captured_nodes"), 1);
    EXPECT_EQ(fake_cuda_count("capture_violations"), 0);
  }));
}

TEST(Capture, AnAllocationOfThisThreadBreaksAllButARelaxedOne) {
  for (const int mode : {kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed}) {
    EXPECT_TRUE(Machine().run([mode] {
      use_device();
      Stream* stream = new_stream();
      ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), kSuccess);
      const bool relaxed = mode == kCaptureRelaxed;
      EXPECT_EQ(allocate(), relaxed ? kSuccess : kCaptureUnsupported);
      EXPECT_EQ(status_of(stream), relaxed ? kCaptureActive : kCaptureBroken);
      EXPECT_EQ(launch(kernel("dot"), stream), relaxed ? kSuccess : kCaptureInvalidated);
      EXPECT_EQ(end(stream), relaxed ? kSuccess : kCaptureInvalidated);
      EXPECT_EQ(fake_cuda_count("capture_violations"), relaxed ? 0 : 1);
      EXPECT_EQ(allocate(), kSuccess);
    })) << mode;
  }
}

TEST(Capture, AnAllocationOfAnotherThreadBreaksAGlobalOne) {
  for (const int mode : {kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed}) {
    EXPECT_TRUE(Machine().run([mode] {
      use_device();
      Stream* stream = new_stream();
      ASSERT_EQ(cuStreamBeginCapture_v2(stream, mode), kSuccess);
      EXPECT_EQ(allocate_elsewhere(kCaptureThreadLocal), kSuccess);
      EXPECT_EQ(allocate_elsewhere(kCaptureRelaxed), kSuccess);
      EXPECT_EQ(status_of(stream), kCaptureActive);
      const bool global = mode == kCaptureGlobal;
      EXPECT_EQ(allocate_elsewhere(kCaptureGlobal), global ? kCaptureUnsupported : kSuccess);
      EXPECT_EQ(end(stream), global ? kCaptureInvalidated : kSuccess);
    })) << mode;
  }
}

TEST(Capture, WaitingAndAskingBreakIt) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    Event* event = new_event();
    const auto begin = [&] {
      EXPECT_EQ(cuStreamBeginCapture_v2(stream, kCaptureRelaxed), kSuccess);
    };
    begin();
    EXPECT_EQ(cuStreamSynchronize(stream), kCaptureUnsupported);
    EXPECT_EQ(end(stream), kCaptureInvalidated);
    begin();
    EXPECT_EQ(cuStreamQuery(stream), kCaptureUnsupported);
    EXPECT_EQ(end(stream), kCaptureInvalidated);
    begin();
    EXPECT_EQ(cuCtxSynchronize(), kCaptureUnsupported);
    EXPECT_EQ(end(stream), kCaptureInvalidated);
    begin();
    EXPECT_EQ(cuEventRecord(event, stream), kSuccess);
    EXPECT_EQ(cuEventQuery(event), kCapturedEvent);
    EXPECT_EQ(end(stream), kCaptureInvalidated);
    EXPECT_EQ(cuEventQuery(event), kCapturedEvent);
    EXPECT_EQ(cuEventRecord(event, stream), kSuccess);
    EXPECT_EQ(cuEventQuery(event), kSuccess);
    EXPECT_EQ(fake_cuda_count("capture_violations"), 4);
  }));
}

TEST(Capture, TheLegacyStreamBreaksThatOfABlockingStream) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* blocking = new_stream(0);
    Stream* free = new_stream();
    EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, kCaptureRelaxed), kCaptureUnsupported);
    ASSERT_EQ(cuStreamBeginCapture_v2(blocking, kCaptureRelaxed), kSuccess);
    ASSERT_EQ(cuStreamBeginCapture_v2(free, kCaptureRelaxed), kSuccess);
    EXPECT_EQ(launch(kernel("dot"), nullptr), kCaptureImplicit);
    EXPECT_EQ(end(blocking), kCaptureInvalidated);
    EXPECT_EQ(launch(kernel("dot"), nullptr), kSuccess);
    EXPECT_EQ(end(free), kSuccess);
  }));
}

TEST(Capture, StreamsJoinByEventsAndMustComeBack) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* origin = new_stream();
    Stream* side = new_stream();
    Event* fork = new_event();
    Event* join = new_event();
    for (const bool comes_back : {true, false}) {
      ASSERT_EQ(cuStreamBeginCapture_v2(origin, kCaptureGlobal), kSuccess);
      EXPECT_EQ(launch(kernel("first"), origin), kSuccess);
      EXPECT_EQ(cuEventRecord(fork, origin), kSuccess);
      EXPECT_EQ(cuStreamWaitEvent(side, fork, 0), kSuccess);
      EXPECT_EQ(status_of(side), kCaptureActive);
      EXPECT_EQ(launch(kernel("second"), side), kSuccess);
      if (comes_back) {
        EXPECT_EQ(cuEventRecord(join, side), kSuccess);
        EXPECT_EQ(cuStreamWaitEvent(origin, join, 0), kSuccess);
      }
      EXPECT_EQ(end(origin), comes_back ? kSuccess : kCaptureUnjoined);
      EXPECT_EQ(status_of(side), kCaptureNone);
    }
  }));
}

TEST(Capture, EndsWhereAndByWhomItBegan) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    EXPECT_EQ(end(stream), kIllegalState);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
    EXPECT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kIllegalState);
    Context* context = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&context), kSuccess);
    std::thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), kSuccess);
      EXPECT_EQ(end(stream), kCaptureWrongThread);
    }).join();
    EXPECT_EQ(end(stream), kSuccess);
  }));
}

TEST(Capture, DoesNotMixWithWorkOutside) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    Event* before = new_event();
    EXPECT_EQ(cuEventRecord(before, stream), kSuccess);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
    EXPECT_EQ(cuStreamWaitEvent(stream, before, 0), kCaptureIsolation);
    EXPECT_EQ(end(stream), kCaptureInvalidated);
  }));
}

}  // namespace
}  // namespace fake_cuda
