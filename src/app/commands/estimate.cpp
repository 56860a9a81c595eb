#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/estimate_output.hpp"
#include "app/job_memory.hpp"
#include "app/sources.hpp"
#include "base/clock.hpp"
#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/packed_file.hpp"
#include "base/progress.hpp"
#include "estimate/estimator_file.hpp"
#include "estimate/registry.hpp"
#include "estimate/row_splits.hpp"

namespace carpool {
namespace {

Result<LayerCatalogue> open_catalogue(const EstimateOptions& options) {
  if (!options.catalogue) {
    return LayerCatalogue{};
  }
  const auto text = read_packed_file(*options.catalogue);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_catalogue(*text, *options.catalogue);
}

Result<MeasuredJobs> open_rows(const EstimateOptions& options, const std::string& file) {
  const auto view = row_view_named(options.view);
  if (!view) {
    return tl::unexpected(view.error());
  }
  if (options.catalogue && *view != RowView::Config) {
    return invalid_input("--catalogue is for --from config and flags");
  }
  const auto catalogue = open_catalogue(options);
  if (!catalogue) {
    return tl::unexpected(catalogue.error());
  }
  return read_measured_jobs(file, *view, *catalogue);
}

struct LearnedConvolutions {
  std::shared_ptr<const ConvolutionChoices> choices{};  // null: none were asked for
  std::string file{};
  std::string hash{};
};

// Those of the file that was named, else the bundled ones.
Result<LearnedConvolutions> learn_convolutions(const EstimateOptions& options) {
  std::filesystem::path file = options.convolutions.value_or("");
  if (!options.convolutions) {
    const auto folder = bundled_folder("memory-collected");
    if (!folder) {
      return tl::unexpected(folder.error());
    }
    file = *folder / "convolutions.jsonl.gz";
  } else if (options.convolutions == "none") {
    return LearnedConvolutions{};
  }
  const auto text = read_packed_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto measured = parse_convolutions(*text, file.string());
  if (!measured) {
    return tl::unexpected(measured.error());
  }
  return LearnedConvolutions{
      .choices = std::make_shared<const ConvolutionChoices>(ConvolutionChoices::of(*measured)),
      // Where the bundled ones lie differs from machine to machine.
      .file = options.convolutions.value_or("memory-collected/convolutions.jsonl.gz"),
      .hash = sha256_hex(*text)};
}

void print_results(const MeasuredJobs& jobs,
                   const std::vector<EstimatorResult>& results,
                   const std::string& split,
                   const EstimateOptions& options,
                   const CommandContext& context) {
  const EstimateListing listing{.rows = jobs.rows,
                                .results = results,
                                .file = *options.evaluate,
                                .view = options.view,
                                .split = split,
                                .without_model = jobs.without_model};
  if (context.output.json()) {
    context.output.print_json(estimates_to_json(listing, options.per_row));
  } else {
    print_estimates(listing, context.output);
  }
}

// A fitted estimator as it is: nothing is fitted and nothing held out.
Result<void> run_evaluation_of_fitted(const EstimateOptions& options,
                                      const CommandContext& context) {
  if (!options.estimators.empty() || options.convolutions) {
    return invalid_input("--estimator and --convolutions are for estimators that are fitted here");
  }
  const auto estimator = open_estimator(options.job.model_file, options.confidence);
  if (!estimator) {
    return tl::unexpected(estimator.error());
  }
  const auto jobs = open_rows(options, *options.evaluate);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  const auto results = evaluate_estimators(jobs->rows, {.fitted = &*estimator});
  if (!results) {
    return tl::unexpected(results.error());
  }
  print_results(*jobs, *results, "none", options, context);
  return {};
}

Result<void> run_evaluation(const EstimateOptions& options, const CommandContext& context) {
  if (options.job.model_file) {
    return run_evaluation_of_fitted(options, context);
  }
  const auto split = find_row_split(options.split);
  if (!split) {
    return tl::unexpected(split.error());
  }
  EstimatorEvaluation settings{
      .estimators = options.estimators, .split = options.split, .confidence = options.confidence};
  if (settings.estimators.empty()) {
    for (const EstimatorKind& kind : estimator_kinds()) {
      settings.estimators.emplace_back(kind.name);
    }
  }
  const auto convolutions = learn_convolutions(options);
  if (!convolutions) {
    return tl::unexpected(convolutions.error());
  }
  settings.convolutions = convolutions->choices;
  const auto jobs = open_rows(options, *options.evaluate);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  Progress progress("estimate",
                    settings.estimators.size() * (*split)->split(jobs->rows).size(),
                    context.output.progress());
  settings.fold_done = [&](const std::string& name) { progress.advance(name); };
  const auto results = evaluate_estimators(jobs->rows, settings);
  if (!results) {
    return tl::unexpected(results.error());
  }
  print_results(*jobs, *results, options.split, options, context);
  return {};
}

Result<void> run_fit(const EstimateOptions& options, const CommandContext& context) {
  const auto bytes = read_file(*options.fit);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  const auto jobs = open_rows(options, *options.fit);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  const auto convolutions = learn_convolutions(options);
  if (!convolutions) {
    return tl::unexpected(convolutions.error());
  }
  FactsCache cache(convolutions->choices);
  EstimatorTraining training{.confidence = options.confidence, .cache = &cache};
  std::size_t finished = 0;
  for (const MeasuredJob& row : jobs->rows) {
    training.rows.push_back(&row);
    finished += row.finished ? 1 : 0;
  }
  const auto fitted = fit_carpool(training);
  if (!fitted) {
    return tl::unexpected(fitted.error());
  }
  const std::string text = serialize_estimator(**fitted,
                                               {.data = *options.fit,
                                                .data_hash = sha256_hex(*bytes),
                                                .rows = finished,
                                                .convolutions = convolutions->file,
                                                .convolutions_hash = convolutions->hash,
                                                .date = utc_timestamp()});
  if (auto written = write_file(options.output, text); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json({{"file", options.output}, {"rows", finished}});
  } else {
    context.output.print(
        fmt::format("fitted on {} jobs, written to {}\n", finished, options.output));
  }
  return {};
}

}  // namespace

Result<void> run_estimate(const EstimateOptions& options, const CommandContext& context) {
  if (options.per_row && !context.output.json()) {
    return invalid_input("--per-row is for --json");
  }
  const bool one_job = !options.job.source.empty() || !options.job.command.empty();
  if (one_job && (options.fit || options.evaluate)) {
    return invalid_input("a job, --evaluate and --fit exclude each other");
  }
  if (options.fit) {
    if (options.output.empty()) {
      return invalid_input("--fit needs -o FILE to write the estimator to");
    }
    return run_fit(options, context);
  }
  if (!options.output.empty()) {
    return invalid_input("-o is for --fit");
  }
  if (options.convolutions && !options.evaluate) {
    return invalid_input("--convolutions is for --evaluate and --fit");
  }
  return options.evaluate ? run_evaluation(options, context) : run_estimate_job(options, context);
}

}  // namespace carpool
