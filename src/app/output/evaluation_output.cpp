#include "app/output/evaluation_output.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "model/registry.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// Scores that differ by less are a tie: the same rows were chosen and summed in another order.
constexpr double kTie = 1e-9;

json result_to_json(const evaluate::PolicyResult& result) {
  return {{"name", result.name},
          {"group_size", result.group_size},
          {"score_mean", or_null(result.score_mean)},
          {"score_sd", or_null(result.score_sd)},
          {"score_worst", or_null(result.score_worst)},
          {"mape_sum", or_null(result.mape_sum)},
          {"mape_member", or_null(result.mape_member)},
          {"r2", or_null(result.r2)},
          {"spearman", or_null(result.spearman)},
          {"mse_z", or_null(result.mse_z)},
          {"coverage90", or_null(result.coverage90)},
          {"width90", or_null(result.width90)},
          {"coverage90_sum", or_null(result.coverage90_sum)},
          {"width90_sum", or_null(result.width90_sum)},
          {"floor_violations", or_null(result.floor_violations)},
          {"assignment", or_null(result.assignment)},
          {"train_seconds", or_null(result.train_seconds)},
          {"splits", result.splits}};
}

json noise_to_json(const std::optional<evaluate::Noise>& noise) {
  return noise ? json{{"groups", noise->groups},
                      {"member_median", noise->member_median},
                      {"member_mean", noise->member_mean}}
               : json(nullptr);
}

json choices_to_json(const EvaluationListing& listing, const evaluate::PolicyResult& result) {
  json choices = json::array();
  for (const evaluate::TargetChoice& choice : result.choices) {
    json entry = {{"split", listing.plan.trials[choice.trial].label},
                  {"target", listing.dataset.profiles[choice.target].workload},
                  {"row", nullptr},
                  {"group", nullptr},
                  {"score", choice.score}};
    const auto& rows = listing.plan.trials[choice.trial].test;
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const dataset::GroupRow& candidate) {
          return choice.chosen == candidate.id;
        });
    if (row != rows.end()) {
      entry["row"] = row->id;
      entry["group"] = json::array();
      for (const GroupMember& member : row->members) {
        entry["group"].push_back(listing.dataset.profiles[member.profile].workload);
      }
    }
    choices.push_back(std::move(entry));
  }
  return choices;
}

std::size_t times_best(const std::vector<TargetSummary>& summaries, std::size_t policy) {
  return static_cast<std::size_t>(
      std::count_if(summaries.begin(), summaries.end(), [&](const TargetSummary& summary) {
        return std::find(summary.best.begin(), summary.best.end(), policy) != summary.best.end();
      }));
}

}  // namespace

std::vector<TargetSummary> summarise_targets(const EvaluationListing& listing) {
  // target -> per policy: sum of scores, count
  std::map<std::size_t, std::vector<std::pair<double, double>>> sums;
  for (std::size_t policy = 0; policy < listing.results.size(); ++policy) {
    for (const evaluate::TargetChoice& choice : listing.results[policy].choices) {
      auto& entry = sums[choice.target];
      entry.resize(listing.results.size());
      entry[policy].first += choice.score;
      entry[policy].second += 1.0;
    }
  }
  std::vector<TargetSummary> summaries;
  for (const auto& [target, entries] : sums) {
    TargetSummary summary{.target = target, .scores = {}, .best = {}};
    double best = 0.0;
    for (std::size_t policy = 0; policy < entries.size(); ++policy) {
      const auto& [sum, count] = entries[policy];
      summary.scores.push_back(count > 0.0 ? sum / count : 0.0);
      if (listing.results[policy].name != "oracle") {
        best = std::max(best, summary.scores.back());
      }
    }
    for (std::size_t policy = 0; policy < entries.size(); ++policy) {
      if (listing.results[policy].name != "oracle" && summary.scores[policy] >= best - kTie) {
        summary.best.push_back(policy);
      }
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

json evaluation_to_json(const EvaluationListing& listing, bool per_target) {
  json out = {{"protocol", listing.plan.protocol},
              {"data", listing.dataset.folder.string()},
              {"noise", noise_to_json(listing.plan.noise)},
              {"results", json::array()}};
  const auto summaries = summarise_targets(listing);
  for (std::size_t policy = 0; policy < listing.results.size(); ++policy) {
    json entry = result_to_json(listing.results[policy]);
    if (per_target) {
      entry["targets"] = choices_to_json(listing, listing.results[policy]);
      entry["best_in"] = times_best(summaries, policy);
      entry["best_of"] = summaries.size();
    }
    out["results"].push_back(std::move(entry));
  }
  return out;
}

void print_evaluation(const EvaluationListing& listing, const Output& output) {
  output.heading(listing.plan.description);
  TextTable table(output.colour());
  table.add_column("policy", TextTable::Align::Left);
  for (const char* heading : {"score [%]",
                              "sd",
                              "worst",
                              "MAPE sum [%]",
                              "member [%]",
                              "R²",
                              "Spearman",
                              "covered [%]",
                              "width [%]",
                              "floor violated [%]",
                              "train [ms]"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  const bool assigned = std::ranges::any_of(
      listing.results,
      [](const evaluate::PolicyResult& result) { return result.assignment.has_value(); });
  if (assigned) {
    table.add_column("assigned [%]", TextTable::Align::Right);
  }
  const auto plain = [](std::optional<double> value) {
    return value ? fmt::format("{:.3f}", *value) : std::string("-");
  };
  for (const evaluate::PolicyResult& result : listing.results) {
    std::vector<std::string> cells = {
        result.name,
        percent(result.score_mean, 2),
        percent(result.score_sd),
        percent(result.score_worst),
        percent(result.mape_sum),
        percent(result.mape_member),
        plain(result.r2),
        plain(result.spearman),
        percent(result.coverage90),
        percent(result.width90),
        percent(result.floor_violations),
        result.train_seconds ? number(*result.train_seconds * 1e3) : "-"};
    if (assigned) {
      cells.push_back(percent(result.assignment, 2));
    }
    table.add_row(std::move(cells), result.name == model::kDefaultModel);
  }
  output.print(table.render());
  const bool scored = std::ranges::any_of(
      listing.results, [](const evaluate::PolicyResult& result) { return result.splits > 0; });
  if (!scored) {
    output.remark(
        "No score: no workload has two test rows to choose between. Train on fewer rows "
        "(--n-occur, --train-fraction) or measure more groups.");
  }
  if (const auto& noise = listing.plan.noise) {
    output.remark(fmt::format(
        "Noise: in {} groups measured more than once, a member differs by {} % (median; mean {} %) "
        "between runs.",
        noise->groups,
        percent(noise->member_median),
        percent(noise->member_mean)));
  }
}

void print_targets(const EvaluationListing& listing, const Output& output) {
  const auto summaries = summarise_targets(listing);
  TextTable table(output.colour());
  table.add_column("target: score [%], mean over splits", TextTable::Align::Left);
  for (const evaluate::PolicyResult& result : listing.results) {
    table.add_column(result.name, TextTable::Align::Right);
  }
  for (const TargetSummary& summary : summaries) {
    std::vector<std::string> cells = {listing.dataset.profiles[summary.target].workload};
    for (const double score : summary.scores) {
      cells.push_back(percent(score));
    }
    table.add_row(std::move(cells));
  }
  output.print(fmt::format("\n{}\n", table.render()));
  for (std::size_t policy = 0; policy < listing.results.size(); ++policy) {
    if (const std::size_t count = times_best(summaries, policy); count > 0) {
      output.print(fmt::format("{}: best (or tied) in {} of {} targets\n",
                               listing.results[policy].name,
                               count,
                               summaries.size()));
    }
  }
}

}  // namespace carpool::app
