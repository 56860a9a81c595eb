// The progress of a group by memory, law and prior, and its 90 % intervals.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/interference_model.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/interference_law.hpp"

namespace carpool::knowledge {

// Fills in the progress of members that this very group measured before. `key` is scratch.
void remembered_progress(const BeliefStore& store,
                         LawGroup group,
                         GroupMemory::Key& key,
                         std::span<double> out);

// What the law is sure of: a number, and the change of ln(cost) of a member by it.
struct Influence {
  enum class What { Contention, Tilt, Sensitivity, Pressure, Pair } what = What::Contention;
  std::uint32_t slot = kNone;  // of the other member, for Pressure and Pair
  double slope = 0.0;
};
// Copies of a workload appear once, with the sum of their slopes.
[[nodiscard]] std::vector<Influence> influences(LawGroup group,
                                                std::size_t member,
                                                const MemberCosts& costs);
// Of a number at the present time.
[[nodiscard]] double variance_of(const BeliefStore& store,
                                 const LawMember& member,
                                 const Influence& influence);
// Variance of ln(cost) that comes from activities.
[[nodiscard]] double activity_cost_variance(const BeliefStore& store,
                                            LawGroup group,
                                            std::size_t member,
                                            const MemberCosts& costs);
// Variance of ln(cost) of a member, all causes.
[[nodiscard]] double cost_variance(const BeliefStore& store,
                                   LawGroup group,
                                   std::size_t member,
                                   const MemberCosts& costs);

// `unlimited`: no member has a thread limit; else what the group measured does not count.
[[nodiscard]] std::vector<ProgressForecast> group_forecast(const BeliefStore& store,
                                                           LawGroup group,
                                                           std::span<const double> prior,
                                                           bool unlimited);

}  // namespace carpool::knowledge
