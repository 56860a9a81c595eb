#include "simulate/belief.hpp"

#include <array>
#include <span>

#include "base/text/names.hpp"
#include "knowledge/beliefs.hpp"

namespace carpool::simulate {
namespace {

struct NamedBelief {
  std::string_view name;
  BeliefKind kind;
};
constexpr std::array kBeliefs = {NamedBelief{"learned", BeliefKind::Learned},
                                 NamedBelief{"truth", BeliefKind::Truth},
                                 NamedBelief{"blind", BeliefKind::Blind}};

}  // namespace

Result<BeliefKind> belief_kind(std::string_view name) {
  return find_named(std::span<const NamedBelief>(kBeliefs), "belief", name)
      .map([](const NamedBelief* found) { return found->kind; });
}

std::string_view belief_name(BeliefKind kind) {
  for (const NamedBelief& known : kBeliefs) {
    if (known.kind == kind) {
      return known.name;
    }
  }
  return "";
}

Belief make_belief(BeliefKind kind, const InterferenceModel& truth) {
  if (kind == BeliefKind::Truth) {
    return {.model = &truth};
  }
  auto beliefs = std::make_unique<knowledge::Beliefs>();
  Learner* const learner = kind == BeliefKind::Learned ? beliefs.get() : nullptr;
  const InterferenceModel* const model = beliefs.get();
  return {.own = std::move(beliefs), .model = model, .learner = learner};
}

}  // namespace carpool::simulate
