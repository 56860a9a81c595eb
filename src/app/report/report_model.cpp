// Sections of the report that come from a fitted model.
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/report/report_sections.hpp"
#include "model/share/share_model.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {
namespace {

// Measured throughput of each workload beside each other, by profile.
std::map<std::pair<std::size_t, std::size_t>, double> measured_pairs(
    const dataset::GroupTable& table) {
  std::map<std::pair<std::size_t, std::size_t>, double> measured;
  if (table.group_size == 2) {
    for (const dataset::GroupRow& row : table.rows) {
      const std::size_t left = row.members[0].profile;
      const std::size_t right = row.members[1].profile;
      measured[{left, right}] = row.throughput[0];
      measured[{right, left}] = row.throughput[1];
    }
  }
  return measured;
}

std::vector<std::size_t> trained_profiles(const dataset::Dataset& dataset,
                                          const model::ThroughputModel& model) {
  std::vector<std::size_t> trained;
  for (const std::string& name : model.card().workloads) {
    if (const auto found = dataset.find(name)) {
      trained.push_back(*found);
    }
  }
  return trained;
}

std::string in_words(double over_recorded, double weight, double headroom) {
  std::string words = weight > 1.5    ? "pushes others aside"
                      : weight < 0.67 ? "yields to others"
                                      : "presses as most do";
  words += headroom > 1.3 ? ", leaves the GPU idle at times" : ", fills the GPU";
  if (over_recorded < 0.67 || over_recorded > 2.0) {
    words += "; its recorded speed alone does not fit its speed beside others";
  }
  return words;
}

}  // namespace

Result<report::ReportSection> matrix_section(const dataset::Dataset& dataset,
                                             const dataset::GroupTable& table,
                                             const model::ThroughputModel& model) {
  const auto predictor = predict::Predictor::create(model, dataset.profiles);
  if (!predictor) {
    return tl::unexpected(predictor.error());
  }
  const auto measured = measured_pairs(table);
  const auto trained = trained_profiles(dataset, model);
  const auto alone = predictor->solo_speeds();
  report::SlowdownMatrix matrix;
  std::vector<Group> groups;
  for (const std::size_t row : trained) {
    matrix.workloads.push_back(dataset.profiles[row].workload);
    for (const std::size_t column : trained) {
      groups.push_back({{.profile = row}, {.profile = column}});
    }
  }
  const auto forecasts = predictor->forecaster().forecast(groups, model::ForecastDetail::PointOnly);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t own = groups[i][0].profile;
    const auto found = measured.find({own, groups[i][1].profile});
    matrix.cells.push_back({.workload = i / trained.size(),
                            .beside = i % trained.size(),
                            .predicted = alone[own] / forecasts[i].members[0].throughput,
                            .measured = found == measured.end() || found->second <= 0.0
                                            ? report::kNoValue
                                            : alone[own] / found->second});
  }
  return report::ReportSection{
      .heading = "Who slows down whom",
      .paragraphs = {"The model fitted on all measured groups. A slowdown of 2× is half the speed; "
                     "two saturating jobs that share fairly have 2× each."},
      .figures = {{.title = "Slowdown beside each other workload",
                   .caption = "Row: who is slowed down. Column: beside whom. Both relative to the "
                              "model's speed alone. Stronger colour: slower.",
                   .content = std::move(matrix)}}};
}

report::ReportSection parameters_section(const dataset::Dataset& dataset,
                                         const model::ThroughputModel& model) {
  report::ReportSection section{
      .heading = "What the model knows of a workload",
      .paragraphs = {"Three numbers describe how a workload shares. They are learned from groups, "
                     "helped by its profile."},
      .figures = {}};
  const auto* share = dynamic_cast<const model::ShareModel*>(&model);
  if (share == nullptr) {
    return section;
  }
  report::ParameterChart chart;
  chart.parameters = {
      {.value = {.name = "capacity", .unit = "× recorded alone", .decimals = 2},
       .meaning = "Throughput beside a vanishing partner, over the recorded speed alone. Far from "
                  "1 the recording is stale.",
       .scale = report::Scale::Logarithmic,
       .neutral = 1.0},
      {.value = {.name = "weight", .unit = "× typical", .decimals = 2},
       .meaning = "How much GPU time its kernels take from a neighbour.",
       .scale = report::Scale::Logarithmic,
       .neutral = 1.0},
      {.value = {.name = "headroom", .unit = "×", .decimals = 2},
       .meaning = "How much company it bears before it slows down; above 1 it leaves the GPU idle.",
       .scale = report::Scale::Logarithmic,
       .neutral = 1.0}};
  const auto views = share->explain(dataset.profiles);
  for (const std::size_t profile : trained_profiles(dataset, model)) {
    const model::ShareParameters& parameters = views[profile].share;
    const double over =
        std::exp(parameters.log_capacity) / dataset.profiles[profile].exclusive_throughput;
    const double weight = std::exp(parameters.log_weight);
    const double headroom = std::exp(parameters.headroom);
    chart.rows.push_back({.workload = dataset.profiles[profile].workload,
                          .values = {over, weight, headroom},
                          .words = in_words(over, weight, headroom)});
  }
  section.figures.push_back({.title = "Capacity, weight and headroom",
                             .caption = "Bars grow from 1 on logarithmic scales.",
                             .content = std::move(chart)});
  return section;
}

}  // namespace carpool::app
