// The count of best-effort work in flight, over a driver of three functions.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "interpose/library/devices.hpp"
#include "interpose/library/gating/work_in_flight.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

// What the library's other parts define.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,*-avoid-c-arrays)
constinit thread_local char thread_mark = 0;
constinit std::atomic<std::uint32_t> captures{0};
void* carpool_driver_slots[kSymbols];
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,*-avoid-c-arrays)
Handle thread_context() {
  static int context = 0;
  return &context;
}

namespace {

using gate::kMicrosecond;
using gate::Nanoseconds;

constexpr Status kNotDone = 600;  // CUDA_ERROR_NOT_READY
std::uintptr_t last_event = 0;    // NOLINT: functions of a driver have no object
std::set<Handle> unfinished;      // NOLINT: events

Status create(Handle* event, unsigned /*flags*/) {
  *event = reinterpret_cast<Handle>(++last_event);  // NOLINT(performance-no-int-to-ptr)
  return kSuccess;
}
Status record(Handle event, Handle /*stream*/) {
  unfinished.insert(event);
  return kSuccess;
}
Status query(Handle event) {
  return unfinished.contains(event) ? kNotDone : kSuccess;
}

class ShimInFlight : public testing::Test {
 protected:
  void SetUp() override {
    last_event = 0;
    unfinished.clear();
    set(Symbol::cuEventCreate, create);
    set(Symbol::cuEventRecord, record);
    set(Symbol::cuEventQuery, query);
  }
  template <class Function>
  static void set(Symbol symbol, Function* function) {
    carpool_driver_slots[static_cast<std::size_t>(symbol)] = reinterpret_cast<void*>(function);
  }

  // A kernel with a bound of 1 ms, in a batch of its own.
  void launch(Nanoseconds now) {
    work_.add({}, {.expected_ns = 800 * kMicrosecond, .bound_ns = 1000 * kMicrosecond}, now);
    work_.mark({}, 0);
  }
  static void oldest_is_done() { unfinished.erase(unfinished.begin()); }

  WorkInFlight work_;
};

TEST_F(ShimInFlight, EndsWhenItsBoundsAreOver) {
  EXPECT_EQ(work_.began(), gate::kNever);
  launch(100 * kMicrosecond);
  EXPECT_EQ(work_.began(), 100 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(600 * kMicrosecond), 500 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(1600 * kMicrosecond), 0);
  launch(600 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(600 * kMicrosecond), 1500 * kMicrosecond);
  // The first one is late: the second has not begun.
  EXPECT_EQ(work_.ends_in(5000 * kMicrosecond), 1000 * kMicrosecond);
  oldest_is_done();
  oldest_is_done();
  work_.reclaim(5000 * kMicrosecond);
  EXPECT_EQ(work_.commands(), 0U);
  EXPECT_EQ(work_.bound(), 0);
  EXPECT_EQ(work_.began(), gate::kNever);
}

TEST_F(ShimInFlight, CountsSmsInFlightAndWhatIsDone) {
  work_.add({}, {.expected_ns = 300, .bound_ns = 400, .sms = 100}, 0);
  work_.add({}, {.expected_ns = 30, .bound_ns = 40, .sms = 66}, 0);
  work_.mark({}, 0);
  work_.add({}, {.expected_ns = 7, .bound_ns = 8, .sms = 10}, 0);
  work_.mark({}, 0);
  EXPECT_EQ(work_.sms(), 176U);
  EXPECT_EQ(work_.take_finished(), 0);
  oldest_is_done();
  work_.reclaim(kMicrosecond);
  EXPECT_EQ(work_.sms(), 10U);
  EXPECT_EQ(work_.take_finished(), 330);
  EXPECT_EQ(work_.take_finished(), 0);
}

TEST_F(ShimInFlight, WhatIsDoneSoonLetsTheRestBeginSooner) {
  launch(0);
  launch(0);
  oldest_is_done();
  work_.reclaim(300 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(300 * kMicrosecond), 1000 * kMicrosecond);
  EXPECT_EQ(work_.likely_due(), 1100 * kMicrosecond);
}

TEST_F(ShimInFlight, WhatWasSeenToRunPastItsBoundLetsTheRestBeginLater) {
  launch(0);
  launch(0);
  work_.reclaim(1900 * kMicrosecond);  // the first one runs
  oldest_is_done();
  work_.reclaim(1910 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(1910 * kMicrosecond), 990 * kMicrosecond);
  EXPECT_EQ(work_.likely_due(), 2700 * kMicrosecond);
}

TEST_F(ShimInFlight, WhatWasNotLookedAtMayHaveBegunInTime) {
  launch(0);
  launch(0);
  oldest_is_done();
  work_.reclaim(1910 * kMicrosecond);
  EXPECT_EQ(work_.ends_in(1910 * kMicrosecond), 90 * kMicrosecond);
}

}  // namespace
}  // namespace carpool::interpose
