// The sections of the report: charts of evaluation results and of a fitted model.
#pragma once

#include <vector>

#include "app/output/evaluation_output.hpp"
#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/evaluation.hpp"
#include "model/throughput_model.hpp"
#include "report/report.hpp"

namespace carpool::app {

// The results of one training size.
struct SizeResult {
  int n_occur = 0;
  std::vector<evaluate::PolicyResult> results;
};

[[nodiscard]] std::vector<report::KeyFigure> key_figures(const EvaluationListing& listing);
[[nodiscard]] report::ReportSection policies_section(const EvaluationListing& listing);
[[nodiscard]] report::ReportSection targets_section(const EvaluationListing& listing);
[[nodiscard]] report::ReportSection sizes_section(const std::vector<SizeResult>& sizes);
[[nodiscard]] report::ReportSection accuracy_section(const EvaluationListing& listing);
[[nodiscard]] Result<report::ReportSection> matrix_section(const dataset::Dataset& dataset,
                                                           const dataset::GroupTable& table,
                                                           const model::ThroughputModel& model);
[[nodiscard]] report::ReportSection parameters_section(const dataset::Dataset& dataset,
                                                       const model::ThroughputModel& model);

}  // namespace carpool::app
