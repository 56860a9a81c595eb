#include <gtest/gtest.h>

#include "../control.hpp"
#include "green.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

TEST(GreenOrder, EventsOrderItWithTheDefaultStream) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    const Green half(66);
    Event* into = new_event();
    Event* back = half.new_green_event();
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(kernel("spin_1ms"), nullptr, 1), kSuccess);
    EXPECT_EQ(cuEventRecord(into, nullptr), kSuccess);
    EXPECT_EQ(cuStreamWaitEvent(half.stream, into, 0), kSuccess);
    EXPECT_EQ(launch(kernel("spin_2ms"), half.stream, 1), kSuccess);
    EXPECT_EQ(cuEventRecord(back, half.stream), kSuccess);
    EXPECT_EQ(cuStreamWaitEvent(nullptr, back, 0), kSuccess);
    EXPECT_EQ(launch(kernel("spin_4ms"), nullptr, 1), kSuccess);
    EXPECT_EQ(time_until_done(nullptr, before), 7'000'000);
  }));
}

TEST(GreenOrder, AnEventIsRecordedWhereItBelongs) {
  EXPECT_TRUE(Machine("gpus = 2").run([] {
    use_device();
    const Green one(8);
    const Green other(8);
    Event* of_primary = new_event();
    Event* of_one = one.new_green_event();
    EXPECT_EQ(cuEventRecord(of_primary, one.stream), kSuccess);
    EXPECT_EQ(cuEventRecord(of_one, one.stream), kSuccess);
    EXPECT_EQ(cuEventRecord(of_one, other.stream), kInvalidHandle);
    EXPECT_EQ(cuEventRecord(of_one, nullptr), kInvalidHandle);
    EXPECT_EQ(cuGreenCtxRecordEvent(other.handle, of_one), kSuccess);
    use_device(1);
    Event* of_second_device = new_event();
    EXPECT_EQ(cuEventRecord(of_second_device, one.stream), kInvalidHandle);
    EXPECT_EQ(cuGreenCtxRecordEvent(one.handle, of_second_device), kInvalidHandle);
  }));
}

TEST(GreenOrder, AnEventTakesInAllOfItsStreamsAndAllOfThemWaitForOne) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    const Green green(64);
    Stream* second = green.new_green_stream();
    Event* all = green.new_green_event();
    std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(kernel("spin_1ms"), green.stream, 1), kSuccess);
    EXPECT_EQ(launch(kernel("spin_3ms"), second, 1), kSuccess);
    EXPECT_EQ(cuGreenCtxRecordEvent(green.handle, all), kSuccess);
    EXPECT_EQ(cuEventSynchronize(all), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 3'000'000);

    before = fake_cuda_now();
    Event* first = new_event();
    EXPECT_EQ(launch(kernel("spin_2ms"), nullptr, 1), kSuccess);
    EXPECT_EQ(cuEventRecord(first, nullptr), kSuccess);
    EXPECT_EQ(cuGreenCtxWaitEvent(green.handle, first), kSuccess);
    EXPECT_EQ(launch(kernel("spin_1ms"), green.stream, 1), kSuccess);
    Stream* third = green.new_green_stream();
    EXPECT_EQ(launch(kernel("spin_1ms"), third, 1), kSuccess);
    EXPECT_EQ(time_until_done(third, before), 3'000'000);
    EXPECT_EQ(time_until_done(green.stream, before), 3'000'000);
  }));
}

TEST(GreenOrder, TheirWorkIsPartOfThePrimaryContext) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    const Green green(64);
    EXPECT_EQ(launch(kernel("spin_1ms"), green.stream, 1), kSuccess);
    EXPECT_EQ(cuStreamQuery(green.stream), kNotReady);
    EXPECT_EQ(cuCtxSynchronize(), kSuccess);
    EXPECT_EQ(cuStreamQuery(green.stream), kSuccess);
  }));
}

TEST(GreenOrder, ACapturedKernelKeepsItsPart) {
  EXPECT_TRUE(Machine("clock = virtual\nsms = 128").run([] {
    use_device();
    const Green half(64);
    ASSERT_EQ(cuStreamBeginCapture_v2(half.stream, kCaptureGlobal), kSuccess);
    EXPECT_EQ(launch(kernel("spin_1ms"), half.stream, 128), kSuccess);
    Graph* graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(half.stream, &graph), kSuccess);
    GraphExec* exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), kSuccess);
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), kSuccess);
    EXPECT_EQ(time_until_done(nullptr, before), 2'000'000);
    EXPECT_EQ(fake_cuda_count("green_launches"), 0);
  }));
}

TEST(GreenOrder, ACaptureForbidsToMakeOneAndToTakeItsStreamsIn) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const Green green(8);
    Event* event = new_event();
    ResourceDescriptor* descriptor = description_of(group_of(8));
    GreenContext* more = nullptr;
    const auto end = [&] {
      Graph* graph = nullptr;
      return cuStreamEndCapture(green.stream, &graph);
    };
    for (const int mode : {kCaptureGlobal, kCaptureRelaxed}) {
      const bool relaxed = mode == kCaptureRelaxed;
      ASSERT_EQ(cuStreamBeginCapture_v2(green.stream, mode), kSuccess);
      EXPECT_EQ(cuGreenCtxCreate(&more, descriptor, 0, kGreenDefaultStream),
                relaxed ? kSuccess : kCaptureUnsupported);
      EXPECT_EQ(end(), relaxed ? kSuccess : kCaptureInvalidated);
    }
    ASSERT_EQ(cuStreamBeginCapture_v2(green.stream, kCaptureRelaxed), kSuccess);
    EXPECT_EQ(cuGreenCtxRecordEvent(more, event), kSuccess);
    EXPECT_EQ(cuGreenCtxRecordEvent(green.handle, event), kCaptureUnsupported);
    EXPECT_EQ(end(), kCaptureInvalidated);
    ASSERT_EQ(cuStreamBeginCapture_v2(green.stream, kCaptureRelaxed), kSuccess);
    EXPECT_EQ(cuEventRecord(event, green.stream), kSuccess);
    EXPECT_EQ(cuGreenCtxWaitEvent(more, event), kCaptureUnsupported);
    EXPECT_EQ(end(), kCaptureInvalidated);
  }));
}

}  // namespace
}  // namespace fake_cuda
