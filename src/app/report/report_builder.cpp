#include "app/report/report_builder.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/report/report_sections.hpp"
#include "app/version.hpp"
#include "base/clock.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

constexpr int kHeadlineOccurrences = 3;  // the published headline
constexpr int kFewestOccurrences = 2;
constexpr int kMostOccurrences = 10;

// The table that the report is about: pairs if present, else the first.
std::string main_table(const dataset::Dataset& dataset) {
  const auto tables = dataset::list_group_tables(dataset);
  const bool has_pairs = std::find(tables.begin(), tables.end(), "pairs") != tables.end();
  return has_pairs || tables.empty() ? "pairs" : tables.front();
}

Result<evaluate::EvaluationPlan> plan_for(const dataset::Dataset& dataset,
                                          const std::string& table,
                                          int n_occur) {
  evaluate::PlanRequest request;
  request.protocol = "pairs-n-occur";
  request.table = table;
  request.n_occur = n_occur;
  return evaluate::make_plan(dataset, request);
}

evaluate::EvaluationOptions options_for(const ReportRequest& request, bool keep_forecasts) {
  evaluate::EvaluationOptions options;
  options.keep_forecasts = keep_forecasts;
  options.skip_unsupported = true;
  options.on_progress = request.on_progress;
  return options;
}

Result<std::vector<SizeResult>> results_by_size(const ReportRequest& request,
                                                const std::string& table,
                                                const std::vector<std::string>& policies) {
  std::vector<SizeResult> sizes;
  for (int n_occur = kFewestOccurrences; n_occur <= kMostOccurrences; ++n_occur) {
    const auto plan = plan_for(request.dataset, table, n_occur);
    if (!plan) {
      break;  // a small table has no test rows left at this size
    }
    auto results = evaluate::evaluate(
        request.dataset, *plan, policies, options_for(request, /*keep_forecasts=*/false));
    if (!results) {
      return tl::unexpected(results.error());
    }
    sizes.push_back({.n_occur = n_occur, .results = std::move(*results)});
  }
  return sizes;
}

// What the matrix compares and its model learns: the training rows of `carpool train`.
dataset::GroupTable without_limits(dataset::GroupTable table) {
  std::erase_if(table.rows, [](const dataset::GroupRow& row) { return !unlimited(row.members); });
  return table;
}

Result<std::unique_ptr<model::ThroughputModel>> train_on_everything(
    const dataset::Dataset& dataset, const dataset::GroupTable& table) {
  model::TrainingSet training;
  training.dataset = &dataset;
  training.rows = table.rows;
  training.fit_rows = table.rows.size();
  const auto kind = model::find_model_kind(model::kDefaultModel);
  return kind ? (*kind)->train(training) : tl::unexpected(kind.error());
}

std::vector<report::Fact> provenance(const ReportRequest& request, const std::string& table) {
  const dataset::DatasetInfo& info = request.dataset.info;
  const auto or_unknown = [](const std::string& text) {
    return text.empty() ? "not stated" : text;
  };
  return {{"dataset", request.dataset.folder.filename().string()},
          {"table", table},
          {"GPU", or_unknown(info.gpu)},
          {"driver", or_unknown(info.driver)},
          {"origin", or_unknown(info.provenance)},
          {"carpool", std::string(kVersion)},
          {"created", utc_timestamp()},
          {"command", request.command}};
}

}  // namespace

Result<report::Report> build_report(const ReportRequest& request) {
  const dataset::Dataset& dataset = request.dataset;
  const std::string name = main_table(dataset);
  const auto table = dataset::load_group_table(dataset, name);
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto plan = plan_for(dataset, name, kHeadlineOccurrences);
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  const auto results = evaluate::evaluate(dataset,
                                          *plan,
                                          evaluate::policy_names(/*include_slow=*/false),
                                          options_for(request, /*keep_forecasts=*/true));
  if (!results) {
    return tl::unexpected(results.error());
  }
  std::vector<std::string> policies;  // whose metrics this dataset has
  for (const evaluate::PolicyResult& result : *results) {
    policies.push_back(result.name);
  }
  const auto sizes = results_by_size(request, name, policies);
  if (!sizes) {
    return tl::unexpected(sizes.error());
  }
  const dataset::GroupTable free = without_limits(*table);
  const auto model = train_on_everything(dataset, free);
  if (!model) {
    return tl::unexpected(model.error());
  }
  const EvaluationListing listing{.dataset = dataset, .plan = *plan, .results = *results};
  report::Report report;
  report.title = "Which workloads should share a GPU";
  report.subtitle = fmt::format("{}: {} workloads, {} measured groups of {}{}",
                                dataset.folder.filename().string(),
                                (*model)->card().workloads.size(),
                                table->rows.size(),
                                table->group_size,
                                dataset.info.gpu.empty() ? "" : " on " + dataset.info.gpu);
  report.key_figures = key_figures(listing);
  report.sections.push_back(policies_section(listing));
  report.sections.push_back(targets_section(listing));
  report.sections.push_back(sizes_section(*sizes));
  report.sections.push_back(accuracy_section(listing));
  auto matrix = matrix_section(dataset, free, **model);
  if (!matrix) {
    return tl::unexpected(matrix.error());
  }
  report.sections.push_back(std::move(*matrix));
  report.sections.push_back(parameters_section(dataset, **model));
  report.provenance = provenance(request, name);
  return report;
}

}  // namespace carpool::app
