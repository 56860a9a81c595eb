#include "estimate/readers/config_json.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "estimate/readers/architectures.hpp"
#include "estimate/readers/json_numbers.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

// Factor on the bound of an unknown architecture.
constexpr double kUnknownWidening = 2.0;
// A decoder block in an encoder-decoder model attends twice: 1.5 blocks.
constexpr std::int64_t kCrossBlocks = 3;  // halves of a block

std::string word(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_true(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string first_architecture(const json& config) {
  const auto found = config.find("architectures");
  return found != config.end() && found->is_array() && !found->empty() && found->front().is_string()
             ? found->front().get<std::string>()
             : std::string();
}

bool is_decoder(std::string_view built_as) {
  return built_as != "bert" && built_as != "albert" && built_as != "roberta" &&
         built_as != "electra" && built_as != "distilbert";
}

TransformerTask task_of(const json& config, std::string_view built_as) {
  const std::string head = first_architecture(config);
  const auto has = [&](std::string_view part) { return head.find(part) != std::string::npos; };
  if (has("Classification") || has("ForQuestionAnswering")) {
    return TransformerTask::Classification;
  }
  if (has("ForMaskedLM") || has("ForPreTraining")) {
    return TransformerTask::MaskedLm;
  }
  return is_decoder(built_as) ? TransformerTask::CausalLm : TransformerTask::MaskedLm;
}

class ConfigReader {
 public:
  ConfigReader(const json& config, std::string_view name)
      : config_(config), name_(name), numbers_(config, std::string(name)) {}

  Result<ReadModel> read() {
    const std::string type = word(config_, "model_type");
    choose(type);
    read_sizes();
    if (numbers_.error()) {
      return tl::unexpected(*numbers_.error());
    }
    if (shape_.hidden == 0 || shape_.layers == 0 || shape_.heads == 0) {
      return fail(ErrorCode::Unsupported,
                  fmt::format("{}: model_type \"{}\" is not known, and hidden_size, "
                              "num_hidden_layers and num_attention_heads are not all given; "
                              "use a trace, an ONNX file or a layer summary instead",
                              name_,
                              type));
    }
    read_images();
    read_experts();
    if (shape_.vocabulary == 0) {
      shape_.vocabulary = 1;
      note("no vocab_size: inputs are treated as features");
    }
    shape_.task = task_of(config_, shape_.type);
    if (config_.contains("quantization_config")) {
      note("quantised weights are counted at the full size of the chosen precision");
    }
    read_.model.name = word(config_, "_name_or_path");
    read_.model.family =
        shape_.type == "llama" || shape_.type == "mistral" || shape_.type == "qwen2" ? "llm" : "hf";
    read_.model.shape = std::move(shape_);
    return std::move(read_);
  }

 private:
  void note(std::string text) { read_.notes.push_back(std::move(text)); }

  void choose(const std::string& type) {
    if (const Architecture* known = find_architecture(type); known != nullptr) {
      shape_.type = known->built_as;
      read_.widening = known->widening;
      if (known->widening > 1.0) {
        note(fmt::format("\"{}\" is replayed as \"{}\", the nearest measured architecture",
                         type,
                         known->built_as));
      }
      return;
    }
    const bool gated = config_.contains("rms_norm_eps") || config_.contains("num_key_value_heads");
    const bool post_norm = first_architecture(config_).find("ForMaskedLM") != std::string::npos;
    shape_.type = gated ? "llama" : (post_norm ? "bert" : "gpt2");
    read_.widening = kUnknownWidening;
    note(fmt::format(
        "architecture \"{}\" is not known: its sizes are replayed as \"{}\"", type, shape_.type));
  }

  void read_sizes() {
    shape_.hidden = numbers_.first_of({"hidden_size", "d_model", "n_embd", "dim"});
    const std::int64_t encoder = numbers_.first_of({"encoder_layers"});
    const std::int64_t decoder = numbers_.first_of({"decoder_layers"});
    shape_.layers = numbers_.first_of({"num_hidden_layers", "num_layers", "n_layer", "n_layers"});
    const bool paired = encoder > 0 || config_.contains("num_decoder_layers") ||
                        is_true(config_, "is_encoder_decoder");
    if (paired) {
      const std::int64_t first = encoder > 0 ? encoder : shape_.layers;
      const std::int64_t second =
          decoder > 0 ? decoder
                      : std::max(numbers_.first_of({"num_decoder_layers"}), shape_.layers);
      shape_.layers = first + second * kCrossBlocks / 2;
      note("encoder and decoder are replayed as one stack of blocks");
    }
    shape_.heads = numbers_.first_of(
        {"num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"});
    shape_.key_value_heads = numbers_.first_of({"num_key_value_heads"});
    shape_.head_size = numbers_.first_of({"head_dim", "d_kv"});
    shape_.feed_forward = numbers_.first_of(
        {"intermediate_size", "n_inner", "hidden_dim", "ffn_dim", "d_ff", "encoder_ffn_dim"});
    shape_.vocabulary = numbers_.first_of({"vocab_size"});
    shape_.positions = numbers_.first_of({"max_position_embeddings",
                                          "n_positions",
                                          "n_ctx",
                                          "max_target_positions",
                                          "max_source_positions"});
    shape_.embedding = numbers_.first_of({"embedding_size", "word_embed_proj_dim"});
    if (config_.contains("sliding_window")) {
      const bool unused =
          config_.contains("use_sliding_window") && !is_true(config_, "use_sliding_window");
      shape_.window = unused ? 0 : numbers_.first_of({"sliding_window"});
    }
    if (const auto tied = config_.find("tie_word_embeddings");
        tied != config_.end() && tied->is_boolean()) {
      shape_.tied_embeddings = tied->get<bool>();
    } else if (word(config_, "model_type").starts_with("gemma")) {
      shape_.tied_embeddings = true;  // by default
    }
  }

  // Vision transformers: patches are tokens, their projection is the embedding.
  void read_images() {
    const std::int64_t side = numbers_.first_of({"image_size"});
    const std::int64_t patch = numbers_.first_of({"patch_size"});
    if (side == 0 || patch == 0 || shape_.vocabulary > 0) {
      return;
    }
    const std::int64_t along = std::max<std::int64_t>(side / patch, 1);
    read_.settings.sequence = times(along, along) + 1;
    shape_.positions = *read_.settings.sequence;
    const std::int64_t channels = std::max<std::int64_t>(numbers_.first_of({"num_channels"}), 1);
    shape_.vocabulary = std::max<std::int64_t>(times(channels, times(patch, patch)), 1);
    note(fmt::format("{} patches of an image of {} x {} pixels are treated as tokens",
                     *read_.settings.sequence,
                     side,
                     side));
  }

  // Mixture of experts: the parameters of all experts, the activations of one.
  void read_experts() {
    const std::int64_t experts =
        numbers_.first_of({"num_local_experts", "num_experts", "n_routed_experts"});
    if (experts < 2) {
      return;
    }
    const std::int64_t own = numbers_.first_of({"moe_intermediate_size", "intermediate_size"});
    const std::int64_t block = times(3 * shape_.hidden, std::max<std::int64_t>(own, 1));
    shape_.unlisted_parameters =
        std::min(times(times(block, shape_.layers), experts - 1), kMaxCount);
    note(fmt::format("{} experts per block; the parameters of all are counted", experts));
  }

  const json& config_;
  std::string_view name_;
  JsonNumbers numbers_;
  TransformerShape shape_{};
  ReadModel read_{};
};

}  // namespace

Result<ReadModel> parse_config_json(std::string_view text, std::string_view name) {
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) {
    return invalid_input(fmt::format("{} is not JSON", name));
  }
  if (!config.is_object()) {
    return invalid_input(fmt::format("{} is not a configuration: an object is expected", name));
  }
  // Models of text and images have the sizes of their language model in an object of its own.
  if (const auto inner = config.find("text_config");
      inner != config.end() && inner->is_object() && !config.contains("hidden_size")) {
    auto read = ConfigReader(*inner, name).read();
    if (read) {
      read->widening = std::max(read->widening, kUnknownWidening);
      read->notes.emplace_back("only the language part of the model is replayed");
    }
    return read;
  }
  return ConfigReader(config, name).read();
}

}  // namespace carpool::estimate
