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

constexpr std::string_view kWhatHelps =
    "name a file that describes the model (config.json, a trace, an ONNX file, a layer summary)";

Result<ReadModel> model_of_command(const CommandFacts& facts,
                                   const std::optional<fs::path>& weights,
                                   const JobSettings& said,
                                   const std::function<Result<LayerCatalogue>()>& catalogue) {
  if (!facts.model) {
    return fail(ErrorCode::Unsupported,
                fmt::format("the command does not say which model it runs: {}", kWhatHelps));
  }
  const std::string& name = *facts.model;
  std::error_code ignored;
  if (fs::exists(name, ignored)) {
    return read_source(name, weights, said);
  }
  if (const auto folder = downloaded_model(name)) {
    return read_source(*folder, weights, said);
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
  return fail(ErrorCode::Unsupported,
              fmt::format("nothing is known of the model \"{}\": {}", name, kWhatHelps));
}

}  // namespace

Result<AskedJob> ask_job(const JobQuestion& question,
                         const std::function<Result<LayerCatalogue>()>& catalogue) {
  if (!question.source && question.command.empty()) {
    return invalid_input("estimate what? A file that describes a model, or a command after --");
  }
  const std::optional<fs::path> weights = question.weights;
  const CommandFacts facts = read_command(question.command);
  const JobSettings said = over(question.said, facts.said);
  auto read = question.source ? read_source(*question.source, weights, said)
                              : model_of_command(facts, weights, said, catalogue);
  if (!read) {
    return tl::unexpected(read.error());
  }
  auto asked =
      describe_job(std::move(*read),
                   over(question.said, facts.said),
                   facts.hugging_face_trainer ? std::optional(kTrainerBatch) : std::nullopt);
  if (!asked) {
    return asked;
  }
  if (!facts.read.empty()) {
    asked->notes.insert(asked->notes.begin(),
                        fmt::format("from the command: {}", fmt::join(facts.read, ", ")));
  }
  asked->notes.insert(asked->notes.end(), facts.notes.begin(), facts.notes.end());
  return asked;
}

}  // namespace carpool::estimate
