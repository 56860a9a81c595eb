#include <gtest/gtest.h>

#include "knowledge/beliefs.hpp"
#include "knowledge/tests/synthetic_truth.hpp"

namespace carpool::knowledge {
namespace {

using fake::SyntheticTruth;

// Knows workloads by their names; each slows the others by a third.
class ThirdSlower final : public InterferenceModel {
 public:
  explicit ThirdSlower(std::vector<std::string> known) : known_(std::move(known)) {}
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(
        group.size(), group.size() < 2 ? 1.0 : 0.75 / static_cast<double>(group.size() - 1));
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override {
    return knows(workload) ? std::optional(0.6) : std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string& workload) const override {
    return std::ranges::count(known_, workload) > 0;
  }

 private:
  std::vector<std::string> known_;
};

void expect_same(const Beliefs& beliefs, BoundInterference& bound, SyntheticTruth& truth) {
  for (int n = 0; n < 30; ++n) {
    std::vector<std::uint32_t> group;
    std::vector<InterferenceMember> named;
    for (const std::size_t workload : truth.any_group(0, 5)) {
      group.push_back(static_cast<std::uint32_t>(workload));
      named.push_back({.workload = SyntheticTruth::name(workload)});
    }
    std::vector<double> out(group.size());
    bound.progress(group, out);
    EXPECT_EQ(out, beliefs.progress(named));
  }
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(SyntheticTruth::name(i));
  }
  return made;
}

TEST(BoundBeliefs, FollowWhatIsLearned) {
  SyntheticTruth truth(1, 8);
  Beliefs beliefs;
  const auto bound = beliefs.bind(names(7));
  bound->add(SyntheticTruth::name(7));
  expect_same(beliefs, *bound, truth);
  double now_s = 0.0;
  for (std::size_t i = 0; i < 5; ++i) {
    now_s = truth.run(beliefs, {i}, now_s, 10.0);
    expect_same(beliefs, *bound, truth);
  }
  for (int change = 0; change < 10; ++change) {
    now_s = truth.run(beliefs, truth.any_group(2, 3), now_s, 10.0);
    expect_same(beliefs, *bound, truth);
  }
}

TEST(BoundBeliefs, FollowWorkloadsThatAreForgotten) {
  SyntheticTruth truth(2, 8);
  Beliefs beliefs({.most_workloads = 5, .most_workloads_per_user = 5});
  const auto bound = beliefs.bind(names(8));
  double now_s = 0.0;
  for (int change = 0; change < 20; ++change) {
    now_s = truth.run(beliefs, truth.any_group(1, 3), now_s, 10.0);
    expect_same(beliefs, *bound, truth);
  }
  EXPECT_LE(beliefs.rows().size(), 5U);
}

TEST(BoundBeliefs, StartFromThePriorModel) {
  SyntheticTruth truth(3, 6);
  Beliefs beliefs({}, std::make_unique<ThirdSlower>(names(3)));
  const auto bound = beliefs.bind(names(6));
  expect_same(beliefs, *bound, truth);
  const std::vector<InterferenceMember> known = {{.workload = SyntheticTruth::name(0)},
                                                 {.workload = SyntheticTruth::name(1)}};
  EXPECT_NEAR(beliefs.progress(known).at(0), 0.75, 1e-9);
  EXPECT_EQ(beliefs.forecast(known).at(0).basis, ProgressForecast::Basis::Members);
  EXPECT_EQ(beliefs.sm_active(SyntheticTruth::name(0)), 0.6);
  EXPECT_FALSE(beliefs.sm_active(SyntheticTruth::name(5)));
  double now_s = 0.0;
  for (int change = 0; change < 10; ++change) {
    now_s = truth.run(beliefs, truth.any_group(1, 3), now_s, 10.0);
    expect_same(beliefs, *bound, truth);
  }
}

}  // namespace
}  // namespace carpool::knowledge
