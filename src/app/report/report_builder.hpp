// The report on a dataset: what is evaluated for it, and how it is told.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "report/report.hpp"

namespace carpool::app {

struct ReportRequest {
  const dataset::Dataset& dataset;
  std::string command;  // what the user typed: printed as the way to make the page again
  std::function<void(const std::string&)> on_progress;  // once a policy and split
};

// How many times on_progress will be called, about.
inline constexpr std::size_t kReportSteps = 450;

// Evaluates models and rules on the dataset's main table and fits `share` on all of it.
[[nodiscard]] Result<report::Report> build_report(const ReportRequest& request);

}  // namespace carpool::app
