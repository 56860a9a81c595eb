#include <cstdlib>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../control.hpp"
#include "green.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

// A child tells the parent something; the parent waits for it.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  void give() const { EXPECT_EQ(::write(ends_[1], "", 1), 1); }
  void wait() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(Contention, AProcessThatIsKilledGivesItsMemoryBack) {
  const Machine machine("memory = 16");
  const Signal allocated;
  const pid_t holder = machine.start([&] {
    use_device();
    DevicePtr address = 0;
    ASSERT_EQ(cuMemAlloc_v2(&address, 12 * kMiB), kSuccess);
    allocated.give();
    ::pause();
  });
  allocated.wait();
  EXPECT_TRUE(machine.run([&] {
    use_device();
    EXPECT_EQ(free_bytes(), 4 * kMiB);
    DevicePtr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, 8 * kMiB), kOutOfMemory);
    EXPECT_EQ(::kill(holder, SIGKILL), 0);
    // The process is a zombie from here on: its parent has not waited for it.
    while (free_bytes() < 16 * kMiB) {
      ::sched_yield();
    }
    EXPECT_EQ(cuMemAlloc_v2(&address, 8 * kMiB), kSuccess);
    EXPECT_EQ(fake_cuda_total("allocations"), 2);
  }));
  EXPECT_EQ(::waitpid(holder, nullptr, 0), holder);
}

// Without the kill, the device would be busy for an hour.
TEST(Contention, AProcessThatIsKilledGivesTheDeviceBack) {
  for (const char* mode : {"mode = mps", "mode = timeslice\nslice_us = 3600000000"}) {
    const Machine machine(mode);
    const Signal launched;
    const pid_t holder = machine.start([&] {
      use_device();
      EXPECT_EQ(launch(kernel("spin_3600000ms"), nullptr), kSuccess);
      launched.give();
      ::pause();
    });
    launched.wait();
    EXPECT_TRUE(machine.run([&] {
      use_device();
      EXPECT_EQ(launch(kernel("spin_10us"), nullptr), kSuccess);
      EXPECT_EQ(cuStreamQuery(nullptr), kNotReady);
      EXPECT_EQ(::kill(holder, SIGKILL), 0);
      EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
    })) << mode;
    EXPECT_EQ(::waitpid(holder, nullptr, 0), holder);
  }
}

TEST(Contention, ProcessesNeverHoldMoreThanTheDeviceHas) {
  const Machine machine("memory = 16");
  constexpr std::size_t kProcesses = 8;
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  for (std::size_t number = 0; number < kProcesses; ++number) {
    children.push_back(machine.start([] {
      use_device();
      std::vector<DevicePtr> held;
      for (int round = 0; round < 200; ++round) {
        DevicePtr address = 0;
        if (cuMemAlloc_v2(&address, kMiB) == kSuccess) {
          held.push_back(address);
        } else {
          for (const DevicePtr each : held) {
            EXPECT_EQ(cuMemFree_v2(each), kSuccess);
          }
          held.clear();
        }
      }
      EXPECT_LE(fake_cuda_count("allocated_peak"), 16 * kMiB);
    }));
  }
  for (const pid_t child : children) {
    EXPECT_TRUE(Machine::ended_well(child));
  }
  EXPECT_TRUE(machine.run([] {
    use_device();
    EXPECT_EQ(free_bytes(), 16 * kMiB);
    EXPECT_EQ(fake_cuda_total("allocations") + fake_cuda_total("refused_allocations"), 1600);
  }));
}

// The kernel of the second process waits until the first one's blocks have ended.
TEST(Contention, KernelsOfTwoProcessesShareTheDevice) {
  const Machine machine("clock = virtual");
  const Signal launched;
  const Signal end;
  const pid_t first = machine.start([&] {
    use_device();
    EXPECT_EQ(launch(kernel("spin_2ms"), nullptr), kSuccess);
    launched.give();
    end.wait();
  });
  launched.wait();
  EXPECT_TRUE(machine.run([&] {
    use_device();
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(kernel("spin_1ms"), nullptr), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 3'000'000);
  }));
  end.give();
  EXPECT_TRUE(Machine::ended_well(first));
}

// Without the green context the kernel would wait for a block of the flood.
TEST(Contention, AConfinedFloodDoesNotDelayAShortKernel) {
  for (const bool confined : {false, true}) {
    const Machine machine("clock = virtual");
    const Signal launched;
    const Signal end;
    const pid_t flood = machine.start([&] {
      use_device();
      const Green half(66);
      for (int each = 0; each < 3; ++each) {
        EXPECT_EQ(launch(kernel("spin_2ms"), confined ? half.stream : nullptr, 132), kSuccess);
      }
      launched.give();
      end.wait();
    });
    launched.wait();
    EXPECT_TRUE(machine.run([&] {
      use_device();
      const std::int64_t before = fake_cuda_now();
      EXPECT_EQ(launch(kernel("spin_10us"), nullptr, 60), kSuccess);
      EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
      EXPECT_EQ(fake_cuda_now() - before, confined ? 10'000 : 2'010'000);
    }));
    end.give();
    EXPECT_TRUE(Machine::ended_well(flood));
  }
}

TEST(Contention, AProcessTakesItsThreadLimitFromMps) {
  const Machine machine("clock = virtual");
  EXPECT_TRUE(machine.run([] {
    ASSERT_EQ(::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1), 0);
    use_device();
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(kernel("spin_2ms"), nullptr), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 4'000'000);
  }));
}

// Ten waves of 0.2 ms are under way: an equal shares the second one, a client of lower priority
// waits for the last.
TEST(Contention, AProcessTakesItsPriorityFromMps) {
  for (const bool lower : {false, true}) {
    const Machine machine("clock = virtual");
    const Signal launched;
    const Signal end;
    const pid_t first = machine.start([&] {
      use_device();
      EXPECT_EQ(launch(kernel("spin_2ms"), nullptr, 1320), kSuccess);
      launched.give();
      end.wait();
    });
    launched.wait();
    EXPECT_TRUE(machine.run([&] {
      ASSERT_EQ(::setenv("CUDA_MPS_CLIENT_PRIORITY", lower ? "1" : "0", 1), 0);
      use_device();
      const std::int64_t before = fake_cuda_now();
      EXPECT_EQ(launch(kernel("spin_1ms"), nullptr, 66), kSuccess);
      EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
      EXPECT_EQ(fake_cuda_now() - before, lower ? 3'000'000 : 1'200'000);
    }));
    end.give();
    EXPECT_TRUE(Machine::ended_well(first));
  }
}

TEST(Contention, CountsSurviveTheProcess) {
  const Machine machine;
  for (int number = 0; number < 3; ++number) {
    EXPECT_TRUE(machine.run([] {
      use_device();
      EXPECT_EQ(launch(kernel("dot"), nullptr), kSuccess);
      EXPECT_EQ(fake_cuda_count("kernel_launches"), 1);
    }));
  }
  EXPECT_TRUE(machine.run([] {
    use_device();
    EXPECT_EQ(fake_cuda_total("kernel_launches"), 3);
  }));
}

}  // namespace
}  // namespace fake_cuda
