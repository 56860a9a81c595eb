#include "gpu/fake/fake_telemetry.hpp"

#include <gtest/gtest.h>

namespace carpool::gpu {
namespace {

using namespace std::chrono_literals;

TEST(FakeTelemetry, AnswersWhatWasSetAtTheTimeThatItWasMovedTo) {
  FakeTelemetry fake(two_fake_gpus());
  fake.set_sample(1, {.at_ns = 7, .memory_used_bytes = 42, .power_watts = 300.0});
  fake.advance(3ms);
  const auto sample = fake.sample(1);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->memory_used_bytes, 42U);
  EXPECT_EQ(sample->power_watts, 300.0);
  EXPECT_EQ(sample->at_ns, 3'000'000);
  EXPECT_EQ(fake.sample(0)->memory_used_bytes, 0U);
}

TEST(FakeTelemetry, SpansEndWhereTheNextBegins) {
  FakeTelemetry fake(two_fake_gpus());
  ASSERT_TRUE(fake.begin_activity(0).has_value());
  fake.advance(99ms);
  EXPECT_FALSE(fake.activity(0)->has_value());
  fake.advance(101ms);
  EXPECT_DOUBLE_EQ(fake.activity(0).value()->span_seconds, 0.2);
  fake.advance(100ms);
  EXPECT_DOUBLE_EQ(fake.activity(0).value()->span_seconds, 0.1);
}

TEST(FakeTelemetry, ABrokenGpuFailsAloneUntilItIsHealed) {
  FakeTelemetry fake(two_fake_gpus());
  fake.break_gpu(0, {ErrorCode::Internal, "lost"});
  EXPECT_EQ(fake.sample(0).error().message, "lost");
  EXPECT_EQ(fake.processes(0).error().message, "lost");
  EXPECT_TRUE(fake.sample(1).has_value());
  fake.heal(0);
  EXPECT_TRUE(fake.sample(0).has_value());
}

}  // namespace
}  // namespace carpool::gpu
