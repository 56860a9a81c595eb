#include "evaluate/evaluation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "evaluate/accuracy.hpp"
#include "evaluate/choice.hpp"
#include "evaluate/metrics.hpp"
#include "evaluate/pairing.hpp"
#include "evaluate/policies.hpp"

namespace carpool::evaluate {
namespace {

// Averages a figure over the trials in which it exists.
class Averages {
 public:
  void add(std::optional<double> value) {
    if (value) {
      values_.push_back(*value);
    }
  }
  [[nodiscard]] std::optional<double> get() const { return mean(values_); }

 private:
  std::vector<double> values_;
};

// Collects the trials of one policy into its result.
class ResultBuilder {
 public:
  ResultBuilder(std::string name, std::size_t group_size) {
    result_.name = std::move(name);
    result_.group_size = group_size;
  }

  void add_accuracy(const Accuracy& accuracy) {
    mape_sum_.add(accuracy.mape_sum);
    mape_member_.add(accuracy.mape_member);
    r2_.add(accuracy.r2);
    spearman_.add(accuracy.spearman);
    mse_z_.add(accuracy.mse_z);
    coverage90_.add(accuracy.coverage90);
    width90_.add(accuracy.width90);
    coverage90_sum_.add(accuracy.coverage90_sum);
    width90_sum_.add(accuracy.width90_sum);
  }

  void add_choices(const std::vector<TargetChoice>& choices) {
    if (choices.empty()) {
      return;
    }
    std::vector<double> scores;
    for (const TargetChoice& choice : choices) {
      scores.push_back(choice.score);
      result_.choices.push_back(choice);
    }
    const double score = *mean(scores);
    scores_.push_back(score);
    result_.score_worst = std::min(result_.score_worst.value_or(score), score);
  }

  void add_floor(std::optional<double> violations) { floor_.add(violations); }
  void add_assignment(std::optional<double> score) { assignment_.add(score); }
  void add_seconds(std::optional<double> seconds) { seconds_.add(seconds); }
  void add_forecast(RowForecast forecast) { result_.forecasts.push_back(std::move(forecast)); }

  [[nodiscard]] PolicyResult finish() {
    result_.score_mean = mean(scores_);
    result_.score_sd = standard_deviation(scores_);
    result_.mape_sum = mape_sum_.get();
    result_.mape_member = mape_member_.get();
    result_.r2 = r2_.get();
    result_.spearman = spearman_.get();
    result_.mse_z = mse_z_.get();
    result_.coverage90 = coverage90_.get();
    result_.width90 = width90_.get();
    result_.coverage90_sum = coverage90_sum_.get();
    result_.width90_sum = width90_sum_.get();
    result_.floor_violations = floor_.get();
    result_.assignment = assignment_.get();
    result_.train_seconds = seconds_.get();
    result_.splits = scores_.size();
    return std::move(result_);
  }

 private:
  PolicyResult result_;
  std::vector<double> scores_;
  Averages mape_sum_, mape_member_, r2_, spearman_, mse_z_, coverage90_, width90_, coverage90_sum_,
      width90_sum_, floor_, assignment_, seconds_;
};

std::vector<Group> groups_of(const std::vector<dataset::GroupRow>& rows) {
  std::vector<Group> groups;
  groups.reserve(rows.size());
  for (const dataset::GroupRow& row : rows) {
    groups.push_back(row.members);
  }
  return groups;
}

Result<void> judge_trial(const std::string& name,
                         const dataset::Dataset& dataset,
                         const EvaluationPlan& plan,
                         std::size_t position,
                         const EvaluationOptions& options,
                         ResultBuilder& builder) {
  const Trial& trial = plan.trials[position];
  const auto policy = bind_policy(name, dataset, trial, options);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  const ChoiceContext context{.dataset = &dataset,
                              .trial = &trial,
                              .trial_position = position,
                              .objective = options.objective,
                              .floor = options.floor};
  auto choices = choose_for_targets(context, name, policy->forecaster.get());
  if (!choices) {
    return tl::unexpected(choices.error());
  }
  builder.add_choices(*choices);
  builder.add_seconds(policy->train_seconds);
  if (policy->forecaster == nullptr) {
    return {};
  }
  builder.add_floor(floor_violations(context, *policy->forecaster));
  const auto objective = predict::find_objective(options.objective);
  builder.add_assignment(pairing_score(
      dataset, {.kind = *objective, .floor = std::nullopt}, trial, *policy->forecaster));
  const std::vector<GroupForecast> forecasts =
      policy->forecaster->forecast(groups_of(trial.test), model::ForecastDetail::WithIntervals);
  builder.add_accuracy(measure_accuracy(trial.test, forecasts));
  if (options.keep_forecasts) {
    for (std::size_t i = 0; i < forecasts.size(); ++i) {
      builder.add_forecast({.trial = position, .row = trial.test[i], .forecast = forecasts[i]});
    }
  }
  return {};
}

Result<PolicyResult> judge_policy(const std::string& name,
                                  const dataset::Dataset& dataset,
                                  const EvaluationPlan& plan,
                                  const EvaluationOptions& options) {
  ResultBuilder builder(name, plan.group_size);
  for (std::size_t position = 0; position < plan.trials.size(); ++position) {
    if (auto judged = judge_trial(name, dataset, plan, position, options, builder); !judged) {
      return fail(judged.error().code, fmt::format("{}: {}", name, judged.error().message));
    }
    if (options.on_progress) {
      options.on_progress(fmt::format("{}, {}", name, plan.trials[position].label));
    }
  }
  return builder.finish();
}

}  // namespace

Result<std::vector<PolicyResult>> evaluate(const dataset::Dataset& dataset,
                                           const EvaluationPlan& plan,
                                           const std::vector<std::string>& policies,
                                           const EvaluationOptions& options) {
  std::vector<PolicyResult> results;
  for (const std::string& name : policies) {
    auto result = judge_policy(name, dataset, plan, options);
    if (result) {
      results.push_back(std::move(*result));
    } else if (options.skip_unsupported && result.error().code == ErrorCode::Unsupported) {
      log_warning(fmt::format("skipped: {}", result.error().message));
    } else {
      return tl::unexpected(result.error());
    }
  }
  return results;
}

}  // namespace carpool::evaluate
