// Any bytes as a file that describes a model, or as the words of a command: a job that can be
// replayed, or an error that names the file. The first byte selects the reader: c config.json,
// s safetensors, o ONNX, t layer summary, r row or trace, f the words of a command, one per line.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "estimate/readers/command_flags.hpp"
#include "estimate/readers/config_json.hpp"
#include "estimate/readers/described.hpp"
#include "estimate/readers/layer_summary.hpp"
#include "estimate/readers/onnx/onnx_file.hpp"
#include "estimate/readers/row_file.hpp"
#include "estimate/readers/weight_header.hpp"
#include "estimate/replay/replay.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

// Larger ones would only be slow to replay.
constexpr std::size_t kMostLayers = 500;
constexpr std::int64_t kMostBlocks = 20;

bool small(const DescribedJob& job) {
  if (const auto* list = std::get_if<LayerList>(&job.model.shape)) {
    return list->layers.size() <= kMostLayers;
  }
  if (const auto* shape = std::get_if<TransformerShape>(&job.model.shape)) {
    return shape->layers <= kMostBlocks;
  }
  return true;
}

void feed_model(Result<estimate::ReadModel> read, const estimate::JobSettings& said) {
  if (!read) {
    require(read.error().message.starts_with("file"));
    return;
  }
  require(read->widening >= 1.0);
  const auto asked = estimate::describe_job(
      std::move(*read), estimate::merged_settings(said, {.resolution = 64}), 2);
  if (!asked || !small(asked->job)) {
    return;
  }
  const auto replay = estimate::replay_job(asked->job, {});
  if (replay) {
    require(replay->result.allocated >= 0);
    require(replay->result.reserved >= replay->result.allocated);
  } else {
    require(!replay.error().message.empty());
  }
}

void feed_weights(std::string_view text) {
  const auto totals = estimate::parse_safetensors(text, "file");
  if (!totals) {
    require(totals.error().message.starts_with("file"));
    return;
  }
  require(totals->parameters >= 0 && totals->bytes >= 0 && totals->tensors > 0);
  auto read = estimate::parse_config_json(
      R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":2,"vocab_size":100})", "file");
  estimate::take_weights(*totals, *read);
  feed_model(std::move(read), {});
}

void feed_words(std::string_view text) {
  const std::vector<std::string> words = lines_of(text);
  const estimate::CommandFacts facts = estimate::read_command(words);
  require(facts.read.size() <= words.size());
  feed_model(
      estimate::parse_config_json(R"({"model_type":"bert","hidden_size":64,"num_hidden_layers":2,
                                   "num_attention_heads":2,"vocab_size":100})",
                                  "file"),
      facts.settings);
}

}  // namespace

void feed_model_files(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'c':
      feed_model(estimate::parse_config_json(text, "file"), {});
      break;
    case 's':
      feed_weights(text);
      break;
    case 'o':
      feed_model(estimate::parse_onnx(text, "file", {}), {});
      break;
    case 't':
      feed_model(estimate::parse_layer_summary(text, "file", {.resolution = 64}), {});
      break;
    case 'r':
      feed_model(estimate::parse_row_file(text, "file"), {});
      break;
    case 'f':
      feed_words(text);
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
