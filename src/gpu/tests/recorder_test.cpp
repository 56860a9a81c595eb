#include "gpu/replay/recorder.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"
#include "gpu/fake/fake_telemetry.hpp"
#include "gpu/replay/recording.hpp"

namespace carpool::gpu {
namespace {

using namespace std::chrono_literals;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override { fake_.advance(1s); }

  // Records this many readings of every GPU, 200 ms apart.
  Result<void> record(TelemetrySource& source, int readings) {
    auto recorder = Recorder::open(source, file_);
    if (!recorder) {
      return tl::unexpected(recorder.error());
    }
    for (int i = 0; i < readings; ++i) {
      fake_.advance(200ms);
      if (auto taken = recorder->take(); !taken) {
        return taken;
      }
    }
    return {};
  }

  FakeTelemetry fake_{two_fake_gpus()};
  TemporaryFolder temporary_;
  std::filesystem::path file_ = temporary_.path() / "r.jsonl";
};

TEST_F(RecorderTest, WritesWhatAReplayReads) {
  fake_.set_sample(1, {.memory_used_bytes = 77});
  ASSERT_TRUE(record(fake_, 3).has_value());
  const auto recording = load_recording(file_);
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  ASSERT_EQ(recording->readings.size(), 6U);
  EXPECT_EQ(recording->gpus.at(1).name, "Fake H200");
  EXPECT_EQ(recording->readings[1].gpu, 1U);
  EXPECT_EQ(recording->readings[1].sample.memory_used_bytes, 77U);
  EXPECT_FALSE(recording->readings[1].activity.has_value());
  ASSERT_TRUE(recording->readings[3].activity.has_value());
  EXPECT_DOUBLE_EQ(recording->readings[3].activity->span_seconds, 0.2);
}

TEST_F(RecorderTest, GoesOnWithARecordingOfTheSameGpus) {
  ASSERT_TRUE(record(fake_, 2).has_value());
  ASSERT_TRUE(record(fake_, 1).has_value());
  EXPECT_EQ(load_recording(file_)->readings.size(), 6U);
}

TEST_F(RecorderTest, RefusesOtherGpusAnEarlierStartAndForeignFiles) {
  ASSERT_TRUE(record(fake_, 1).has_value());
  const auto before = read_file(file_);

  auto other = two_fake_gpus();
  other[0].uuid = "GPU-another";
  FakeTelemetry other_gpus(other);
  EXPECT_NE(record(other_gpus, 1).error().message.find("other GPUs"), std::string::npos);
  FakeTelemetry restarted(two_fake_gpus());
  EXPECT_NE(record(restarted, 1).error().message.find("before the last boot"), std::string::npos);
  EXPECT_EQ(read_file(file_).value(), before.value());

  ASSERT_TRUE(write_file(file_, "my thesis\n").has_value());
  EXPECT_FALSE(record(fake_, 1).has_value());
  EXPECT_EQ(read_file(file_).value(), "my thesis\n");
}

TEST_F(RecorderTest, WritesNothingOfAReadingThatFailed) {
  ASSERT_TRUE(record(fake_, 1).has_value());
  fake_.break_gpu(1, {ErrorCode::Internal, "lost"});
  EXPECT_EQ(record(fake_, 1).error().message, "lost");
}

TEST_F(RecorderTest, SaysThatThereIsNothingToRecord) {
  FakeTelemetry none({});
  EXPECT_EQ(record(none, 1).error().code, ErrorCode::Unsupported);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace carpool::gpu
