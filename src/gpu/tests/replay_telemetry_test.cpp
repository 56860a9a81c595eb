#include "gpu/replay/replay_telemetry.hpp"

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::gpu {
namespace {

// Three readings of GPU 0 at 100, 200, 400 ns; none of GPU 1.
ReplayTelemetry short_replay() {
  TelemetryRecording recording{.recorded = "2026-01-01T00:00:00Z", .gpus = two_fake_gpus()};
  for (const std::int64_t at_ns : {100, 200, 400}) {
    TelemetryReading reading{.gpu = 0};
    reading.sample.at_ns = at_ns;
    if (at_ns > 100) {
      reading.activity = GpuActivity{.span_seconds = 0.5 * static_cast<double>(at_ns)};
    }
    reading.processes = {{.pid = at_ns}};
    recording.readings.push_back(std::move(reading));
  }
  return ReplayTelemetry(std::move(recording));
}

TEST(ReplayTelemetry, BeginsAgainAfterTheLastReadingWithTimeRising) {
  ReplayTelemetry replay = short_replay();
  std::vector<std::int64_t> times;
  for (int i = 0; i < 7; ++i) {
    const auto sample = replay.sample(0);
    times.push_back(sample->at_ns);
  }
  // A lap is the 300 that the recording covers and its mean step of 150.
  EXPECT_EQ(times, (std::vector<std::int64_t>{100, 200, 400, 550, 650, 850, 1000}));
}

TEST(ReplayTelemetry, GivesOneRecordedSpanACallOnceBegun) {
  ReplayTelemetry replay = short_replay();
  EXPECT_FALSE(replay.activity(0)->has_value());
  EXPECT_EQ(replay.activity(0).value()->span_seconds, 100.0);
  EXPECT_EQ(replay.activity(0).value()->span_seconds, 200.0);
  EXPECT_EQ(replay.activity(0).value()->span_seconds, 100.0);
  ReplayTelemetry begun = short_replay();
  ASSERT_TRUE(begun.begin_activity(0).has_value());
  EXPECT_TRUE(begun.activity(0)->has_value());
}

TEST(ReplayTelemetry, GoesThroughSamplesAndProcessesApart) {
  ReplayTelemetry replay = short_replay();
  EXPECT_EQ(replay.sample(0)->at_ns, 100);
  EXPECT_EQ(replay.sample(0)->at_ns, 200);
  EXPECT_EQ(replay.processes(0)->at(0).pid, 100);
}

TEST(ReplayTelemetry, SaysThatAGpuWasNeverRead) {
  ReplayTelemetry replay = short_replay();
  ASSERT_FALSE(replay.sample(1).has_value());
  EXPECT_EQ(replay.sample(1).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(replay.sample(2).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace carpool::gpu
