// Holds for every plan: keys are unique, each cell is measured once, and no batch has too many
// residents.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "measure/cells.hpp"

namespace carpool::measure {
namespace {

Plan any_plan() {
  Plan plan;
  plan.seed = *rc::gen::arbitrary<std::uint32_t>();
  plan.workers.resident = *rc::gen::inRange<std::size_t>(1, 10);
  plan.solo_repeats = *rc::gen::inRange<std::size_t>(1, 4);
  const auto workloads = *rc::gen::inRange<std::size_t>(1, 8);
  for (std::size_t i = 0; i < workloads; ++i) {
    plan.workloads.emplace_back();
    plan.workloads.back().name = std::string(1, static_cast<char>('a' + static_cast<char>(i)));
  }
  const auto families = *rc::gen::inRange(1, 4);
  for (int i = 0; i < families; ++i) {
    PlannedGroups& groups = plan.groups.emplace_back();
    groups.table = *rc::gen::element<std::string>("", "x", "y");
    groups.mechanism =
        *rc::gen::element(Mechanism::Mps, Mechanism::TimeSlicing, Mechanism::Streams);
    groups.repeats = *rc::gen::inRange<std::size_t>(1, 3);
    groups.repeated_share = *rc::gen::element(0.0, 0.5, 1.0);
    const auto size = *rc::gen::inRange<std::size_t>(1, 5);
    groups.members = *rc::gen::container<std::vector<std::vector<std::size_t>>>(
        rc::gen::container<std::vector<std::size_t>>(size,
                                                     rc::gen::inRange<std::size_t>(0, workloads)));
    if (groups.mechanism == Mechanism::Mps && *rc::gen::arbitrary<bool>()) {
      groups.thread_percentages = {std::vector<double>(size, 50.0),
                                   std::vector<double>(size, 100.0)};
    }
  }
  return plan;
}

TEST(CellsProperty, BatchesHoldEveryCellOnceWithFewEnoughResident) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = any_plan();
    const auto cells = expand(plan);
    std::map<std::string, int> wanted;
    for (const Cell& cell : cells) {
      RC_ASSERT(++wanted[key_of(cell, plan)] == 1);
    }
    for (const Batch& batch : into_batches(cells, plan)) {
      const std::set<Member> members(batch.members.begin(), batch.members.end());
      RC_ASSERT(!batch.cells.empty() && members.size() == batch.members.size());
      std::size_t largest = 0;
      for (const Cell& cell : batch.cells) {
        RC_ASSERT(--wanted[key_of(cell, plan)] == 0);
        RC_ASSERT(cell.mechanism == batch.members.front().mechanism);
        RC_ASSERT(std::ranges::all_of(cell.members,
                                      [&](const Member& s) { return members.contains(s); }));
        largest = std::max(largest, cell.members.size());
      }
      RC_ASSERT(members.size() <= std::max(plan.workers.resident, largest));
    }
    RC_ASSERT(std::ranges::all_of(wanted, [](const auto& entry) { return entry.second == 0; }));
  }));
}

TEST(CellsProperty, EveryMemberOfAGroupHasASoloRun) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = any_plan();
    std::set<Member> alone;
    const auto cells = expand(plan);
    for (const Cell& cell : cells) {
      if (cell.solo()) {
        alone.insert(cell.members.front());
      }
    }
    for (const Cell& cell : cells) {
      for (Member member : cell.members) {
        member.copy = 0;
        RC_ASSERT(alone.contains(member));
      }
    }
  }));
}

}  // namespace
}  // namespace carpool::measure
