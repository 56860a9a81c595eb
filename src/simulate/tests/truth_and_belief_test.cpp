#include <map>

#include <gtest/gtest.h>

#include "simulate/belief.hpp"
#include "simulate/simulation.hpp"
#include "simulate/tests/small_cluster.hpp"
#include "simulate/truth.hpp"

namespace carpool::simulate {
namespace {

const std::filesystem::path truth_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/carma-traces";

TEST(Truth, IsReadAndRefused) {
  EXPECT_EQ(parse_truth("pairs")->contention, 1.9);
  EXPECT_EQ(parse_truth("pairs*1.4")->contention, 1.4);
  EXPECT_EQ(parse_truth("activity")->kind, TruthSpec::Kind::Activity);
  EXPECT_EQ(parse_truth("my.model.json")->model, "my.model.json");
  for (const char* bad : {"", "pair", "pairs*", "pairs*x", "pairs*-1", "pairs*nan", "pairs1.4"}) {
    const auto refused = parse_truth(bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_NE(refused.error().message.find(bad), std::string::npos) << refused.error().message;
  }
}

// Their share of solo speed, one beside the other.
double beside(const InterferenceModel& truth, const std::string& one, const std::string& other) {
  return truth.progress(std::vector<InterferenceMember>{{.workload = one}, {.workload = other}})[0];
}

TEST(Truth, AWorkloadWithoutATableEntryIsAsActiveAsTheTraceSays) {
  Trace trace{.name = "mine", .jobs = {test_job(0, 1), test_job(0, 1), test_job(0, 1)}};
  trace.jobs[0].workload = "mine_light";
  trace.jobs[0].sm_active = 0.15;
  trace.jobs[1].workload = "mine_heavy";
  trace.jobs[1].sm_active = 0.95;
  trace.jobs[2].workload = "mine_unknown";
  trace.jobs[2].sm_active = 0.0;
  for (const char* text : {"pairs", "activity"}) {
    const auto truth = make_truth(*parse_truth(text), truth_folder, trace).value();
    EXPECT_EQ(truth->sm_active("mine_light"), 0.15) << text;
    EXPECT_EQ(truth->sm_active("mine_unknown"), std::nullopt) << text;
    EXPECT_LT(beside(*truth, "mine_light", "mine_heavy"), 1.0) << text;
    if (std::string_view(text) == "pairs") {
      EXPECT_GT(beside(*truth, "mine_heavy", "mine_light"),
                beside(*truth, "mine_heavy", "mine_heavy"));
    }
  }
}

TEST(Truth, TheContentionFactorScalesCosts) {
  const Trace none{.name = "none"};
  const auto mild = make_truth(*parse_truth("pairs*1.4"), truth_folder, none).value();
  const auto usual = make_truth(*parse_truth("pairs"), truth_folder, none).value();
  const double little = 1.0 / beside(*mild, "BERT_base", "BERT_base") - 1.0;
  const double more = 1.0 / beside(*usual, "BERT_base", "BERT_base") - 1.0;
  EXPECT_NEAR(more / little, 1.9 / 1.4, 1e-9);
}

TEST(Belief, OnlyThatOfTheTruthIsToldTheTruth) {
  EXPECT_EQ(belief_kind("learned").value(), BeliefKind::Learned);
  EXPECT_FALSE(belief_kind("known").has_value());
  EXPECT_EQ(make_belief(BeliefKind::Truth, test_speeds()).model, &test_speeds());
  for (const BeliefKind kind : {BeliefKind::Learned, BeliefKind::Blind}) {
    const Belief belief = make_belief(kind, test_speeds());
    EXPECT_NE(belief.model, &test_speeds());
    EXPECT_FALSE(belief.model->knows("heavy"));
  }
}

// Believes whatever it is asked, and keeps the names.
class Recorder final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    for (const InterferenceMember& member : group) {
      ++asked_[member.workload];
    }
    return std::vector<double>(group.size(), group.size() < 2 ? 1.0 : believed_);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return false; }

  double believed_ = 1.0;
  mutable std::map<std::string, int> asked_;
};

TEST(Belief, DecidesWhatSharesAndNotHowFastItRuns) {
  const Trace trace{.name = "two",
                    .jobs = {test_job(0, 100, 1, "heavy"), test_job(0, 300, 1, "middle")}};
  SimulationSettings settings = test_settings("carpool");
  Recorder belief;
  const auto together =
      simulate_with({.model = &belief}, trace, test_cluster(1), test_speeds(), settings);
  ASSERT_TRUE(together.has_value());
  EXPECT_FALSE(belief.asked_.empty());
  EXPECT_NEAR(together->jobs[0].ended_s, 150.0, 1e-3);  // at 1 / 1.5, by the truth
  belief.believed_ = 0.01;
  const auto apart =
      simulate_with({.model = &belief}, trace, test_cluster(1), test_speeds(), settings);
  ASSERT_TRUE(apart.has_value());
  EXPECT_NEAR(apart->makespan_s, 400.0, 4.0);  // they share while the second one sets up
}

}  // namespace
}  // namespace carpool::simulate
