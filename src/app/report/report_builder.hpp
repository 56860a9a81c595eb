// The report on a dataset: evaluates models and rules on it and presents the results.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "report/report.hpp"

namespace carpool::app {

struct ReportRequest {
  const dataset::Dataset& dataset;
  std::string command;  // as typed by the user: shown as the command that reproduces the page
  std::function<void(const std::string&)> on_progress;  // once per policy and train/test split
};

// Approximate number of calls of on_progress.
inline constexpr std::size_t kReportSteps = 450;

// Evaluates models and rules on the main table of the dataset and fits `share` on all of its rows.
[[nodiscard]] Result<report::Report> build_report(const ReportRequest& request);

}  // namespace carpool::app
