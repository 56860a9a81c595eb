// `carpool simulate --validate` as tables and JSON.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/output/simulate_output.hpp"
#include "base/statistics.hpp"
#include "evaluate/metrics.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

json validated_spread(const simulate::Spread& spread) {
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}};
}

std::string signed_percent(double ratio) {
  return fmt::format("{:+.1f}", 100.0 * ratio);
}

json validation_row_json(const simulate::ValidationRow& row) {
  return {
      {"policy", row.policy},
      {"estimator", row.estimator},
      {"fitted_on", row.fitted},
      {"allowed_difference", row.allowed},
      {"met", row.met()},
      {"makespan_s", validated_spread(row.makespan_s)},
      {"published_makespan_s", row.published_makespan_s},
      {"makespan_difference", row.makespan_difference()},
      {"mean_jct_s", validated_spread(row.jct_s)},
      {"published_mean_jct_s", row.published_jct_s},
      {"mean_jct_difference", row.jct_difference()},
      {"p95_jct_s", validated_spread(row.p95_s)},
      {"published_p95_jct_s", row.published_p95_s},
      {"p95_jct_difference", row.p95_difference()},
      {"mean_execution_s", validated_spread(row.execution_s)},
      {"published_mean_execution_s", row.published_execution_s},
      {"out_of_memory", validated_spread(row.out_of_memory)},
      {"published_out_of_memory", row.published_out_of_memory},
      {"recovery_wait_median_s", row.recovery_s ? json(*row.recovery_s) : json()},
      {"energy_mj", validated_spread(row.energy_mj)},
      {"published_energy_mj", row.published_energy_mj ? json(*row.published_energy_mj) : json()}};
}

// Over the rows that share GPUs.
struct Errors {
  double makespan = 0.0;  // mean of the absolute differences
  double jct = 0.0;
  double p95 = 0.0;
  double out_of_memory = 0.0;  // sums over the rows
  double published_out_of_memory = 0.0;
  std::optional<double> recovery_s{};  // median over the rows that have one
  // Rank correlation with the published figures.
  std::optional<double> makespan_rank{};
  std::optional<double> jct_rank{};
  std::optional<double> p95_rank{};
};

std::optional<double> rank_of(const std::vector<simulate::ValidationRow>& rows,
                              double simulate::ValidationRow::* published,
                              simulate::Spread simulate::ValidationRow::* simulated) {
  std::vector<double> theirs;
  std::vector<double> ours;
  for (const simulate::ValidationRow& row : rows) {
    if (row.policy != "exclusive") {
      theirs.push_back(row.*published);
      ours.push_back((row.*simulated).mean);
    }
  }
  return evaluate::spearman(theirs, ours);
}

std::string rank_text(const std::optional<double>& rank) {
  return rank ? fmt::format("{:.2f}", *rank) : "-";
}

json rank_json(const std::optional<double>& rank) {
  return rank ? json(*rank) : json();
}

Errors errors_of(const simulate::Validation& made) {
  Errors errors;
  std::vector<double> recovery;
  double rows = 0.0;
  for (const simulate::ValidationRow& row : made.rows) {
    if (row.policy == "exclusive") {
      continue;
    }
    rows += 1.0;
    errors.makespan += std::abs(row.makespan_difference());
    errors.jct += std::abs(row.jct_difference());
    errors.p95 += std::abs(row.p95_difference());
    errors.out_of_memory += row.out_of_memory.mean;
    errors.published_out_of_memory += row.published_out_of_memory;
    if (row.recovery_s) {
      recovery.push_back(*row.recovery_s);
    }
  }
  errors.makespan /= rows;
  errors.jct /= rows;
  errors.p95 /= rows;
  if (!recovery.empty()) {
    constexpr double kMiddle = 0.5;
    errors.recovery_s = quantile(recovery, kMiddle);
  }
  using Row = simulate::ValidationRow;
  errors.makespan_rank = rank_of(made.rows, &Row::published_makespan_s, &Row::makespan_s);
  errors.jct_rank = rank_of(made.rows, &Row::published_jct_s, &Row::jct_s);
  errors.p95_rank = rank_of(made.rows, &Row::published_p95_s, &Row::p95_s);
  return errors;
}

}  // namespace

std::string validation_table(const std::vector<simulate::ValidationRow>& rows, bool colour) {
  TextTable table(colour);
  for (const char* heading : {"policy", "estimator"}) {
    table.add_column(heading, TextTable::Align::Left);
  }
  for (const char* heading : {"makespan s",
                              "published s",
                              "diff %",
                              "mean JCT s",
                              "published s",
                              "diff %",
                              "p95 JCT s",
                              "published s",
                              "diff %",
                              "OOM",
                              "published",
                              "recovery s",
                              "allowed %",
                              "met"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const simulate::ValidationRow& row : rows) {
    table.add_row({row.policy,
                   row.fitted ? fmt::format("{} (fitted)", row.estimator) : row.estimator,
                   fmt::format("{:.0f}", row.makespan_s.mean),
                   fmt::format("{:.0f}", row.published_makespan_s),
                   signed_percent(row.makespan_difference()),
                   fmt::format("{:.0f}", row.jct_s.mean),
                   fmt::format("{:.0f}", row.published_jct_s),
                   signed_percent(row.jct_difference()),
                   fmt::format("{:.0f}", row.p95_s.mean),
                   fmt::format("{:.0f}", row.published_p95_s),
                   signed_percent(row.p95_difference()),
                   fmt::format("{:.1f}", row.out_of_memory.mean),
                   fmt::format("{:.0f}", row.published_out_of_memory),
                   row.recovery_s ? fmt::format("{:.0f}", *row.recovery_s) : "-",
                   fmt::format("{:.0f}", 100.0 * row.allowed),
                   row.met() ? "yes" : "NO"});
  }
  return table.render();
}

std::string contention_table(const std::vector<simulate::Validation>& factors, bool colour) {
  TextTable table(colour);
  for (const char* heading : {"factor",
                              "makespan diff %",
                              "rank",
                              "mean JCT diff %",
                              "rank",
                              "p95 JCT diff %",
                              "rank",
                              "OOM",
                              "published",
                              "recovery s",
                              "CARMA ratio",
                              "published"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const simulate::Validation& made : factors) {
    const Errors errors = errors_of(made);
    table.add_row({fmt::format("{:g}", made.contention),
                   fmt::format("{:.1f}", 100.0 * errors.makespan),
                   rank_text(errors.makespan_rank),
                   fmt::format("{:.1f}", 100.0 * errors.jct),
                   rank_text(errors.jct_rank),
                   fmt::format("{:.1f}", 100.0 * errors.p95),
                   rank_text(errors.p95_rank),
                   fmt::format("{:.1f}", errors.out_of_memory),
                   fmt::format("{:.0f}", errors.published_out_of_memory),
                   errors.recovery_s ? fmt::format("{:.0f}", *errors.recovery_s) : "-",
                   fmt::format("{:.3f}", made.carma_ratio),
                   fmt::format("{:.3f}", simulate::kPublishedCarmaRatio)});
  }
  return table.render();
}

json validation_json(const std::vector<simulate::Validation>& factors, std::size_t seeds) {
  json out = {{"against", "AEGIS, philly60 on 3xA100-40"},
              {"runs", seeds},
              {"rows", json::array()},
              {"factors", json::array()}};
  for (const simulate::Validation& made : factors) {
    const Errors errors = errors_of(made);
    json rows = json::array();
    for (const simulate::ValidationRow& row : made.rows) {
      rows.push_back(validation_row_json(row));
    }
    if (made.contention == simulate::kTraceContention) {
      out["rows"] = rows;
    }
    out["factors"].push_back(
        {{"contention", made.contention},
         {"makespan_difference", errors.makespan},
         {"makespan_rank", rank_json(errors.makespan_rank)},
         {"mean_jct_difference", errors.jct},
         {"mean_jct_rank", rank_json(errors.jct_rank)},
         {"p95_jct_difference", errors.p95},
         {"p95_jct_rank", rank_json(errors.p95_rank)},
         {"out_of_memory", errors.out_of_memory},
         {"published_out_of_memory", errors.published_out_of_memory},
         {"recovery_wait_median_s", errors.recovery_s ? json(*errors.recovery_s) : json()},
         {"carma_ratio", made.carma_ratio},
         {"published_carma_ratio", simulate::kPublishedCarmaRatio},
         {"rows", std::move(rows)}});
  }
  return out;
}

}  // namespace carpool::app
