#include "simulate/trace/trace.hpp"

#include <set>

#include <gtest/gtest.h>

namespace carpool::simulate {
namespace {

const std::filesystem::path trace_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/carma-traces";

Result<Trace> read(const std::string& text) {
  return parse_trace(text, "trace.csv");
}

void refuses(const std::string& text, const std::string& words) {
  const auto trace = read(text);
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().code, ErrorCode::InvalidInput);
  EXPECT_NE(trace.error().message.find(words), std::string::npos) << trace.error().message;
}

TEST(Traces, OfCarmaAndAegisAreRead) {
  for (const auto& [file, jobs] : {std::pair("trace60.csv", 60),
                                   std::pair("trace90.csv", 90),
                                   std::pair("trace_t1.csv", 60),
                                   std::pair("trace_t2.csv", 60),
                                   std::pair("aegis_philly60.csv", 60)}) {
    const auto trace = read_trace(trace_folder / file);
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    EXPECT_EQ(trace->jobs.size(), jobs);
    for (const TraceJob& job : trace->jobs) {
      EXPECT_TRUE(job.horus_bytes && job.faketensor_bytes && job.gpumemnet_bytes) << job.workload;
      EXPECT_GT(job.sm_active, 0.0) << job.workload;
    }
  }
}

TEST(Traces, OfAegisKnowALaterPeak) {
  const auto trace = read_trace(trace_folder / "aegis_philly60.csv").value();
  const auto& large = trace.jobs[28];
  EXPECT_EQ(large.workload, "gpt2_xl_wiki_bs2_1gpu");
  EXPECT_EQ(large.peak_bytes / kMebibyte, 40182);
  EXPECT_EQ(large.early_bytes / kMebibyte, 33704);
}

TEST(TraceFile, IsSortedByTimeAndNeedsFourColumns) {
  const auto trace =
      read("submit_s,workload,solo_s,peak_mem_mib\n20,b,5,100\n10,a,5,100\n").value();
  EXPECT_EQ(trace.jobs[0].workload, "a");
  EXPECT_EQ(trace.jobs[0].gpus, 1);
  EXPECT_EQ(trace.jobs[0].early_bytes, 100 * kMebibyte);
}

TEST(TraceFile, ErrorsNameFileAndLine) {
  refuses("submit_s,workload,solo_s\n1,a,2\n", "trace.csv:1: no column peak_mem_mib");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n1,a,nan,3\n", "trace.csv:2: column solo_s");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n1,a,2,3\n-5,a,2,3\n",
          "trace.csv:3: column submit_s: -5 is not from 0 to 1000000000; expected seconds");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n1,a,2,1e18\n",
          "trace.csv:2: column peak_mem_mib: 1e+18 is not from 1 to 16777216; expected MiB");
  refuses("submit_s,workload,exec_min_best,peak_mem_mib\n1,a,0,3\n",
          "trace.csv:2: column exec_min_best: 0 is not from 0.001 to 16666666.67; expected a run "
          "time in minutes");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n1,a,-2,3\n", "trace.csv:2: column solo_s");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n1,,2,3\n", "trace.csv:2: column workload");
  refuses("submit_s,workload,gpus,solo_s,peak_mem_mib\n1,a,0,2,3\n", "trace.csv:2: column gpus");
  refuses("submit_s,workload,solo_s,peak_mem_mib,smact\n1,a,2,3,1.5\n", "column smact");
  refuses("submit_s,workload,solo_s,peak_mem_mib\n", "trace.csv: the trace has no jobs");
}

TEST(TraceFile, IsReadAsItWasWritten) {
  const auto trace = read_trace(trace_folder / "aegis_philly60.csv").value();
  const auto again = read(trace_csv(trace)).value();
  ASSERT_EQ(again.jobs.size(), trace.jobs.size());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(again.jobs[i].workload, trace.jobs[i].workload);
    EXPECT_EQ(again.jobs[i].peak_bytes, trace.jobs[i].peak_bytes);
    EXPECT_EQ(again.jobs[i].early_bytes, trace.jobs[i].early_bytes);
    EXPECT_EQ(again.jobs[i].gpumemnet_bytes, trace.jobs[i].gpumemnet_bytes);
    EXPECT_NEAR(again.jobs[i].solo_s, trace.jobs[i].solo_s, 0.06);
  }
}

TEST(TraceFile, KeepsNamesThatHoldCommasQuotesAndLineEnds) {
  Trace trace;
  trace.jobs.push_back({.workload = "a,\"b\"\nc", .solo_s = 1.0, .peak_bytes = kMebibyte});
  const auto again = read(trace_csv(trace));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->jobs.at(0).workload, trace.jobs.at(0).workload);
}

TEST(Shuffling, KeepsTimesAndJobsAndChangesTheirOrder) {
  const auto trace = read_trace(trace_folder / "trace60.csv").value();
  const Trace other = shuffled(trace, 7);
  std::multiset<std::string> before;
  std::multiset<std::string> after;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(trace.jobs[i].submit_s, other.jobs[i].submit_s);
    before.insert(trace.jobs[i].workload);
    after.insert(other.jobs[i].workload);
    moved += trace.jobs[i].workload == other.jobs[i].workload ? 0 : 1;
  }
  EXPECT_EQ(before, after);
  EXPECT_GT(moved, 30);
}

}  // namespace
}  // namespace carpool::simulate
