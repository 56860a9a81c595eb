#include "measure/journal.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool::measure {
namespace {

JournalOrigin origin() {
  return {.plan = "p", .gpu = "H200", .driver = "580.1", .throughput_unit = "samples/s"};
}

MemberResult member(const std::string& workload, double throughput) {
  MemberResult out;
  out.workload = workload;
  out.throughput = throughput;
  return out;
}

Measurement full_measurement() {
  Measurement out;
  out.key = "pairs mps a@25!low+b #2";
  out.table = "pairs";
  out.mechanism = "mps";
  out.repeat = 2;
  out.at = "2026-11-15T08:30:00Z";
  out.seconds = 1.25;
  out.spent_seconds = 2.125;
  out.members = {member("a", 1.0 / 3.0), member("b", 1e300)};
  out.members[0].thread_percentage = 25.0;
  out.members[0].low_priority = true;
  out.members[0].steps = {.steps_per_second = 3.5, .p50 = 0.1, .p95 = 0.2, .p99 = 0.3, .steps = 17};
  out.members[0].memory_bytes = std::uint64_t{1} << 40U;
  out.activity.span_seconds = 1.5;
  out.activity.graphics_active = 0.01;
  out.activity.sm_active = 0.02;
  out.activity.sm_occupancy = 0.03;
  out.activity.dram_active = 0.04;
  out.activity.tensor_active = 0.05;
  out.activity.fp64_active = 0.06;
  out.activity.fp32_active = 0.07;
  out.activity.fp16_active = 0.08;
  out.activity.pcie_read_bytes_per_second = 9.0;
  out.activity.pcie_write_bytes_per_second = 10.0;
  out.activity.nvlink_read_bytes_per_second = 11.0;
  out.activity.nvlink_write_bytes_per_second = 12.0;
  out.activity.substitute_metrics = {"sm_active: GPU utilisation"};
  out.gpu_utilisation = 0.13;
  out.memory_utilisation = 0.14;
  out.power_watts = 15.0;
  out.energy_joules = 16.0;
  out.sm_clock_mhz = 17.0;
  out.throttle_reasons = {"power-cap", "thermal"};
  return out;
}

class JournalTest : public testing::Test {
 protected:
  [[nodiscard]] Journal opened() const {
    auto journal = Journal::open(file_, origin());
    EXPECT_TRUE(journal.has_value()) << journal.error().message;
    return std::move(*journal);
  }
  void append_bytes(const std::string& bytes) const {
    std::ofstream(file_, std::ios::app) << bytes;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "measurements.jsonl";
};

TEST_F(JournalTest, GivesBackEveryField) {
  const Measurement in = full_measurement();
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.append(in).has_value());
  }
  const Journal again = opened();
  EXPECT_EQ(again.origin().gpu, "H200");
  ASSERT_EQ(again.measurements().size(), 1U);
  const Measurement& out = again.measurements().front();
  EXPECT_EQ(out.key, in.key);
  EXPECT_EQ(out.table, in.table);
  EXPECT_EQ(out.mechanism, in.mechanism);
  EXPECT_EQ(out.repeat, in.repeat);
  EXPECT_EQ(out.at, in.at);
  EXPECT_EQ(out.seconds, in.seconds);
  EXPECT_EQ(out.spent_seconds, in.spent_seconds);
  ASSERT_EQ(out.members.size(), 2U);
  EXPECT_EQ(out.members[0].workload, "a");
  EXPECT_EQ(out.members[0].throughput, 1.0 / 3.0);
  EXPECT_EQ(out.members[0].thread_percentage, 25.0);
  EXPECT_TRUE(out.members[0].low_priority);
  EXPECT_EQ(out.members[0].steps.steps_per_second, 3.5);
  EXPECT_EQ(out.members[0].steps.p50, 0.1);
  EXPECT_EQ(out.members[0].steps.p95, 0.2);
  EXPECT_EQ(out.members[0].steps.p99, 0.3);
  EXPECT_EQ(out.members[0].steps.steps, 17U);
  EXPECT_EQ(out.members[0].memory_bytes, std::uint64_t{1} << 40U);
  EXPECT_EQ(out.members[1].throughput, 1e300);
  EXPECT_FALSE(out.members[1].low_priority);
  EXPECT_FALSE(out.members[1].memory_bytes.has_value());
  EXPECT_FALSE(out.failure.has_value());
  EXPECT_EQ(out.activity.span_seconds, 1.5);
  EXPECT_EQ(out.activity.graphics_active, 0.01);
  EXPECT_EQ(out.activity.sm_active, 0.02);
  EXPECT_EQ(out.activity.sm_occupancy, 0.03);
  EXPECT_EQ(out.activity.dram_active, 0.04);
  EXPECT_EQ(out.activity.tensor_active, 0.05);
  EXPECT_EQ(out.activity.fp64_active, 0.06);
  EXPECT_EQ(out.activity.fp32_active, 0.07);
  EXPECT_EQ(out.activity.fp16_active, 0.08);
  EXPECT_EQ(out.activity.pcie_read_bytes_per_second, 9.0);
  EXPECT_EQ(out.activity.pcie_write_bytes_per_second, 10.0);
  EXPECT_EQ(out.activity.nvlink_read_bytes_per_second, 11.0);
  EXPECT_EQ(out.activity.nvlink_write_bytes_per_second, 12.0);
  EXPECT_EQ(out.activity.substitute_metrics, in.activity.substitute_metrics);
  EXPECT_EQ(out.gpu_utilisation, 0.13);
  EXPECT_EQ(out.memory_utilisation, 0.14);
  EXPECT_EQ(out.power_watts, 15.0);
  EXPECT_EQ(out.energy_joules, 16.0);
  EXPECT_EQ(out.sm_clock_mhz, 17.0);
  EXPECT_EQ(out.throttle_reasons, in.throttle_reasons);
}

TEST_F(JournalTest, AFailureKeepsItsWordsWhateverTheyAre) {
  {
    Journal journal = opened();
    Measurement failed;
    failed.key = "k";
    failed.members = {member("a", 0.0)};
    failed.failure = Failure{"crash", "exit status 1: \"quoted\"\tand \xff not UTF-8"};
    ASSERT_TRUE(journal.append(std::move(failed)).has_value());
  }
  const Journal again = opened();
  ASSERT_TRUE(again.measurements().front().failure.has_value());
  EXPECT_EQ(again.measurements().front().failure->reason, "crash");
  EXPECT_EQ(again.measurements().front().failure->message,
            "exit status 1: \"quoted\"\tand \xEF\xBF\xBD not UTF-8");
}

TEST_F(JournalTest, ALineThatWasNeverFinishedIsCutAndTheNextOneFollows) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.append(full_measurement()).has_value());
  }
  const std::string whole = *read_file(file_);
  append_bytes("{\"key\": \"half a li");
  {
    Journal journal = opened();
    EXPECT_EQ(journal.measurements().size(), 1U);
    EXPECT_EQ(*read_file(file_), whole);
    ASSERT_TRUE(journal.append(full_measurement()).has_value());
  }
  EXPECT_EQ(opened().measurements().size(), 2U);
}

TEST_F(JournalTest, AFirstLineThatWasNeverFinishedIsWrittenAgain) {
  append_bytes("{\"format\": \"carp");
  {
    const Journal journal = opened();
  }
  const auto content = parse_journal(*read_file(file_), "j");
  ASSERT_TRUE(content.has_value()) << content.error().message;
  EXPECT_EQ(content->origin.driver, "580.1");
}

TEST_F(JournalTest, WhatAnotherGpuOrUnitGaveDoesNotBelongHere) {
  {
    const Journal journal = opened();
  }
  for (const JournalOrigin& other : {JournalOrigin{"p", "A100", "580.1", "samples/s"},
                                     JournalOrigin{"p", "H200", "590.1", "samples/s"},
                                     JournalOrigin{"p", "H200", "580.1", "tokens/s"}}) {
    const auto journal = Journal::open(file_, other);
    ASSERT_FALSE(journal.has_value());
    EXPECT_EQ(journal.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(journal.error().message.find("holds measurements of H200 (driver 580.1, samples/s)"),
              std::string::npos)
        << journal.error().message;
  }
  // Another plan may continue: it may be an extended version.
  EXPECT_TRUE(Journal::open(file_, {"q", "H200", "580.1", "samples/s"}).has_value());
}

TEST_F(JournalTest, ASecondWriterIsRefusedUntilTheFirstIsGone) {
  {
    const Journal first = opened();
    const auto second = Journal::open(file_, origin());
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("another `carpool measure`"), std::string::npos);
  }
  EXPECT_TRUE(Journal::open(file_, origin()).has_value());
}

TEST_F(JournalTest, ABrokenLineIsNamedAndNothingIsCut) {
  {
    Journal journal = opened();
    ASSERT_TRUE(journal.append(full_measurement()).has_value());
  }
  const std::string whole = *read_file(file_);
  for (const char* line : {"nonsense\n", "{}\n", "[]\n", "\n", "{\"key\": 3}\n"}) {
    ASSERT_TRUE(write_file(file_, whole + line).has_value());
    const auto journal = Journal::open(file_, origin());
    ASSERT_FALSE(journal.has_value()) << line;
    EXPECT_EQ(journal.error().code, ErrorCode::Corrupt);
    EXPECT_NE(journal.error().message.find("measurements.jsonl:3: "), std::string::npos)
        << journal.error().message;
    EXPECT_EQ(*read_file(file_), whole + line);
  }
}

TEST(ParseJournal, RefusesWhatIsNoJournal) {
  EXPECT_FALSE(parse_journal("", "j").has_value());
  EXPECT_FALSE(parse_journal("{\"format\": \"other\"}\n", "j").has_value());
  EXPECT_FALSE(
      parse_journal("{\"format\": \"carpool-measurements\", \"version\": 2}\n", "j").has_value());
}

TEST(ParseJournal, RefusesAThroughputThatCannotBe) {
  const std::string header =
      "{\"format\":\"carpool-measurements\",\"version\":1,\"plan\":\"p\",\"gpu\":\"g\","
      "\"driver\":\"d\",\"throughput_unit\":\"u\"}\n";
  const std::string begin =
      "{\"key\":\"k\",\"table\":\"\",\"mechanism\":\"mps\",\"repeat\":0,\"at\":\"\",\"seconds\":1,"
      "\"spent_seconds\":1,\"activity\":{\"span_seconds\":1,\"stand_ins\":[]},\"members\":[";
  const auto with_throughput = [&](const std::string& throughput) {
    return header + begin + "{\"workload\":\"a\",\"pct\":100,\"thr\":" + throughput +
           ",\"steps_per_second\":1,\"steps\":1,\"p50\":1,\"p95\":1,\"p99\":1}]}\n";
  };
  EXPECT_TRUE(parse_journal(with_throughput("0.5"), "j").has_value());
  EXPECT_FALSE(parse_journal(with_throughput("-0.5"), "j").has_value());
  EXPECT_FALSE(parse_journal(with_throughput("0"), "j").has_value());
  EXPECT_FALSE(parse_journal(with_throughput("null"), "j").has_value());
  EXPECT_FALSE(parse_journal(header + begin + "]}\n", "j").has_value());
}

}  // namespace
}  // namespace carpool::measure
