#include <memory>

#include <gtest/gtest.h>

#include "../device/model.hpp"

namespace fake_cuda {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class Device {
 public:
  explicit Device(Rules rules = {}) : rules_(rules) { model().advance(1); }

  int submit(std::int32_t client,
             std::uint32_t blocks,
             std::int64_t ns,
             std::int32_t priority = 0,
             Part part = {}) {
    const auto work = model().submit(
        {.client = client, .priority = priority, .blocks = blocks, .ns = ns, .part = part});
    EXPECT_TRUE(work.has_value());
    return *work;
  }
  // Runs the device from event to event, and tells when the work ends, since the device began.
  std::int64_t end_of(int work) {
    while (at(work).state == WorkState::Running) {
      const auto next = model().next_event();
      EXPECT_TRUE(next.has_value());
      model().advance(std::max(*next, gpu_->now));
    }
    return at(work).end - 1;
  }
  void run(std::int64_t ns) { model().advance(gpu_->now + ns); }
  void drop(std::int32_t client) { model().drop(client); }
  void limit(std::size_t client, std::uint32_t sms) { clients_->at(client).sm_limit = sms; }
  [[nodiscard]] std::uint64_t switches() const { return gpu_->switches; }

 private:
  DeviceModel model() { return {*gpu_, rules_, *clients_}; }
  Work& at(int work) { return gpu_->works.at(static_cast<std::size_t>(work)); }

  Rules rules_;
  std::unique_ptr<Gpu> gpu_ = std::make_unique<Gpu>();
  std::unique_ptr<std::array<Client, kMaxClients>> clients_ =
      std::make_unique<std::array<Client, kMaxClients>>();
};

Rules timeslice() {
  return {.timeslice = true, .slice_ns = 2 * kMs, .switch_ns = kMs / 10};
}

TEST(DeviceModel, AWorkTakesItsOwnLength) {
  Device device;
  EXPECT_EQ(device.end_of(device.submit(0, 132, 5 * kMs)), 5 * kMs);
  EXPECT_EQ(device.end_of(device.submit(0, 1320, 5 * kMs)), 10 * kMs);
  EXPECT_EQ(device.end_of(device.submit(0, 1, 5 * kMs)), 15 * kMs);
}

TEST(DeviceModel, SmallWorksRunSideBySide) {
  Device device;
  const int first = device.submit(0, 60, 5 * kMs);
  const int second = device.submit(1, 60, 3 * kMs);
  EXPECT_EQ(device.end_of(second), 3 * kMs);
  EXPECT_EQ(device.end_of(first), 5 * kMs);
}

// 1,320 blocks of 0.5 ms each. Together both have 20 waves; half of each wave is of the other.
TEST(DeviceModel, LargeWorksShareTheDevice) {
  Device device;
  const int first = device.submit(0, 1320, 5 * kMs);
  const int second = device.submit(1, 1320, 5 * kMs);
  EXPECT_EQ(device.end_of(first), 10 * kMs - kMs / 2);
  EXPECT_EQ(device.end_of(second), 10 * kMs);
}

// Priority does not interrupt a block: it waits as long as a block of the other lasts.
TEST(DeviceModel, APriorityWaitsForRunningBlocksOnly) {
  Device persistent;
  persistent.submit(0, 132, 2 * kMs);
  persistent.run(kMs / 2);
  EXPECT_EQ(persistent.end_of(persistent.submit(1, 132, kMs / 100, -1)), 2 * kMs + kMs / 100);

  Device waves;
  waves.submit(0, 1320, 2 * kMs);  // blocks of 0.2 ms
  waves.run(kMs / 2);
  EXPECT_EQ(waves.end_of(waves.submit(1, 132, kMs / 100, -1)), kMs * 6 / 10 + kMs / 100);
}

TEST(DeviceModel, AThreadLimitMakesMoreWaves) {
  Device device;
  device.limit(0, 66);
  EXPECT_EQ(device.end_of(device.submit(0, 132, 2 * kMs)), 4 * kMs);
}

TEST(DeviceModel, AThreadLimitHoldsForAllWorksOfTheProcess) {
  Device device;
  device.limit(0, 66);
  device.submit(0, 66, 2 * kMs);
  EXPECT_EQ(device.end_of(device.submit(0, 66, 2 * kMs)), 4 * kMs);
}

TEST(DeviceModel, APartMakesMoreWaves) {
  Device device;
  EXPECT_EQ(device.end_of(device.submit(0, 132, 2 * kMs, 0, {1, 66})), 4 * kMs);
  EXPECT_EQ(device.end_of(device.submit(0, 66, 2 * kMs, 0, {1, 66})), 6 * kMs);
}

TEST(DeviceModel, WorksOfOnePartShareItAndThoseOfOthersDoNot) {
  for (const std::uint64_t other : {1U, 2U}) {
    Device device;
    const int first = device.submit(0, 44, 2 * kMs, 0, {1, 44});
    const int second = device.submit(0, 44, 2 * kMs, 0, {other, 44});
    const int third = device.submit(1, 44, 2 * kMs, 0, {1, 44});
    EXPECT_EQ(device.end_of(first), 2 * kMs);
    EXPECT_EQ(device.end_of(third), 2 * kMs);
    EXPECT_EQ(device.end_of(second), (other == 1 ? 4 : 2) * kMs);
  }
}

TEST(DeviceModel, CopiesDoNotContend) {
  Device device;
  const int kernel = device.submit(0, 132, 4 * kMs);
  EXPECT_EQ(device.end_of(device.submit(1, 0, kMs)), kMs);
  EXPECT_EQ(device.end_of(kernel), 4 * kMs);
}

TEST(DeviceModel, ProcessesTakeTurnsUnderTimeslice) {
  Device device(timeslice());
  const int first = device.submit(0, 10, 5 * kMs);
  const int second = device.submit(1, 10, 3 * kMs);
  // 2 of first, 2 of second, 2 of first, 1 of second, 1 of first; four changes of 0.1 ms.
  EXPECT_EQ(device.end_of(second), 7 * kMs + 3 * kMs / 10);
  EXPECT_EQ(device.end_of(first), 8 * kMs + 4 * kMs / 10);
  EXPECT_EQ(device.switches(), 4);
}

TEST(DeviceModel, OneProcessKeepsTheDevice) {
  Device device(timeslice());
  EXPECT_EQ(device.end_of(device.submit(3, 132, 9 * kMs)), 9 * kMs);
  EXPECT_EQ(device.switches(), 0);
}

TEST(DeviceModel, ADroppedProcessLeavesTheDevice) {
  for (const Rules& rules : {Rules{}, timeslice()}) {
    Device device(rules);
    device.submit(0, 1320, 100 * kMs);
    const int second = device.submit(1, 132, kMs);
    device.drop(0);
    EXPECT_LE(device.end_of(second), kMs + kMs / 10);
  }
}

}  // namespace
}  // namespace fake_cuda
