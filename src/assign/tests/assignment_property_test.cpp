// What holds for every assignment and every ranking, whatever the workloads. On a failure
// rapidcheck prints the smallest case and the RC_PARAMS that repeats it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "assign/assignment.hpp"
#include "assign/group_memory.hpp"
#include "assign/group_values.hpp"
#include "assign/partners.hpp"
#include "predict/tests/fake_forecaster.hpp"

namespace carpool::assign {
namespace {

using predict::fake::FakeWorld;
using predict::fake::random_workloads;

struct Case {
  std::unique_ptr<FakeWorld> world;
  AssignmentRequest request;
};

predict::Objective any_objective() {
  predict::Objective objective;
  objective.kind = *rc::gen::element(predict::ObjectiveKind::Throughput,
                                     predict::ObjectiveKind::Normalized,
                                     predict::ObjectiveKind::MaxMin,
                                     predict::ObjectiveKind::Weighted);
  if (*rc::gen::arbitrary<bool>()) {
    objective.floor = 0.01 * *rc::gen::inRange(0, 80);
  }
  return objective;
}

// Up to `most` workloads of a few profiles, with memory known for most of them.
Case any_case(std::size_t most, std::size_t most_per_gpu) {
  const auto profiles = *rc::gen::inRange<std::size_t>(1, most + 1);
  Case made;
  made.world = std::make_unique<FakeWorld>(
      random_workloads(profiles, *rc::gen::inRange<std::uint32_t>(0, 1'000'000)));
  for (std::size_t i = 0; i < profiles; ++i) {
    if (const int gib = *rc::gen::inRange(0, 30); gib > 0) {
      made.world->memory_gib(i, gib);
    }
  }
  const auto count = *rc::gen::inRange<std::size_t>(0, most + 1);
  made.request.workloads = *rc::gen::container<std::vector<std::size_t>>(
      count, rc::gen::inRange<std::size_t>(0, profiles));
  made.request.gpus = *rc::gen::inRange<std::size_t>(1, most + 1);
  made.request.max_per_gpu = *rc::gen::inRange<std::size_t>(1, most_per_gpu + 1);
  if (*rc::gen::arbitrary<bool>()) {
    made.request.memory_gib = *rc::gen::inRange(8, 40);
  }
  made.request.objective = any_objective();
  return made;
}

Assignment solve(const Case& made, AssignMethod method) {
  AssignmentRequest request = made.request;
  request.method = method;
  return assign(made.world->predictor(), request).value();
}

void check_rules(const Case& made, const Assignment& assignment) {
  std::vector<int> seen(made.request.workloads.size(), 0);
  RC_ASSERT(assignment.groups.size() <= made.request.gpus);
  for (const AssignedGroup& group : assignment.groups) {
    RC_ASSERT(!group.workloads.empty());
    RC_ASSERT(group.workloads.size() <= made.request.max_per_gpu);
    RC_ASSERT(group.score.feasible);
    std::vector<std::size_t> profiles;
    for (std::size_t i = 0; i < group.workloads.size(); ++i) {
      ++seen[group.workloads[i]];
      profiles.push_back(made.request.workloads[group.workloads[i]]);
      RC_ASSERT(group.group[i].profile == profiles.back());
    }
    RC_ASSERT(
        memory_use(made.world->predictor().profiles(), profiles).fits(made.request.memory_gib));
  }
  for (const LeftOver& left : assignment.left_over) {
    ++seen[left.workload];
    RC_ASSERT(!left.reason.empty());
  }
  RC_ASSERT(std::ranges::all_of(seen, [](int times) { return times == 1; }));
}

// By how many are placed, then by the objective.
bool at_least(const Assignment& left, const Assignment& right) {
  if (left.left_over.size() != right.left_over.size()) {
    return left.left_over.size() < right.left_over.size();
  }
  return left.total >= right.total - 1e-9 * std::abs(right.total);
}

RC_GTEST_PROP(AssignmentProperty, EveryRuleHoldsAndExactIsNeverBeaten, ()) {
  const Case made = any_case(9, 4);
  const Assignment exact = solve(made, AssignMethod::Exact);
  const Assignment local = solve(made, AssignMethod::LocalSearch);
  check_rules(made, exact);
  check_rules(made, local);
  RC_ASSERT(at_least(exact, local));
}

RC_GTEST_PROP(AssignmentProperty, MatchingIsAsGoodAsExact, ()) {
  Case made = any_case(10, 2);
  made.request.max_per_gpu = 2;
  const Assignment exact = solve(made, AssignMethod::Exact);
  const Assignment matching = solve(made, AssignMethod::Matching);
  check_rules(made, matching);
  RC_ASSERT(matching.left_over.size() == exact.left_over.size());
  RC_ASSERT(std::abs(matching.total - exact.total) <= 1e-4 * std::abs(exact.total));
}

RC_GTEST_PROP(AssignmentProperty, OrderOfTheWorkloadsDoesNotChangeTheExactTotal, ()) {
  Case made = any_case(9, 3);
  RC_PRE(made.request.objective.kind != predict::ObjectiveKind::Weighted);  // weights go by order
  const Assignment before = solve(made, AssignMethod::Exact);
  std::ranges::reverse(made.request.workloads);
  const Assignment after = solve(made, AssignMethod::Exact);
  RC_ASSERT(after.left_over.size() == before.left_over.size());
  RC_ASSERT(std::abs(after.total - before.total) <= 1e-9 * std::abs(before.total));
}

RC_GTEST_PROP(AssignmentProperty, FloorNeverHelps, ()) {
  Case made = any_case(9, 3);
  made.request.objective.floor = std::nullopt;
  const Assignment unbounded = solve(made, AssignMethod::Exact);
  made.request.objective.floor = 0.01 * *rc::gen::inRange(0, 101);
  RC_ASSERT(at_least(unbounded, solve(made, AssignMethod::Exact)));
}

// The search values a group by its sorted kinds, the result by its members in the order of the
// request: the two must agree, whatever the weights.
RC_GTEST_PROP(AssignmentProperty, SearchAndResultValueAGroupAlike, ()) {
  Case made = any_case(9, 4);
  made.request.memory_gib = std::nullopt;
  const auto whole = *rc::gen::container<std::vector<int>>(9, rc::gen::inRange(1, 10));
  made.request.objective.weights.assign(whole.begin(), whole.end());
  const Assignment exact = solve(made, AssignMethod::Exact);
  predict::Objective objective = made.request.objective;
  GroupValues values(made.world->predictor(),
                     made.request.workloads,
                     predict::member_weights(objective, made.request.workloads.size()),
                     objective,
                     std::nullopt);
  for (const AssignedGroup& group : exact.groups) {
    const std::vector<Member> members(group.workloads.begin(), group.workloads.end());
    const GroupValues::Key key = values.key(members);
    values.require(std::span(&key, 1));
    const bool bottleneck = objective.kind == predict::ObjectiveKind::MaxMin;
    const double searched = bottleneck ? values.at(key).worst : values.at(key).value;
    const double tolerance = bottleneck ? 1e-6 : 1e-12;  // `worst` is a float
    RC_ASSERT(std::abs(searched - group.score.value) <= tolerance * std::abs(group.score.value));
    RC_ASSERT(values.at(key).feasible);
  }
}

RC_GTEST_PROP(PartnersProperty, RankedBestFirstAndAFloorRaisesNoValue, ()) {
  const Case made = any_case(12, 2);
  const predict::Predictor& predictor = made.world->predictor();
  PartnerRequest request = {
      .candidates = {}, .objective = made.request.objective, .memory_gib = made.request.memory_gib};
  for (std::size_t i = 0; i < predictor.profiles().size(); ++i) {
    request.candidates.push_back({i});
  }
  const auto ranked = rank_partners(predictor, request).value();
  RC_ASSERT(ranked.size() == request.candidates.size());
  RC_ASSERT(std::ranges::is_sorted(ranked, predict::better, &RankedGroup::score));
  RC_ASSERT(
      std::ranges::none_of(ranked, [](const RankedGroup& group) { return group.reasons.empty(); }));
  request.objective.floor = std::nullopt;
  const auto unbounded = rank_partners(predictor, request).value();
  RC_ASSERT(!predict::better(ranked.front().score, unbounded.front().score));
}

}  // namespace
}  // namespace carpool::assign
