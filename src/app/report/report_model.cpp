// Sections of the report on a fitted model.
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

// Measured throughput of each workload beside each other one, by profile.
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
  std::string words = weight > 1.5    ? "takes much GPU time from others"
                      : weight < 0.67 ? "takes little GPU time from others"
                                      : "takes a typical share of GPU time";
  words += headroom > 1.3 ? ", leaves the GPU idle at times" : ", fills the GPU";
  if (over_recorded < 0.67 || over_recorded > 2.0) {
    words += "; its recorded solo speed does not match its speed beside others";
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
  const auto solo = predictor->solo_speeds();
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
                            .predicted = solo[own] / forecasts[i].members[0].throughput,
                            .measured = found == measured.end() || found->second <= 0.0
                                            ? report::kNoValue
                                            : solo[own] / found->second});
  }
  return report::ReportSection{
      .heading = "Slowdown of each pair",
      .paragraphs =
          {"The model is fitted on all measured groups. A slowdown of 2× is half the speed; "
           "two saturating jobs that share fairly slow down by 2× each."},
      .figures = {{.title = "Slowdown beside each other workload",
                   .caption = "Row: the workload that slows down. Column: the workload beside it. "
                              "Relative to the solo speed of the model. Stronger colour: slower.",
                   .content = std::move(matrix)}}};
}

report::ReportSection parameters_section(const dataset::Dataset& dataset,
                                         const model::ThroughputModel& model) {
  report::ReportSection section{
      .heading = "Model parameters of each workload",
      .paragraphs = {"Three numbers describe how a workload shares a GPU. They are fitted to "
                     "measured groups, with its profile as a guide."},
      .figures = {}};
  const auto* share = dynamic_cast<const model::ShareModel*>(&model);
  if (share == nullptr) {
    return section;
  }
  report::ParameterChart chart;
  chart.parameters = {
      {.value = {.name = "capacity", .unit = "× recorded solo", .decimals = 2},
       .meaning = "Throughput beside a partner without load, relative to the recorded solo speed. "
                  "Far from 1, the recording is stale.",
       .scale = report::Scale::Logarithmic,
       .neutral = 1.0},
      {.value = {.name = "weight", .unit = "× typical", .decimals = 2},
       .meaning = "How much GPU time its kernels take from other members of the group.",
       .scale = report::Scale::Logarithmic,
       .neutral = 1.0},
      {.value = {.name = "headroom", .unit = "×", .decimals = 2},
       .meaning = "How much load of other members it tolerates before it slows down. Above 1, it "
                  "leaves the GPU idle at times.",
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
                             .caption = "Bars start at 1 on logarithmic scales.",
                             .content = std::move(chart)});
  return section;
}

}  // namespace carpool::app
