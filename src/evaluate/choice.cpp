#include "evaluate/choice.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "evaluate/group_worth.hpp"
#include "evaluate/metrics.hpp"
#include "evaluate/policies.hpp"
#include "predict/objective.hpp"

namespace carpool::evaluate {
namespace {

// The rules of which the published "best rule" takes the best for every target, besides random.
constexpr std::array kPublishedRules = {"memcap", "sm-busy", "mem-busy"};

// The test rows among which one target chooses.
struct Candidates {
  std::size_t target = 0;
  std::vector<const dataset::GroupRow*> rows;
  std::vector<Group> groups;
};

Candidates candidates_for(const Trial& trial, std::size_t target) {
  Candidates candidates{.target = target, .rows = {}, .groups = {}};
  for (const dataset::GroupRow& row : trial.test) {
    if (row.contains(target)) {
      candidates.rows.push_back(&row);
      candidates.groups.push_back(row.members);
    }
  }
  return candidates;
}

std::vector<double> measured_values(const ChoiceContext& context,
                                    const predict::Objective& objective,
                                    const Candidates& candidates) {
  std::vector<double> values;
  values.reserve(candidates.rows.size());
  for (const dataset::GroupRow* row : candidates.rows) {
    values.push_back(measured_worth(*context.dataset, objective, *row));
  }
  return values;
}

std::size_t position_of_best(std::span<const double> values) {
  return static_cast<std::size_t>(
      std::distance(values.begin(), std::max_element(values.begin(), values.end())));
}

TargetChoice choose_row(const ChoiceContext& context,
                        const Candidates& candidates,
                        std::span<const double> measured,
                        std::span<const double> predicted) {
  const std::size_t chosen = position_of_best(predicted);
  const double best = *std::max_element(measured.begin(), measured.end());
  return {.trial = context.trial_position,
          .target = candidates.target,
          .chosen = candidates.rows[chosen]->id,
          .score = best > 0.0 ? measured[chosen] / best : 1.0};
}

double random_score(std::span<const double> measured) {
  const double best = *std::max_element(measured.begin(), measured.end());
  return best > 0.0 ? *mean(measured) / best : 1.0;
}

// Without the rules whose metric the dataset lacks.
std::vector<BoundPolicy> competing_rules(const ChoiceContext& context, const std::string& policy) {
  std::vector<BoundPolicy> rules;
  if (policy == "best-rule") {
    for (const char* name : kPublishedRules) {
      if (auto rule = bind_policy(name, *context.dataset, *context.trial, {})) {
        rules.push_back(std::move(*rule));
      }
    }
  }
  return rules;
}

}  // namespace

Result<std::vector<TargetChoice>> choose_for_targets(const ChoiceContext& context,
                                                     const std::string& policy,
                                                     const model::Forecaster* forecaster) {
  const auto kind = predict::find_objective(context.objective);
  if (!kind) {
    return tl::unexpected(kind.error());
  }
  const predict::Objective objective{.kind = *kind, .floor = std::nullopt};
  const std::vector<BoundPolicy> rules = competing_rules(context, policy);
  std::vector<TargetChoice> choices;
  for (const std::size_t target : context.trial->targets) {
    const Candidates candidates = candidates_for(*context.trial, target);
    if (candidates.rows.size() < 2) {
      continue;
    }
    const std::vector<double> measured = measured_values(context, objective, candidates);
    if (forecaster != nullptr) {
      const auto predicted =
          predicted_worth(*context.dataset, objective, *forecaster, candidates.groups);
      choices.push_back(choose_row(context, candidates, measured, predicted));
      continue;
    }
    TargetChoice choice =
        choose_row(context, candidates, measured, measured);  // that of the oracle
    if (policy != "oracle") {
      choice.chosen = std::nullopt;
      choice.score = random_score(measured);
    }
    for (const BoundPolicy& rule : rules) {
      const auto predicted =
          predicted_worth(*context.dataset, objective, *rule.forecaster, candidates.groups);
      choice.score =
          std::max(choice.score, choose_row(context, candidates, measured, predicted).score);
    }
    choices.push_back(choice);
  }
  return choices;
}

std::optional<double> floor_violations(const ChoiceContext& context,
                                       const model::Forecaster& forecaster) {
  const predict::Objective objective{.kind = predict::ObjectiveKind::Throughput,
                                     .floor = context.floor};
  std::vector<double> broken;
  for (const std::size_t target : context.trial->targets) {
    const Candidates candidates = candidates_for(*context.trial, target);
    const auto forecasts = forecaster.forecast(candidates.groups, model::ForecastDetail::PointOnly);
    std::optional<std::size_t> chosen;
    predict::Score best;
    for (std::size_t i = 0; i < forecasts.size(); ++i) {
      if (forecasts[i].members.empty()) {
        return std::nullopt;
      }
      const predict::Score score =
          score_against_recorded(*context.dataset, objective, forecasts[i], candidates.groups[i]);
      if (score.feasible && (!chosen || predict::better(score, best))) {
        chosen = i;
        best = score;
      }
    }
    if (chosen) {
      const dataset::GroupRow& row = *candidates.rows[*chosen];
      const predict::Score truth =
          score_against_recorded(*context.dataset, objective, as_measured(row), row.members);
      broken.push_back(truth.feasible ? 0.0 : 1.0);
    }
  }
  return mean(broken);
}

}  // namespace carpool::evaluate
