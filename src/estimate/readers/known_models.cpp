#include "estimate/readers/known_models.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <fmt/format.h>

namespace carpool::estimate {
namespace {

struct KnownTransformer {
  std::string_view name;
  std::string_view type;
  std::int64_t hidden, layers, heads, key_value_heads, feed_forward, vocabulary, positions;
  bool tied = true;
};

// From the config.json that each model is published with.
constexpr auto kTransformers = std::to_array<KnownTransformer>({
    {"bert-base-uncased", "bert", 768, 12, 12, 0, 3072, 30522, 512},
    {"bert-base-cased", "bert", 768, 12, 12, 0, 3072, 28996, 512},
    {"bert-large-uncased", "bert", 1024, 24, 16, 0, 4096, 30522, 512},
    {"bert-large-cased", "bert", 1024, 24, 16, 0, 4096, 28996, 512},
    {"roberta-base", "roberta", 768, 12, 12, 0, 3072, 50265, 514},
    {"roberta-large", "roberta", 1024, 24, 16, 0, 4096, 50265, 514},
    {"xlm-roberta-base", "roberta", 768, 12, 12, 0, 3072, 250002, 514},
    {"distilbert-base-uncased", "distilbert", 768, 6, 12, 0, 3072, 30522, 512},
    {"distilbert-base-cased", "distilbert", 768, 6, 12, 0, 3072, 28996, 512},
    {"albert-base-v2", "albert", 768, 12, 12, 0, 3072, 30000, 512},
    {"electra-small-discriminator", "electra", 256, 12, 4, 0, 1024, 30522, 512},
    {"gpt2", "gpt2", 768, 12, 12, 0, 3072, 50257, 1024},
    {"gpt2-medium", "gpt2", 1024, 24, 16, 0, 4096, 50257, 1024},
    {"gpt2-large", "gpt2", 1280, 36, 20, 0, 5120, 50257, 1024},
    {"gpt2-xl", "gpt2", 1600, 48, 25, 0, 6400, 50257, 1024},
    {"opt-125m", "opt", 768, 12, 12, 0, 3072, 50272, 2048},
    {"opt-1.3b", "opt", 2048, 24, 32, 0, 8192, 50272, 2048},
    {"opt-2.7b", "opt", 2560, 32, 32, 0, 10240, 50272, 2048},
    {"opt-6.7b", "opt", 4096, 32, 32, 0, 16384, 50272, 2048},
    {"tinyllama-1.1b-chat-v1.0", "llama", 2048, 22, 32, 4, 5632, 32000, 2048, false},
    {"llama-2-7b-hf", "llama", 4096, 32, 32, 32, 11008, 32000, 4096, false},
    {"llama-2-13b-hf", "llama", 5120, 40, 40, 40, 13824, 32000, 4096, false},
    {"meta-llama-3-8b", "llama", 4096, 32, 32, 8, 14336, 128256, 8192, false},
    {"llama-3.1-8b", "llama", 4096, 32, 32, 8, 14336, 128256, 131072, false},
    {"llama-3.2-1b", "llama", 2048, 16, 32, 8, 8192, 128256, 131072, true},
    {"mistral-7b-v0.1", "mistral", 4096, 32, 32, 8, 14336, 32000, 32768, false},
    {"qwen2-0.5b", "qwen2", 896, 24, 14, 2, 4864, 151936, 131072, true},
    {"qwen2.5-0.5b", "qwen2", 896, 24, 14, 2, 4864, 151936, 32768, true},
    {"qwen2.5-1.5b", "qwen2", 1536, 28, 12, 2, 8960, 151936, 131072, true},
    {"qwen2-7b", "qwen2", 3584, 28, 28, 4, 18944, 152064, 131072, false},
    {"qwen2.5-7b", "qwen2", 3584, 28, 28, 4, 18944, 152064, 131072, false},
});

// The last part of "org/name" in lower case, without the suffix of a fine-tuned variant.
std::string plain_name(std::string_view name) {
  std::string plain(name.substr(name.rfind('/') + 1));
  std::ranges::transform(
      plain, plain.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kTwin = "-instruct";
  if (plain.ends_with(kTwin)) {
    plain.resize(plain.size() - kTwin.size());
  }
  return plain;
}

bool makes_text(std::string_view type) {
  return type == "gpt2" || type == "opt" || type == "llama" || type == "mistral" || type == "qwen2";
}

}  // namespace

std::optional<ReadModel> known_transformer(std::string_view name) {
  const auto* const found =
      std::ranges::find(kTransformers, plain_name(name), &KnownTransformer::name);
  if (found == kTransformers.end()) {
    return std::nullopt;
  }
  ReadModel read;
  read.model.name = name;
  read.model.family = found->tied && found->key_value_heads == 0 ? "hf" : "llm";
  read.model.shape = TransformerShape{
      .type = std::string(found->type),
      .task = makes_text(found->type) ? TransformerTask::CausalLm : TransformerTask::MaskedLm,
      .hidden = found->hidden,
      .layers = found->layers,
      .heads = found->heads,
      .key_value_heads = found->key_value_heads,
      .feed_forward = found->feed_forward,
      .vocabulary = found->vocabulary,
      .positions = found->positions,
      .tied_embeddings = found->tied};
  read.basis = "flags";
  read.notes.push_back(
      fmt::format("{} as published: {} blocks of {}", found->name, found->layers, found->hidden));
  return read;
}

std::optional<ReadModel> known_network(const LayerCatalogue& catalogue, std::string_view name) {
  const auto found = catalogue.find(name.substr(name.rfind('/') + 1));
  if (found == catalogue.end()) {
    return std::nullopt;
  }
  ReadModel read;
  read.model.name = name;
  read.model.family = "layers";
  read.model.shape = found->second;
  read.basis = "flags";
  read.settings.resolution = kUsualResolution;
  read.notes.push_back(fmt::format(
      "layers of {} as measured; {} pixels per side unless given", found->first, kUsualResolution));
  return read;
}

}  // namespace carpool::estimate
