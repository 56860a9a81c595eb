#include "app/commands/simulate_truth.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/inputs/sources.hpp"
#include "base/log.hpp"
#include "knowledge/model_interference.hpp"
#include "model/model_file.hpp"
#include "simulate/truth.hpp"

namespace carpool::app {
namespace {

constexpr std::string_view kPairFolder = "carma-traces";

Result<std::unique_ptr<InterferenceModel>> open_model(const std::string& file,
                                                      const SimulateOptions& options,
                                                      const Config& config) {
  auto dataset = open_dataset(options.data, config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  auto model = model::load_model(file);
  if (!model) {
    return tl::unexpected(model.error());
  }
  return knowledge::ModelInterference::create(
             std::shared_ptr<const model::ThroughputModel>(std::move(*model)),
             std::move(dataset->profiles))
      .map([](std::unique_ptr<knowledge::ModelInterference> made) {
        return std::unique_ptr<InterferenceModel>(std::move(made));
      });
}

// Groups with a workload that has no profile run by assumed activity, whatever the model says.
Result<void> check_profiles(const InterferenceModel& truth, const simulate::Trace& trace) {
  std::set<std::string> all;
  std::set<std::string> without;
  for (const simulate::TraceJob& job : trace.jobs) {
    all.insert(job.workload);
    if (!truth.knows(job.workload)) {
      without.insert(job.workload);
    }
  }
  if (without.size() == all.size()) {
    return invalid_input(fmt::format(
        "no workload of {} has a profile in the dataset of the model: name it with --data",
        trace.name));
  }
  if (!without.empty()) {
    log_warning(fmt::format(
        "{} of {} workloads have no profile, such as {}: groups with them run by assumed activity",
        without.size(),
        all.size(),
        *without.begin()));
  }
  return {};
}

}  // namespace

Result<std::filesystem::path> pair_folder(const SimulateOptions& options) {
  if (options.data) {
    return std::filesystem::path(*options.data);
  }
  return bundled_folder(kPairFolder);
}

Result<std::unique_ptr<InterferenceModel>> open_truth(const SimulateOptions& options,
                                                      const simulate::Trace& trace,
                                                      const Config& config) {
  const auto spec = simulate::parse_truth(options.truth);
  if (!spec) {
    return tl::unexpected(spec.error());
  }
  if (spec->kind == simulate::TruthSpec::Kind::Model) {
    auto model = open_model(spec->model, options, config);
    if (model) {
      if (auto checked = check_profiles(**model, trace); !checked) {
        return tl::unexpected(checked.error());
      }
    }
    return model;
  }
  const auto folder = pair_folder(options);
  if (!folder) {
    return tl::unexpected(folder.error());
  }
  return simulate::make_truth(*spec, *folder, trace);
}

}  // namespace carpool::app
