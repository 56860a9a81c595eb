#include "evaluate/policies.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "model/registry.hpp"
#include "model/rules.hpp"

namespace carpool::evaluate {
namespace {

// A rule as a forecaster of preferences only.
class RuleForecaster final : public model::Forecaster {
 public:
  RuleForecaster(const model::Rule& rule, std::span<const Profile> profiles)
      : rule_(rule), profiles_(profiles) {}

  [[nodiscard]] std::vector<GroupForecast> forecast(
      std::span<const Group> candidates, model::ForecastDetail /*detail*/) const override {
    std::vector<GroupForecast> out(candidates.size());
    // The profiles were checked when the rule was bound.
    const auto preferences = model::rule_preferences(rule_, profiles_, candidates);
    for (std::size_t i = 0; preferences && i < out.size(); ++i) {
      out[i].preference = (*preferences)[i];
    }
    return out;
  }

 private:
  const model::Rule& rule_;
  std::span<const Profile> profiles_;
};

Result<BoundPolicy> bind_rule(const model::Rule& rule, const dataset::Dataset& dataset) {
  BoundPolicy bound;
  if (rule.needs_truth) {
    return bound;
  }
  if (const auto usable = model::rule_preferences(rule, dataset.profiles, {}); !usable) {
    return tl::unexpected(usable.error());
  }
  bound.forecaster = std::make_unique<RuleForecaster>(rule, dataset.profiles);
  return bound;
}

Result<BoundPolicy> bind_model(const model::ModelKind& kind,
                               const dataset::Dataset& dataset,
                               const Trial& trial,
                               const EvaluationOptions& options) {
  model::TrainingSet training;
  training.dataset = &dataset;
  for (std::size_t i = 0; i < trial.training.size(); ++i) {
    const dataset::GroupRow& row = trial.training[i];
    const bool limited = !unlimited(row.members);
    (limited ? training.partitions : training.rows).push_back(row);
    training.fit_rows += !limited && i < trial.fit_rows ? 1U : 0U;
  }
  if (training.rows.empty()) {
    return invalid_input(fmt::format("{}: no training rows without thread limits", trial.label));
  }
  training.features = options.features;
  training.seed = options.seed;
  training.time_budget_s = options.time_budget_s;
  const Stopwatch watch;
  auto model = kind.train(training);
  if (!model) {
    return tl::unexpected(model.error());
  }
  BoundPolicy bound;
  bound.train_seconds = watch.seconds();
  bound.model = std::move(*model);
  auto forecaster = bound.model->bind(dataset.profiles);
  if (!forecaster) {
    return tl::unexpected(forecaster.error());
  }
  bound.forecaster = std::move(*forecaster);
  return bound;
}

}  // namespace

Result<BoundPolicy> bind_policy(const std::string& name,
                                const dataset::Dataset& dataset,
                                const Trial& trial,
                                const EvaluationOptions& options) {
  if (const auto rule = model::find_rule(name)) {
    return bind_rule(**rule, dataset);
  }
  if (const auto kind = model::find_model_kind(name)) {
    return bind_model(**kind, dataset, trial, options);
  }
  return fail(ErrorCode::NotFound,
              fmt::format("no model or rule has this name; known: {}",
                          fmt::join(policy_names(/*include_slow=*/true), ", ")));
}

std::vector<std::string> policy_names(bool include_slow) {
  std::vector<std::string> names;
  for (const model::ModelKind& kind : model::model_kinds()) {
    if (include_slow || !kind.slow) {
      names.emplace_back(kind.name);
    }
  }
  for (const model::Rule& rule : model::rules()) {
    names.emplace_back(rule.name);
  }
  return names;
}

}  // namespace carpool::evaluate
