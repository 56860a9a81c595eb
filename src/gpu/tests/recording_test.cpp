#include "gpu/replay/recording.hpp"

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::gpu {
namespace {

TelemetryReading full_reading(std::int64_t at_ns) {
  return {.gpu = 1,
          .sample = {.at_ns = at_ns,
                     .memory_used_bytes = 5'000'000'000,
                     .gpu_utilisation = 0.98,
                     .memory_utilisation = 0.25,
                     .power_watts = 412.5,
                     .sm_clock_mhz = 1980,
                     .memory_clock_mhz = 3201,
                     .temperature_celsius = 45,
                     .throttle_reasons = {"power-cap"}},
          .activity = GpuActivity{.span_seconds = 0.2,
                                  .graphics_active = 0.9,
                                  .sm_active = 0.8,
                                  .sm_occupancy = 0.4,
                                  .dram_active = 0.3,
                                  .tensor_active = 0.2,
                                  .fp64_active = 0.0,
                                  .fp32_active = 0.1,
                                  .fp16_active = 0.05,
                                  .pcie_read_bytes_per_second = 1e9,
                                  .pcie_write_bytes_per_second = 2e9,
                                  .nvlink_read_bytes_per_second = 3e9,
                                  .nvlink_write_bytes_per_second = 4e9,
                                  .substitute_metrics = {"dram_active: memory utilisation"}},
          .processes = {{.pid = 11, .memory_bytes = 4096, .mps_client = true},
                        {.pid = 12, .memory_bytes = std::nullopt}}};
}

std::string header() {
  auto gpus = two_fake_gpus();
  gpus[1].mig_enabled = true;
  gpus[1].mig = {{.uuid = "MIG-1", .profile = "1g.18gb", .memory_bytes = 1U << 30U}};
  return recording_header("2026-01-01T00:00:00Z", gpus);
}

// The error of a recording of this text.
std::string problem(const std::string& text) {
  const auto parsed = parse_recording(text, "x.jsonl");
  return parsed ? "none" : parsed.error().message;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

TEST(Recording, GivesBackWhatWasWritten) {
  const std::string text = header() + recording_line(full_reading(10)) +
                           recording_line({.gpu = 0, .sample = {.at_ns = 1}});
  const auto parsed = parse_recording(text, "x.jsonl");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->gpus.size(), 2U);
  ASSERT_EQ(parsed->readings.size(), 2U);
  // Writing is a function of every field, so that equal text means equal values.
  EXPECT_EQ(recording_header(parsed->recorded, parsed->gpus), header());
  EXPECT_EQ(recording_line(parsed->readings[0]), recording_line(full_reading(10)));
  EXPECT_EQ(parsed->readings[0].processes[1].memory_bytes, std::nullopt);
  EXPECT_EQ(parsed->readings[1].activity, std::nullopt);
  EXPECT_EQ(parsed->readings[1].sample.power_watts, std::nullopt);
  EXPECT_EQ(parsed->gpus[1].mig.at(0).profile, "1g.18gb");
}

TEST(Recording, NamesFileAndLineOfWhatIsWrong) {
  const std::string good = header() + recording_line(full_reading(10));
  const std::string line = recording_line(full_reading(20));
  EXPECT_EQ(problem(good + "{\n"), "x.jsonl:3: not JSON");
  EXPECT_EQ(problem(good + replaced(line, "\"gpu\":1", "\"gpu\":2")),
            "x.jsonl:3: reading: gpu: 2 is not below 2, the number of GPUs");
  EXPECT_EQ(problem(good + replaced(line, "\"sm_active\":0.8", "\"sm_active\":1.8")),
            "x.jsonl:3: activity: sm_active: expected a number from 0 to 1");
  EXPECT_EQ(problem(good + replaced(line, "power_watts", "power_wats")),
            "x.jsonl:3: sample: unknown key \"power_wats\"; did you mean \"power_watts\"?");
  EXPECT_EQ(problem(good + replaced(line, "\"pid\":11", "\"pid\":\"11\"")),
            "x.jsonl:3: process: pid: expected a whole number, not below 0");
  EXPECT_EQ(problem(good + replaced(line, "\"processes\"", "\"process\"")),
            "x.jsonl:3: reading: processes: is missing");
}

TEST(Recording, RefusesTimeThatDoesNotRise) {
  const std::string text = header() + recording_line(full_reading(10));
  EXPECT_NE(problem(text + recording_line(full_reading(10))).find("time does not increase"),
            std::string::npos);
  EXPECT_EQ(problem(text + recording_line(full_reading(11))), "none");
}

TEST(Recording, SaysThatTheLastLineIsCutOff) {
  std::string text = header() + recording_line(full_reading(10));
  text.pop_back();
  EXPECT_NE(problem(text).find("x.jsonl:2: the last line is incomplete"), std::string::npos);
}

TEST(Recording, RefusesAnotherVersionAndAnotherFormat) {
  const auto newer = parse_recording(replaced(header(), "\"version\":1", "\"version\":2"), "x");
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
  EXPECT_NE(newer.error().message.find("version 2"), std::string::npos);
  EXPECT_NE(problem("[1]\n").find("not a recording"), std::string::npos);
  EXPECT_NE(problem("").find("empty"), std::string::npos);
}

}  // namespace
}  // namespace carpool::gpu
