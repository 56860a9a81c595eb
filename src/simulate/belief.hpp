// What the scheduler and its policies believe in a simulation. Only BeliefKind::Truth is told how
// fast jobs really run beside each other.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "core/learner.hpp"

namespace carpool::simulate {

enum class BeliefKind {
  Learned,  // starts empty and learns from what is observed, as the server does
  Truth,    // the truth, as no server has it
  Blind,    // what is assumed of workloads that were never seen; never learns
};

[[nodiscard]] Result<BeliefKind> belief_kind(std::string_view name);
[[nodiscard]] std::string_view belief_name(BeliefKind kind);

struct Belief {
  std::unique_ptr<InterferenceModel> own{};  // null: the truth
  const InterferenceModel* model = nullptr;  // never null
  Learner* learner = nullptr;                // null: nothing is learned
};

// Of one run. `truth` outlives it.
[[nodiscard]] Belief make_belief(BeliefKind kind, const InterferenceModel& truth);

}  // namespace carpool::simulate
