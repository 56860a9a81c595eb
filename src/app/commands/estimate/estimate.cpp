#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/commands/estimate/estimate_options.hpp"
#include "app/inputs/job_memory.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/estimate_output.hpp"
#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/files/packed_file.hpp"
#include "base/progress/progress.hpp"
#include "base/text/digest.hpp"
#include "estimate/bound/estimator_file.hpp"
#include "estimate/judge/row_splits.hpp"
#include "estimate/registry.hpp"

namespace carpool::app {
namespace {

constexpr const char* kDefaultView = "layers";
constexpr const char* kDefaultSplit = "names";

Result<estimate::LayerCatalogue> open_catalogue(const EstimateOptions& options) {
  if (!options.catalogue) {
    return estimate::LayerCatalogue{};
  }
  const auto text = read_packed_file(*options.catalogue);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return estimate::parse_catalogue(*text, *options.catalogue);
}

Result<estimate::MeasuredJobs> open_rows(const EstimateOptions& options, const std::string& file) {
  const auto view = estimate::row_view_named(options.view.value_or(kDefaultView));
  if (!view) {
    return tl::unexpected(view.error());
  }
  if (options.catalogue && *view != estimate::RowView::Config) {
    return invalid_input("--catalogue is for --from config and flags");
  }
  const auto catalogue = open_catalogue(options);
  if (!catalogue) {
    return tl::unexpected(catalogue.error());
  }
  return estimate::read_measured_jobs(file, *view, *catalogue);
}

struct LearnedConvolutions {
  std::shared_ptr<const estimate::ConvolutionChoices> choices{};  // null: none
  std::string file{};
  std::string hash{};
};

// Of --convolutions, else the bundled ones.
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
  const auto measured = estimate::parse_convolutions(*text, file.string());
  if (!measured) {
    return tl::unexpected(measured.error());
  }
  return LearnedConvolutions{
      .choices = std::make_shared<const estimate::ConvolutionChoices>(
          estimate::ConvolutionChoices::of(*measured)),
      // The path of the bundled file differs between machines.
      .file = options.convolutions.value_or("memory-collected/convolutions.jsonl.gz"),
      .hash = sha256_hex(*text)};
}

void print_results(const estimate::MeasuredJobs& jobs,
                   const std::vector<estimate::EstimatorResult>& results,
                   const std::string& split,
                   const EstimateOptions& options,
                   const CommandContext& context) {
  const EstimateListing listing{.rows = jobs.rows,
                                .results = results,
                                .file = *options.evaluate,
                                .view = options.view.value_or(kDefaultView),
                                .split = split,
                                .without_model = jobs.without_model};
  if (context.output.json()) {
    context.output.print_json(estimates_to_json(listing, options.per_row));
  } else {
    print_estimates(listing, context.output);
  }
}

// Evaluates a fitted estimator: no row is used for fitting or held out.
Result<void> run_evaluation_of_fitted(const EstimateOptions& options,
                                      const CommandContext& context) {
  if (!options.estimators.empty() || options.convolutions || options.split) {
    return invalid_input("--estimator, --convolutions and --split do not apply to --model-file");
  }
  const auto estimator = open_estimator(options.job.model_file, options.confidence);
  if (!estimator) {
    return tl::unexpected(estimator.error());
  }
  const auto jobs = open_rows(options, *options.evaluate);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  const auto results = estimate::evaluate_estimators(jobs->rows, {.fitted = &*estimator});
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
  const std::string split_name = options.split.value_or(kDefaultSplit);
  const auto split = estimate::find_row_split(split_name);
  if (!split) {
    return tl::unexpected(split.error());
  }
  estimate::EstimatorEvaluation settings{
      .estimators = options.estimators, .split = split_name, .confidence = options.confidence};
  if (settings.estimators.empty()) {
    for (const estimate::EstimatorKind& kind : estimate::estimator_kinds()) {
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
  const auto results = estimate::evaluate_estimators(jobs->rows, settings);
  if (!results) {
    return tl::unexpected(results.error());
  }
  print_results(*jobs, *results, split_name, options, context);
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
  estimate::FactsCache cache(convolutions->choices);
  estimate::EstimatorTraining training{.confidence = options.confidence, .cache = &cache};
  std::size_t finished = 0;
  for (const estimate::MeasuredJob& row : jobs->rows) {
    training.rows.push_back(&row);
    finished += row.finished ? 1 : 0;
  }
  const auto fitted = estimate::fit_carpool(training);
  if (!fitted) {
    return tl::unexpected(fitted.error());
  }
  const std::string text = estimate::serialize_estimator(**fitted,
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

// Options of an evaluation change nothing in the estimate of one job.
Result<void> check_purpose(const EstimateOptions& options) {
  for (const auto& [option, given, fits] :
       {std::tuple("--split", options.split.has_value(), false),
        std::tuple("--estimator", !options.estimators.empty(), false),
        std::tuple("--from", options.view.has_value(), true),
        std::tuple("--catalogue", options.catalogue.has_value(), true),
        std::tuple("--convolutions", options.convolutions.has_value(), true)}) {
    if (given && !options.evaluate && !(fits && options.fit)) {
      return invalid_input(fmt::format("{} is for --evaluate{}", option, fits ? " and --fit" : ""));
    }
  }
  return {};
}

Result<void> run_estimate(const EstimateOptions& options, const CommandContext& context) {
  if (options.per_row && !context.output.json()) {
    return invalid_input("--per-row is for --json");
  }
  if (auto checked = check_purpose(options); !checked) {
    return checked;
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
  return options.evaluate ? run_evaluation(options, context) : run_estimate_job(options, context);
}

}  // namespace

CommandSpec estimate_command() {
  return make_command(
      add_estimate_options,
      run_estimate,
      {"carpool estimate config.json --batch 8 --sequence 1024 --dtype bf16 --fits 40G",
       ("carpool estimate -- python run_clm.py --model_name_or_path gpt2 "
        "--per_device_train_batch_size 8"),
       ("carpool estimate --batch 16 --fits 40G -- python run_clm.py --model_name_or_path gpt2 "
        "--per_device_train_batch_size 8"),
       "carpool estimate model.onnx --batch 32 --inference --json",
       "carpool estimate --evaluate data/memory-h200/rows.jsonl.gz",
       ("carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --from config "
        "--catalogue data/memory-h200/rows.jsonl.gz"),
       "carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --estimator carpool,horus",
       "carpool estimate --fit data/memory-h200/rows.jsonl.gz -o h200.model.json",
       ("carpool estimate --evaluate data/memory-collected/later.jsonl.gz --model-file "
        "h200.model.json")},
      "If your server has run the command before in this folder, the estimate comes from the "
      "memory of those runs, and --batch and --fits from runs at two other batch sizes; otherwise "
      "from the model.");
}

}  // namespace carpool::app
