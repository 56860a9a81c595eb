#include "estimate/readers/estimate_request.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimate/readers/command_flags.hpp"
#include "estimate/readers/known_models.hpp"
#include "estimate/readers/source_file.hpp"

namespace carpool::estimate {
namespace {

namespace fs = std::filesystem;

// per_device_train_batch_size of transformers.TrainingArguments.
constexpr std::int64_t kTrainerBatch = 8;

constexpr std::string_view kUseFile =
    "name a file that describes the model (config.json, a trace, an ONNX file, a layer summary)";

Result<ReadModel> model_of_command(const CommandFacts& facts,
                                   const std::optional<fs::path>& weights,
                                   const JobSettings& settings,
                                   const std::function<Result<LayerCatalogue>()>& catalogue) {
  if (!facts.model) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the command does not name a model: {}", kUseFile));
  }
  const std::string& name = *facts.model;
  std::error_code ignored;
  if (fs::exists(name, ignored)) {
    return read_source(name, weights, settings);
  }
  if (const auto folder = downloaded_model(name)) {
    return read_source(*folder, weights, settings);
  }
  if (auto known = known_transformer(name)) {
    return std::move(*known);
  }
  const auto networks = catalogue();
  if (!networks) {
    return tl::unexpected(networks.error());
  }
  if (auto known = known_network(*networks, name)) {
    return std::move(*known);
  }
  return fail(ErrorCode::Unsupported, fmt::format("model \"{}\" is unknown: {}", name, kUseFile));
}

}  // namespace

Result<RequestedJob> resolve_request(const EstimateRequest& request,
                                     const std::function<Result<LayerCatalogue>()>& catalogue) {
  if (!request.source && request.command.empty()) {
    return invalid_input(
        "nothing to estimate: give a file that describes a model, or a command after --");
  }
  const std::optional<fs::path> weights = request.weights;
  const CommandFacts facts = read_command(request.command);
  const JobSettings settings = merged_settings(request.overrides, facts.settings);
  auto read = request.source ? read_source(*request.source, weights, settings)
                             : model_of_command(facts, weights, settings, catalogue);
  if (!read) {
    return tl::unexpected(read.error());
  }
  auto requested =
      describe_job(std::move(*read),
                   merged_settings(request.overrides, facts.settings),
                   facts.hugging_face_trainer ? std::optional(kTrainerBatch) : std::nullopt);
  if (!requested) {
    return requested;
  }
  if (!facts.read.empty()) {
    requested->notes.insert(requested->notes.begin(),
                            fmt::format("from the command: {}", fmt::join(facts.read, ", ")));
  }
  requested->notes.insert(requested->notes.end(), facts.notes.begin(), facts.notes.end());
  return requested;
}

}  // namespace carpool::estimate
