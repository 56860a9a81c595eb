#include "app/output/estimate_output.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

json score_to_json(const estimate::EstimatorScore& score) {
  return {{"estimator", score.estimator},
          {"family", score.family},
          {"rows", score.rows},
          {"unanswered", score.unanswered},
          {"accuracy_1gb", or_null(score.accuracy_1gb)},
          {"accuracy_2gb", or_null(score.accuracy_2gb)},
          {"accuracy_8gb", or_null(score.accuracy_8gb)},
          {"mape", or_null(score.mape)},
          {"mape_above_context", or_null(score.mape_above_context)},
          {"median_error", or_null(score.median_error)},
          {"under", or_null(score.under)},
          {"under_5", or_null(score.under_5)},
          {"mean_over_gb", or_null(score.mean_over_gb)},
          {"bound_covers", or_null(score.bound_covers)},
          {"bound_under_5", or_null(score.bound_under_5)},
          {"bound_waste", or_null(score.bound_waste)},
          {"bound_waste_median", or_null(score.bound_waste_median)},
          {"bound_waste_gb", or_null(score.bound_waste_gb)},
          {"bound_ratio_median", or_null(score.bound_ratio_median)},
          {"microseconds", or_null(score.microseconds)}};
}

std::string sized(std::optional<double> value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::vector<std::string> cells_of(const estimate::EstimatorScore& score) {
  return {score.estimator,
          score.family,
          fmt::format("{}", score.rows),
          fmt::format("{}", score.unanswered),
          percent(score.accuracy_1gb),
          percent(score.accuracy_2gb),
          percent(score.accuracy_8gb),
          percent(score.mape, 2),
          percent(score.mape_above_context, 2),
          percent(score.under),
          percent(score.under_5),
          sized(score.mean_over_gb),
          percent(score.bound_covers),
          percent(score.bound_waste),
          score.microseconds ? number(*score.microseconds) : "-"};
}

}  // namespace

json estimates_to_json(const EstimateListing& listing, bool per_row) {
  json out = {{"file", listing.file},
              {"from", listing.view},
              {"split", listing.split},
              {"rows", listing.rows.size()},
              {"without_model", listing.without_model},
              {"results", json::array()}};
  for (const estimate::EstimatorResult& result : listing.results) {
    json entry = {{"scores", json::array()}};
    for (const estimate::EstimatorScore& score : result.scores) {
      entry["scores"].push_back(score_to_json(score));
    }
    if (!result.refused.empty()) {
      entry["refused"] = result.refused;
    }
    if (per_row) {
      entry["estimates"] = json::array();
      for (const estimate::RowEstimate& estimate : result.estimates) {
        entry["estimates"].push_back({{"line", listing.rows[estimate.row].line},
                                      {"truth", listing.rows[estimate.row].truth()},
                                      {"finished", listing.rows[estimate.row].finished},
                                      {"microseconds", estimate.seconds * 1e6},
                                      {"expected", estimate.expected},
                                      {"upper", estimate.upper}});
      }
    }
    out["results"].push_back(std::move(entry));
  }
  return out;
}

void print_estimates(const EstimateListing& listing, const Output& output) {
  output.heading(fmt::format("{}: {} measured jobs, described as {}, train/test split {}",
                             listing.file,
                             listing.rows.size(),
                             listing.view,
                             listing.split));
  TextTable table(output.colour());
  table.add_column("estimator", TextTable::Align::Left);
  table.add_column("family", TextTable::Align::Left);
  for (const char* heading : {"jobs",
                              "no answer",
                              "1-GB class [%]",
                              "2-GB [%]",
                              "8-GB [%]",
                              "MAPE [%]",
                              "above context [%]",
                              "under [%]",
                              "under by > 5 % [%]",
                              "mean over [GB]",
                              "bound covers [%]",
                              "bound waste [%]",
                              "time [µs]"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const estimate::EstimatorResult& result : listing.results) {
    for (const estimate::EstimatorScore& score : result.scores) {
      table.add_row(
          cells_of(score),
          score.estimator == estimate::kCarpoolEstimator && &score == &result.scores.front());
    }
  }
  output.print(table.render());
  for (const estimate::EstimatorResult& result : listing.results) {
    if (!result.refused.empty()) {
      output.remark(fmt::format("{}: {}\n", result.scores.front().estimator, result.refused));
    }
  }
  if (listing.without_model > 0) {
    output.remark(
        fmt::format("{} rows are left out: they describe no model that can be estimated.\n",
                    listing.without_model));
  }
}

}  // namespace carpool::app
