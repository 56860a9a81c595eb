#include <atomic>
#include <functional>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../abi/functions.hpp"
#include "../control.hpp"
#include "calls.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

float time_of(const std::function<void()>& part) {
  Event* from = nullptr;
  Event* to = nullptr;
  EXPECT_EQ(cuEventCreate(&from, 0), kSuccess);
  EXPECT_EQ(cuEventCreate(&to, 0), kSuccess);
  EXPECT_EQ(cuEventRecord(from, nullptr), kSuccess);
  part();
  EXPECT_EQ(cuEventRecord(to, nullptr), kSuccess);
  EXPECT_EQ(cuEventSynchronize(to), kSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), kSuccess);
  return milliseconds;
}

TEST(Streams, NothingWorksBeforeInit) {
  EXPECT_TRUE(Machine().run([] {
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), kNotInitialized);
    DevicePtr address = 0;
    ASSERT_EQ(cuInit(0), kSuccess);
    EXPECT_EQ(cuMemAlloc_v2(&address, 16), kInvalidContext);
  }));
}

TEST(Streams, CopiesSetsAndKernelsActInOrder) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    DevicePtr number = 0;
    ASSERT_EQ(cuMemAlloc_v2(&number, 8), kSuccess);
    EXPECT_EQ(cuMemsetD32_v2(number, 0, 2), kSuccess);
    void* parameters[] = {&number};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(
          cuLaunchKernel(kernel("increment"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
          kSuccess);
    }
    std::uint64_t value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, number, 8), kSuccess);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 3);
    EXPECT_EQ(fake_cuda_count("copies"), 1);
    EXPECT_EQ(fake_cuda_count("copy_bytes"), 8);
    EXPECT_EQ(fake_cuda_count("set_bytes"), 8);
    EXPECT_EQ(fake_cuda_calls("cuLaunchKernel"), 3);
    EXPECT_EQ(fake_cuda_calls("cuLaunchKernel_ptsz"), 0);
  }));
}

TEST(Streams, KernelsTakeTheLengthOfTheirName) {
  EXPECT_TRUE(Machine("clock = virtual\nkernel.dot = 40").run([] {
    use_device();
    EXPECT_FLOAT_EQ(time_of([] {
                      launch(kernel("spin_500us"), nullptr);
                      launch(kernel("dot"), nullptr);
                    }),
                    0.540F);
  }));
}

TEST(Streams, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    Stream* blocking = nullptr;
    Stream* free = nullptr;
    ASSERT_EQ(cuStreamCreate(&blocking, 0), kSuccess);
    ASSERT_EQ(cuStreamCreate(&free, kNonBlocking), kSuccess);
    EXPECT_FLOAT_EQ(time_of([&] { launch(kernel("spin_2ms"), blocking, 1); }), 2.0F);
    EXPECT_FLOAT_EQ(time_of([&] { launch(kernel("spin_3ms"), free, 1); }), 0.0F);
    EXPECT_EQ(cuStreamQuery(free), kNotReady);
    EXPECT_EQ(cuCtxSynchronize(), kSuccess);
    EXPECT_EQ(cuStreamQuery(free), kSuccess);
  }));
}

TEST(Streams, AnEventOrdersTwoStreams) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    Stream* first = nullptr;
    Stream* second = nullptr;
    Event* event = nullptr;
    ASSERT_EQ(cuStreamCreate(&first, kNonBlocking), kSuccess);
    ASSERT_EQ(cuStreamCreate(&second, kNonBlocking), kSuccess);
    ASSERT_EQ(cuEventCreate(&event, 0), kSuccess);
    const std::int64_t before = fake_cuda_now();
    launch(kernel("spin_1ms"), first, 1);
    EXPECT_EQ(cuEventRecord(event, first), kSuccess);
    EXPECT_EQ(cuStreamWaitEvent(second, event, 0), kSuccess);
    launch(kernel("spin_1ms"), second, 1);
    EXPECT_EQ(cuStreamSynchronize(second), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 2'000'000);
  }));
}

TEST(Streams, HostFunctionsAndValuesComeAfterTheKernel) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, kNonBlocking), kSuccess);
    static std::thread::id caller;
    alignas(8) static std::uint64_t word = 0;
    launch(kernel("spin_100us"), stream);
    EXPECT_EQ(cuLaunchHostFunc(
                  stream, [](void*) { caller = std::this_thread::get_id(); }, nullptr),
              kSuccess);
    EXPECT_EQ(cuStreamWriteValue64_v2(stream, reinterpret_cast<DevicePtr>(&word), 7, 0), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(word, 7);
    EXPECT_NE(caller, std::thread::id());
    EXPECT_NE(caller, std::this_thread::get_id());
  }));
}

TEST(Streams, AStreamWaitsForAValueOfTheHost) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, kNonBlocking), kSuccess);
    alignas(4) static std::atomic<std::uint32_t> word = 0;
    EXPECT_EQ(cuStreamWaitValue32_v2(stream, reinterpret_cast<DevicePtr>(&word), 5, 0), kSuccess);
    launch(kernel("dot"), stream);
    EXPECT_EQ(cuStreamQuery(stream), kNotReady);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 0);
    word = 6;
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 1);
  }));
}

TEST(Streams, OneConnectionIsOneQueueForEachPriority) {
  for (const bool one : {false, true}) {
    EXPECT_TRUE(Machine("clock = virtual\nsms = 8").run([one] {
      ASSERT_EQ(::setenv("CUDA_DEVICE_MAX_CONNECTIONS", one ? "1" : "8", 1), 0);
      use_device();
      Stream* waiting = nullptr;
      Stream* other = nullptr;
      Stream* urgent = nullptr;
      ASSERT_EQ(cuStreamCreate(&waiting, kNonBlocking), kSuccess);
      ASSERT_EQ(cuStreamCreate(&other, kNonBlocking), kSuccess);
      ASSERT_EQ(cuStreamCreateWithPriority(&urgent, kNonBlocking, -1), kSuccess);
      alignas(4) static std::atomic<std::uint32_t> word = 0;
      EXPECT_EQ(cuStreamWaitValue32_v2(waiting, reinterpret_cast<DevicePtr>(&word), 1, 0),
                kSuccess);
      for (Stream* const stream : {waiting, other, urgent}) {
        EXPECT_EQ(launch(kernel("spin_10us"), stream), kSuccess);
      }
      fake_cuda_pass_time(1'000'000);
      EXPECT_EQ(cuStreamQuery(waiting), kNotReady);
      EXPECT_EQ(cuStreamQuery(other), one ? kNotReady : kSuccess);
      EXPECT_EQ(cuStreamQuery(urgent), kSuccess);
      word = 1;
      EXPECT_EQ(cuStreamSynchronize(waiting), kSuccess);
      EXPECT_EQ(cuStreamSynchronize(other), kSuccess);
    }));
  }
}

TEST(Streams, HandleZeroOfTheTwinsIsAStreamOfTheThread) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    unsigned long long legacy = 0;
    unsigned long long mine = 0;
    unsigned long long others = 0;
    EXPECT_EQ(cuStreamGetId(nullptr, &legacy), kSuccess);
    EXPECT_EQ(cuStreamGetId_ptsz(nullptr, &mine), kSuccess);
    Context* context = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&context), kSuccess);
    std::thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), kSuccess);
      EXPECT_EQ(cuStreamGetId_ptsz(nullptr, &others), kSuccess);
    }).join();
    EXPECT_NE(legacy, mine);
    EXPECT_NE(mine, others);
  }));
}

// The driver's thread looks for the dead every 20 ms; a kernel that follows another one must not
// wait for that.
TEST(Streams, KernelsFollowEachOtherAtOnce) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const float milliseconds = time_of([] {
      for (int each = 0; each < 200; ++each) {
        EXPECT_EQ(launch(kernel("spin_10us"), nullptr), kSuccess);
      }
    });
    EXPECT_GE(milliseconds, 2.0F);
    EXPECT_LT(milliseconds, 2000.0F);
  }));
}

TEST(Streams, AForkedChildHasNoDriver) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    DevicePtr address = 0;
    ASSERT_EQ(cuMemAlloc_v2(&address, 1 << 20), kSuccess);
    const pid_t child = ::fork();
    if (child == 0) {
      DevicePtr more = 0;
      ::_exit(cuInit(0) == kNotInitialized && cuMemAlloc_v2(&more, 16) == kNotInitialized ? 0 : 1);
    }
    EXPECT_TRUE(Machine::ended_well(child));
    EXPECT_EQ(fake_cuda_count("allocated_bytes"), 1 << 20);
    EXPECT_EQ(cuMemFree_v2(address), kSuccess);
  }));
}

}  // namespace
}  // namespace fake_cuda
