// Sections of the report on evaluation results.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "app/report/report_sections.hpp"
#include "model/registry.hpp"
#include "model/rules.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kOurs = 0;
constexpr std::size_t kPublished = 1;
constexpr std::size_t kRule = 2;

std::size_t kind_of(const std::string& policy) {
  return policy == model::kDefaultModel   ? kOurs
         : model::find_model_kind(policy) ? kPublished
                                          : kRule;
}

const evaluate::PolicyResult* find_result(const std::vector<evaluate::PolicyResult>& results,
                                          std::string_view name) {
  const auto found =
      std::find_if(results.begin(), results.end(), [&](const evaluate::PolicyResult& result) {
        return result.name == name;
      });
  return found == results.end() ? nullptr : &*found;
}

// Worst and best trial, in percent.
std::optional<Interval> trial_range(const evaluate::PolicyResult& result) {
  if (result.choices.empty()) {
    return std::nullopt;
  }
  std::map<std::size_t, std::pair<double, double>> trials;
  for (const evaluate::TargetChoice& choice : result.choices) {
    trials[choice.trial].first += choice.score;
    trials[choice.trial].second += 1.0;
  }
  Interval range{.low = 100.0, .high = 0.0};
  for (const auto& [trial, sum] : trials) {
    const double score = 100.0 * sum.first / sum.second;
    range = {std::min(range.low, score), std::max(range.high, score)};
  }
  return range;
}

std::string group_name(const dataset::Dataset& dataset, const Group& group) {
  std::string name;
  for (const GroupMember& member : group) {
    name += name.empty() ? "" : " + ";
    name += dataset.profiles[member.profile].workload;
  }
  return name;
}

double percent_or_none(std::optional<double> ratio) {
  return ratio ? 100.0 * *ratio : report::kNoValue;
}

report::Figure numbers_table(const EvaluationListing& listing) {
  report::ReportTable table;
  table.columns = {{.heading = "policy", .align = report::Align::Left},
                   {.heading = "score", .unit = "%", .decimals = 2},
                   {.heading = "worst train/test split", .unit = "%"},
                   {.heading = "error of the sum", .unit = "%"},
                   {.heading = "error of a member", .unit = "%"},
                   {.heading = "inside the 90 % interval", .unit = "%"},
                   {.heading = "training", .unit = "ms", .decimals = 2}};
  for (const evaluate::PolicyResult& result : listing.results) {
    table.rows.push_back(
        {.cells = {result.name,
                   percent_or_none(result.score_mean),
                   percent_or_none(result.score_worst),
                   percent_or_none(result.mape_sum),
                   percent_or_none(result.mape_member),
                   percent_or_none(result.coverage90),
                   result.train_seconds ? 1e3 * *result.train_seconds : report::kNoValue},
         .highlight = result.name == model::kDefaultModel});
  }
  return {.title = "The same results as numbers",
          .caption =
              "Means over the train/test splits. Errors are mean absolute percentage errors on "
              "test rows.",
          .content = std::move(table)};
}

}  // namespace

std::vector<report::KeyFigure> key_figures(const EvaluationListing& listing) {
  std::vector<report::KeyFigure> figures;
  const evaluate::PolicyResult* ours = find_result(listing.results, model::kDefaultModel);
  const evaluate::PolicyResult* kace = find_result(listing.results, "kace-lr");
  if (ours == nullptr) {
    return figures;
  }
  const auto against = [&](std::optional<double> value) {
    return value ? fmt::format("KACE: {:.1f} %", 100.0 * *value) : std::string();
  };
  if (ours->score_mean) {
    figures.push_back({.value = fmt::format("{:.1f} %", 100.0 * *ours->score_mean),
                       .label = "of the best possible throughput",
                       .detail = against(kace == nullptr ? std::nullopt : kace->score_mean)});
  }
  if (ours->mape_sum) {
    figures.push_back({.value = fmt::format("{:.1f} %", 100.0 * *ours->mape_sum),
                       .label = "mean error of a group's predicted throughput",
                       .detail = against(kace == nullptr ? std::nullopt : kace->mape_sum)});
  }
  if (ours->coverage90) {
    figures.push_back({.value = fmt::format("{:.0f} %", 100.0 * *ours->coverage90),
                       .label = "of members inside their 90 % interval",
                       .detail = "KACE gives no interval"});
  }
  figures.push_back({.value = std::to_string(listing.plan.trials.front().training.size()),
                     .label = "measured groups in the training data",
                     .detail = fmt::format("{} train/test splits", listing.plan.trials.size())});
  return figures;
}

report::ReportSection policies_section(const EvaluationListing& listing) {
  report::BarChart chart{
      .value = {.name = "throughput of the chosen group", .unit = "% of the best"},
      .spread_name = "worst and best split",
      .kinds = {"share (ours)", "published model", "rule"},
      .reference = report::ReferenceLine{.value = 100.0, .label = "oracle"}};
  std::vector<const evaluate::PolicyResult*> order;
  for (const evaluate::PolicyResult& result : listing.results) {
    if (result.name != "oracle") {
      order.push_back(&result);
    }
  }
  std::sort(order.begin(),
            order.end(),
            [](const evaluate::PolicyResult* left, const evaluate::PolicyResult* right) {
              return left->score_mean > right->score_mean;
            });
  for (const evaluate::PolicyResult* result : order) {
    chart.bars.push_back({.label = result->name,
                          .value = percent_or_none(result->score_mean),
                          .spread = trial_range(*result),
                          .kind = kind_of(result->name)});
  }
  return {
      .heading = "Policies against the oracle",
      .paragraphs = {"Every workload chooses a partner among measured groups that the policy has "
                     "not seen. 100 % is the choice of an oracle that knows all measurements.",
                     listing.plan.description + "."},
      .figures = {{.title = "Quality of the chosen groups",
                   .caption = "Mean over targets and splits; whiskers span the splits.",
                   .content = std::move(chart)},
                  numbers_table(listing)}};
}

report::ReportSection targets_section(const EvaluationListing& listing) {
  report::GroupedBarChart chart{.category_name = "target",
                                .value = {.name = "score", .unit = "% of the best"}};
  const auto summaries = summarise_targets(listing);
  for (const TargetSummary& summary : summaries) {
    chart.categories.push_back(listing.dataset.profiles[summary.target].workload);
  }
  for (const std::string_view name :
       {model::kDefaultModel, std::string_view("kace-lr"), std::string_view("best-rule")}) {
    for (std::size_t policy = 0; policy < listing.results.size(); ++policy) {
      if (listing.results[policy].name == name) {
        report::Series series{.name = std::string(name), .highlight = name == model::kDefaultModel};
        for (const TargetSummary& summary : summaries) {
          series.values.push_back(100.0 * summary.scores[policy]);
        }
        chart.series.push_back(std::move(series));
      }
    }
  }
  return {
      .heading = "Target by target",
      .paragraphs = {"The same choices, for each workload that chooses a partner (the target)."},
      .figures = {{.title = "Score of each target",
                   .caption = "Mean over the splits in which the target could choose.",
                   .content = std::move(chart)}}};
}

report::ReportSection sizes_section(const std::vector<SizeResult>& sizes) {
  report::LineChart chart{.x = {.name = "training occurrences of each workload", .decimals = 0},
                          .y = {.name = "score", .unit = "% of the best"},
                          .y_max = 100.0};
  for (const SizeResult& size : sizes) {
    chart.xs.push_back(size.n_occur);
  }
  if (!sizes.empty()) {
    for (const evaluate::PolicyResult& first : sizes.front().results) {
      if (first.name == "oracle" || first.name == "random") {
        continue;
      }
      report::Series series{.name = first.name, .highlight = first.name == model::kDefaultModel};
      for (const SizeResult& size : sizes) {
        const evaluate::PolicyResult* result = find_result(size.results, first.name);
        series.values.push_back(result == nullptr ? report::kNoValue
                                                  : percent_or_none(result->score_mean));
      }
      chart.series.push_back(std::move(series));
    }
  }
  return {.heading = "Score by amount of training data",
          .paragraphs = {"Each workload appears in at least this number of measured groups in the "
                         "training data."},
          .figures = {{.title = "Score by training size",
                       .caption = "Mean over splits; more measured groups to the right.",
                       .content = std::move(chart)}}};
}

report::ReportSection accuracy_section(const EvaluationListing& listing) {
  report::ScatterChart chart{
      .value = {.name = "throughput of the group", .unit = listing.dataset.info.throughput_unit},
      .band = 0.2};
  for (const std::string_view name : {std::string_view("kace-lr"), model::kDefaultModel}) {
    const evaluate::PolicyResult* result = find_result(listing.results, name);
    if (result == nullptr) {
      continue;
    }
    report::ScatterSeries series{.name = std::string(name),
                                 .highlight = name == model::kDefaultModel};
    for (const evaluate::RowForecast& forecast : result->forecasts) {
      if (forecast.trial == 0 && forecast.forecast.sum) {
        series.points.push_back({.label = group_name(listing.dataset, forecast.row.members),
                                 .measured = forecast.row.sum(),
                                 .predicted = *forecast.forecast.sum});
      }
    }
    chart.series.push_back(std::move(series));
  }
  return {
      .heading = "Predicted against measured",
      .paragraphs = {fmt::format("Test rows of the first split ({}).",
                                 listing.plan.trials.front().label)},
      .figures = {
          {.title = "Throughput of the whole group",
           .caption =
               "On the line, the prediction equals the measurement; the band is 20 % around it.",
           .content = std::move(chart)}}};
}

}  // namespace carpool::app
