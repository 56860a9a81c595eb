#include "measure/tables.hpp"

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool::measure {
namespace {

Plan plan_of(const std::vector<std::string>& names) {
  Plan plan;
  plan.name = "p";
  plan.provenance = "by \"hand\"";
  for (const std::string& name : names) {
    PlannedWorkload workload;
    workload.name = name;
    plan.workloads.push_back(workload);
  }
  plan.workloads.front().model = "A, the first";
  plan.workloads.front().task = "train";
  plan.workloads.front().batch = 8.0;
  return plan;
}

struct Speed {
  std::string workload;
  double throughput = 0.0;
  double percentage = 100.0;
};

Measurement run(const std::string& table, const std::vector<Speed>& speeds) {
  Measurement out;
  out.table = table;
  out.mechanism = "mps";
  out.at = "2026-11-15T08:30:00Z";
  out.seconds = 1.25;
  out.spent_seconds = 2.0;
  for (const Speed& speed : speeds) {
    MemberResult& member = out.members.emplace_back();
    member.workload = speed.workload;
    member.throughput = speed.throughput;
    member.thread_percentage = speed.percentage;
    member.steps.p50 = 0.001;
    member.steps.p95 = 0.002;
    member.steps.p99 = 0.0025;
    out.key += speed.workload;
  }
  return out;
}

Measurement solo(const std::string& workload, double throughput, double percentage = 100.0) {
  return run("", {{workload, throughput, percentage}});
}

JournalContent journal_of(std::vector<Measurement> measurements) {
  return {.origin = {.plan = "p", .gpu = "H200", .driver = "580", .throughput_unit = "samples/s"},
          .measurements = std::move(measurements)};
}

TEST(Tables, ProfilesHoldTheMedianSpeedAloneAndTheMeanOfMetrics) {
  std::vector<Measurement> runs = {
      solo("a", 10.0), solo("a", 14.0), solo("a", 11.0), solo("b", 3.0)};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].activity.sm_active = 0.1 * static_cast<double>(i + 1);
    runs[i].gpu_utilisation = 0.5;
    runs[i].members[0].memory_bytes = std::uint64_t{3} << 30U;
  }
  const auto files = make_tables(journal_of(runs), plan_of({"a", "b", "never-ran"}));
  EXPECT_EQ(files.at("profiles.csv"),
            "workload,model,task,batch,exclusive_thr,sm_busy_pct,memcap_gb,sm_active\n"
            "a,\"A, the first\",\"train\",8,11,50,3,0.2\n"
            "b,\"\",\"\",,3,50,3,0.4\n");
  EXPECT_EQ(files.at("dataset.toml"),
            "# Made by `carpool measure` from measurements.jsonl; made again with every run.\n"
            "gpu = \"H200\"\ndriver = \"580\"\nthroughput_unit = \"samples/s\"\n"
            "provenance = \"by \\\"hand\\\"\"\n\n[metrics]\n"
            "sm_busy_pct = { combine = \"mean\", group = \"system\" }\n"
            "memcap_gb = { combine = \"sum\", group = \"system\" }\n"
            "sm_active = { combine = \"mean\", group = \"gpm\" }\n");
}

TEST(Tables, AMetricThatOneRunLacksIsLeftOut) {
  std::vector<Measurement> runs = {solo("a", 10.0), solo("b", 3.0)};
  runs[0].power_watts = 300.0;
  const auto files = make_tables(journal_of(runs), plan_of({"a", "b"}));
  EXPECT_EQ(files.at("profiles.csv").find("power_w"), std::string::npos);
}

TEST(Tables, GroupsHaveSpeedsLimitsAndLatenciesByPosition) {
  auto pair = run("pairs", {{"a", 5.0, 25.0}, {"b", 2.0, 75.0}});
  pair.repeat = 1;
  pair.power_watts = 400.5;
  pair.activity.sm_active = 0.75;
  const auto files = make_tables(journal_of({solo("a", 10.0),
                                             solo("b", 4.0),
                                             pair,
                                             run("pairs", {{"b", 1.0}, {"a", 2.0}}),
                                             run("", {{"a", 1.0}, {"b", 2.0}})}),
                                 plan_of({"a", "b"}));
  EXPECT_EQ(files.at("pairs.csv"),
            "id,w1,w2,thr1,thr2,pct1,pct2,p99_ms_1,p99_ms_2,repeat,mechanism,power_w,sm_active\n"
            "0,a,b,5,2,25,75,2.5,2.5,1,mps,400.5,0.75\n"
            "1,b,a,1,2,100,100,2.5,2.5,0,mps,,\n");
  EXPECT_FALSE(files.contains(".csv"));
}

TEST(Tables, CellsHoldEveryMemberWithItsShareOfItsSpeedAlone) {
  auto slow = run("pairs", {{"a", 5.0}, {"b", 4.0}});
  slow.throttle_reasons = {"power-cap", "thermal"};
  const auto files =
      make_tables(journal_of({solo("a", 10.0), solo("b", 4.0), slow}), plan_of({"a", "b"}));
  const std::string& cells = files.at("cells.csv");
  EXPECT_NE(cells.find("\nalone,mps,1,0,1,a,100,0,10,1,1,2,2.5,,1.25,2,"), std::string::npos)
      << cells;
  EXPECT_NE(cells.find("\npairs,mps,2,0,1,a,100,0,5,0.5,"), std::string::npos) << cells;
  EXPECT_NE(cells.find("\npairs,mps,2,0,2,b,100,0,4,1,"), std::string::npos) << cells;
  EXPECT_NE(cells.find(",power-cap thermal,2026-11-15T08:30:00Z\n"), std::string::npos) << cells;
}

TEST(Tables, LimitedRunsAloneHaveATableOnlyWhereThereAreAny) {
  const Plan plan = plan_of({"a"});
  EXPECT_FALSE(make_tables(journal_of({solo("a", 10.0)}), plan).contains("exclusive_mps.csv"));
  EXPECT_EQ(make_tables(journal_of({solo("a", 10.0), solo("a", 6.0, 25.0)}), plan)
                .at("exclusive_mps.csv"),
            "workload,mps_pct,thr\na,100,10\na,25,6\n");
}

TEST(Tables, FailuresHaveTheirOwnTableAndNoOther) {
  auto failed = run("pairs", {{"a", 0.0}, {"b", 0.0, 25.0}});
  failed.failure = Failure{"oom", "exit status 3: \"no\"\nmemory"};
  const auto files =
      make_tables(journal_of({solo("a", 10.0), solo("b", 4.0), failed}), plan_of({"a", "b"}));
  EXPECT_EQ(files.at("failures.csv"),
            "table,mechanism,repeat,members,reason,message,at\n"
            "pairs,mps,0,\"a + b@25\",oom,\"exit status 3: \"\"no\"\" memory\","
            "2026-11-15T08:30:00Z\n");
  EXPECT_FALSE(files.contains("pairs.csv"));
  EXPECT_EQ(files.at("cells.csv").find("pairs"), std::string::npos);
}

TEST(Tables, AFailureThatWentWellLaterIsNone) {
  auto failed = run("pairs", {{"a", 0.0}, {"b", 0.0}});
  failed.failure = Failure{"crash", "exit status 1"};
  const auto files = make_tables(
      journal_of({solo("a", 10.0), solo("b", 4.0), failed, run("pairs", {{"a", 5.0}, {"b", 2.0}})}),
      plan_of({"a", "b"}));
  EXPECT_EQ(files.at("failures.csv"), "table,mechanism,repeat,members,reason,message,at\n");
  EXPECT_NE(files.at("pairs.csv").find("0,a,b,5,2,"), std::string::npos);
}

TEST(Tables, AGroupWithSomebodyWhoNeverRanAloneIsNotInItsTable) {
  const auto journal = journal_of({solo("a", 10.0),
                                   run("pairs", {{"a", 5.0}, {"b", 2.0}}),
                                   run("pairs", {{"a", 5.0}, {"a", 5.0}})});
  const auto files = make_tables(journal, plan_of({"a", "b"}));
  EXPECT_EQ(files.at("pairs.csv").find(",b,"), std::string::npos);
  EXPECT_NE(files.at("pairs.csv").find("0,a,a,"), std::string::npos);
}

TEST(Tables, AWorkloadThatThePlanNoLongerNamesIsInNoTable) {
  const auto journal =
      journal_of({solo("a", 10.0), solo("gone", 4.0), run("pairs", {{"a", 5.0}, {"gone", 2.0}})});
  const auto files = make_tables(journal, plan_of({"a"}));
  EXPECT_EQ(files.at("profiles.csv").find("gone"), std::string::npos);
  EXPECT_FALSE(files.contains("pairs.csv"));
}

TEST(Tables, ATableHoldsGroupsOfItsLatestSize) {
  const auto journal = journal_of({solo("a", 10.0),
                                   run("t", {{"a", 5.0}, {"a", 5.0}}),
                                   run("t", {{"a", 3.0}, {"a", 3.0}, {"a", 3.0}})});
  EXPECT_EQ(make_tables(journal, plan_of({"a"})).at("t.csv"),
            "id,w1,w2,w3,thr1,thr2,thr3,pct1,pct2,pct3,p99_ms_1,p99_ms_2,p99_ms_3,repeat,mechanism,"
            "power_w,sm_active\n0,a,a,a,3,3,3,100,100,100,2.5,2.5,2.5,0,mps,,\n");
}

TEST(Tables, SpeedsAloneComeFromMpsWhereThereAreAny) {
  auto slicing = solo("a", 7.0);
  slicing.mechanism = "time-slicing";
  const Plan plan = plan_of({"a"});
  EXPECT_NE(make_tables(journal_of({slicing}), plan).at("profiles.csv").find(",7\n"),
            std::string::npos);
  EXPECT_NE(
      make_tables(journal_of({slicing, solo("a", 9.0)}), plan).at("profiles.csv").find(",9\n"),
      std::string::npos);
}

TEST(Tables, AreWrittenIntoTheFolder) {
  const TemporaryFolder folder;
  const auto journal = journal_of({solo("a", 10.0)});
  ASSERT_TRUE(write_tables(folder.path(), journal, plan_of({"a"})).has_value());
  for (const auto& [name, content] : make_tables(journal, plan_of({"a"}))) {
    EXPECT_EQ(*read_file(folder.path() / name), content) << name;
  }
  EXPECT_FALSE(write_tables(folder.path() / "no", journal, plan_of({"a"})).has_value());
}

}  // namespace
}  // namespace carpool::measure
