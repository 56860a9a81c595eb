// The sections of the report, each from evaluation results or a fitted model to charts.
#pragma once

#include <vector>

#include "app/evaluation_output.hpp"
#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/evaluation.hpp"
#include "model/throughput_model.hpp"
#include "report/report.hpp"

namespace carpool {

// The results of one training size.
struct SizeResult {
  int n_occur = 0;
  std::vector<PolicyResult> results;
};

[[nodiscard]] std::vector<KeyFigure> key_figures(const EvaluationListing& listing);
[[nodiscard]] ReportSection policies_section(const EvaluationListing& listing);
[[nodiscard]] ReportSection targets_section(const EvaluationListing& listing);
[[nodiscard]] ReportSection sizes_section(const std::vector<SizeResult>& sizes);
[[nodiscard]] ReportSection accuracy_section(const EvaluationListing& listing);
[[nodiscard]] Result<ReportSection> matrix_section(const Dataset& dataset,
                                                   const GroupTable& table,
                                                   const ThroughputModel& model);
[[nodiscard]] ReportSection parameters_section(const Dataset& dataset,
                                               const ThroughputModel& model);

}  // namespace carpool
