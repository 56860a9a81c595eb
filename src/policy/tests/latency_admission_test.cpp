// A job joins one with an SLO only if the predicted latency leaves it its SLO.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "policy/policy_registry.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {
namespace {

// Progress by the number of members; latencies as planted, by the workload beside.
class PlantedLatency final : public InterferenceModel {
 public:
  std::map<std::string, LatencyForecast> beside;
  LatencyForecast alone = of(10.0, 11.0);
  double share = 0.9;  // of each member of a group

  static LatencyForecast of(double tail_ms, double high_ms) {
    return {.p50_ms = 5.5,
            .p50_90 = {.low = 5.0, .high = 6.0},
            .tail_ms = tail_ms,
            .tail90 = {.low = 0.8 * tail_ms, .high = high_ms},
            .solo_p50_ms = 5.0,
            .basis = LatencyForecast::Basis::Gate,
            .requests = 812};
  }

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(group.size(), group.size() > 1 ? share : 1.0);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return 0.3;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return true; }
  [[nodiscard]] std::optional<LatencyForecast> latency(
      const LatencyQuestion& question) const override {
    EXPECT_EQ(question.workload, "serve");
    if (question.beside.empty()) {
      return alone;
    }
    const auto found = beside.find(question.beside.front().workload);
    return found == beside.end() ? std::nullopt : std::optional(found->second);
  }
};

class LatencyAdmission : public testing::Test {
 protected:
  LatencyAdmission() {
    GpuView& gpu = cluster_.gpu();
    Resident& serving = SnapshotBuilder::resident(gpu, "serve", 4);
    serving_ = &serving;
    serving.job_class = JobClass::Slo;
    serving.goal = {.slo_ms = 20.0};
    serving.phase_since_s = 0.0;
  }
  PlacementDecision decide() {
    const auto policy = make_placement_policy("carpool", default_settings("carpool"));
    return (*policy)->decide(cluster_.snapshot(), model_);
  }
  QueuedJob& train() {
    QueuedJob& job = cluster_.job("train", 4);
    job.job_class = JobClass::BestEffort;
    return job;
  }

  SnapshotBuilder cluster_;
  PlantedLatency model_;
  Resident* serving_ = nullptr;
};

TEST_F(LatencyAdmission, ANeighbourThatLeavesItTheSloIsAdmittedAndTheLatencyIsTold) {
  model_.beside["train"] = PlantedLatency::of(13.0, 16.0);
  train();
  const PlacementDecision decision = decide();
  ASSERT_EQ(decision.place.size(), 1U);
  EXPECT_NE(decision.place[0].reason.find("predicted p99 13 ms (10.4 to 16 ms) of job 1000"),
            std::string::npos)
      << decision.place[0].reason;
}

TEST_F(LatencyAdmission, AnIntervalThatEndsAboveTheSloRefuses) {
  model_.beside["train"] = PlantedLatency::of(18.0, 20.5);
  train();
  const PlacementDecision decision = decide();
  ASSERT_TRUE(decision.place.empty());
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Latency);
  EXPECT_EQ(decision.defer[0].reason,
            "on GPU 0 job 1000 would have a predicted p99 18 ms (14.4 to 20.5 ms), from 812 "
            "requests alone and what the gate lets in front of a request; its SLO is 20 ms");
  ASSERT_TRUE(decision.ask_again_s);
  EXPECT_LE(*decision.ask_again_s, 30.0);
}

TEST_F(LatencyAdmission, WhereNothingIsKnownTheFloorDecides) {
  train();
  EXPECT_EQ(decide().place.size(), 1U);
  model_.share = 0.7;
  const PlacementDecision decision = decide();
  ASSERT_TRUE(decision.place.empty());
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Latency);
  EXPECT_EQ(decision.defer[0].reason,
            "on GPU 0 job 1000 would run at a predicted 70 % of its solo speed; a job with an SLO "
            "keeps at least 80 % while its latency there is not known");
  serving_->goal = {};
  EXPECT_EQ(decide().defer.at(0).reason,
            "on GPU 0 job 1000 would run at a predicted 70 % of its solo speed; a job of class slo "
            "that states no latency keeps at least 80 %");
}

// The floor of all jobs refuses in any case.
TEST_F(LatencyAdmission, BelowTheFloorOfAllJobsTheReasonIsInterference) {
  model_.share = 0.15;
  train();
  EXPECT_EQ(decide().defer.at(0).constraint, Constraint::Interference);
}

// The law of speeds does not know that launches wait for requests.
TEST_F(LatencyAdmission, AKnownLatencyTakesThePlaceOfTheFloor) {
  model_.share = 0.5;
  model_.beside["train"] = PlantedLatency::of(13.0, 16.0);
  train();
  EXPECT_EQ(decide().place.size(), 1U);
}

TEST_F(LatencyAdmission, AJobWithAnSloThatComesIsAskedAbout) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "train", 4);
  cluster_ = cluster;
  QueuedJob& job = cluster_.job("serve", 4);
  job.job_class = JobClass::Slo;
  job.goal = {.slo_ms = 20.0};
  model_.beside["train"] = PlantedLatency::of(25.0, 30.0);
  const PlacementDecision refused = decide();
  ASSERT_TRUE(refused.place.empty());
  EXPECT_EQ(refused.defer.at(0).constraint, Constraint::Latency);
  EXPECT_NE(refused.defer[0].reason.find("the job would have a predicted p99 25 ms"),
            std::string::npos)
      << refused.defer[0].reason;
  model_.beside["train"] = PlantedLatency::of(13.0, 16.0);
  EXPECT_EQ(decide().place.size(), 1U);
}

// What refused a job refuses its copies in the queue, not those with another SLO.
TEST_F(LatencyAdmission, ALooserSloIsAskedAboutAnew) {
  SnapshotBuilder cluster;
  SnapshotBuilder::resident(cluster.gpu(), "train", 4);
  cluster_ = cluster;
  for (const double slo_ms : {20.0, 40.0}) {
    QueuedJob& job = cluster_.job("serve", 4);
    job.job_class = JobClass::Slo;
    job.goal = {.slo_ms = slo_ms};
  }
  model_.beside["train"] = PlantedLatency::of(25.0, 30.0);
  const PlacementDecision decision = decide();
  ASSERT_EQ(decision.place.size(), 1U);
  EXPECT_EQ(decision.place[0].job, 2);
  EXPECT_EQ(decision.defer.at(0).constraint, Constraint::Latency);
}

// A hypothesis that turned out wrong: the newcomer stands still.
TEST_F(LatencyAdmission, AGroupThatDoesNotKeepTheSloIsRelieved) {
  Resident& training = SnapshotBuilder::resident(cluster_.gpus()[0], "train", 4);
  training.job_class = JobClass::BestEffort;
  training.phase_since_s = 900.0;
  training.computed_s = 100.0;
  cluster_.gpus()[0].residents[0].computed_s = 900.0;
  EXPECT_TRUE(decide().pause.empty());
  model_.beside["train"] = PlantedLatency::of(18.0, 21.0);
  EXPECT_TRUE(decide().pause.empty()) << "a doubt alone pauses none";
  model_.beside["train"] = PlantedLatency::of(21.0, 24.0);
  const PlacementDecision decision = decide();
  ASSERT_EQ(decision.pause.size(), 1U);
  EXPECT_EQ(decision.pause[0].job, training.job);
  EXPECT_NE(decision.pause[0].reason.find("does not keep its SLO beside it"), std::string::npos);
  // It goes on only where the interval is below the SLO.
  Resident& paused = cluster_.gpus()[0].residents[1];
  paused.phase = ResidentPhase::Paused;
  paused.paused_for = PauseCause::Interference;
  paused.pauses = 1;
  model_.beside["train"] = PlantedLatency::of(18.0, 21.0);
  EXPECT_TRUE(decide().resume.empty());
  model_.beside["train"] = PlantedLatency::of(13.0, 16.0);
  EXPECT_EQ(decide().resume.size(), 1U);
}

TEST_F(LatencyAdmission, NobodyIsPausedForAnSloThatIsMissedAloneToo) {
  Resident& training = SnapshotBuilder::resident(cluster_.gpus()[0], "train", 4);
  training.job_class = JobClass::BestEffort;
  training.phase_since_s = 900.0;
  training.computed_s = 100.0;
  cluster_.gpus()[0].residents[0].computed_s = 900.0;
  model_.alone = PlantedLatency::of(21.0, 23.0);
  model_.beside["train"] = PlantedLatency::of(22.0, 24.0);
  EXPECT_TRUE(decide().pause.empty());
}

}  // namespace
}  // namespace carpool::policy
