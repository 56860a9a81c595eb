#include <algorithm>
#include <array>

#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {
namespace {

constexpr auto kTransformerTypes = std::to_array<TransformerType>({
    {"bert", BlockStyle::PostNorm, true, true, 0, 0, false, 0},
    {"albert", BlockStyle::PostNorm, true, true, 128, 0, true, 0},
    {"roberta", BlockStyle::PostNorm, true, true, 0, 0, false, 0},
    {"electra", BlockStyle::PostNorm, true, true, 128, 0, false, 0},
    {"distilbert", BlockStyle::PostNorm, false, true, 0, 0, false, 0},
    {"gpt2", BlockStyle::Gpt2, false, true, 0, 0, false, 0},
    {"opt", BlockStyle::PreNorm, false, true, 0, 2, false, 0},
    {"llama", BlockStyle::Llama, false, false, 0, 0, false, 0},
    {"mistral", BlockStyle::Llama, false, false, 0, 0, false, 4096},
    {"qwen2", BlockStyle::Llama, false, true, 0, 0, false, 0},
});

}  // namespace

const TransformerType* find_transformer_type(std::string_view name) {
  const auto* const found = std::ranges::find(kTransformerTypes, name, &TransformerType::name);
  return found == kTransformerTypes.end() ? nullptr : found;
}

std::vector<std::string_view> transformer_type_names() {
  std::vector<std::string_view> names;
  names.reserve(kTransformerTypes.size());
  for (const TransformerType& type : kTransformerTypes) {
    names.push_back(type.name);
  }
  return names;
}

TransformerModel::TransformerModel(const TransformerShape& shape, const TrainingSetup& setup)
    : shape_(shape),
      type_(*find_transformer_type(shape.type)),
      sizes_(sizes_of(setup.precision)),
      training_(setup.mode == RunMode::Train),
      checkpointing_(setup.checkpointing),
      eager_(setup.attention == AttentionKind::Eager),
      llama_(type_.style == BlockStyle::Llama),
      widens_scores_(type_.style == BlockStyle::Llama && setup.precision == Precision::Bf16),
      masks_window_(setup.sequence >= shape.window.value_or(type_.window) &&
                    shape.window.value_or(type_.window) > 0),
      sequence_(setup.sequence),
      lora_rank_(setup.lora_rank),
      decode_tokens_(setup.decode_tokens),
      embedding_size_(type_.embedding_size != 0 ? type_.embedding_size : shape.hidden),
      head_size_(shape.head_size > 0 ? shape.head_size
                                     : std::max<std::int64_t>(shape.hidden / shape.heads, 1)) {
  if (shape_.embedding > 0) {
    embedding_size_ = shape_.embedding;
  }
  if (shape_.key_value_heads == 0) {
    shape_.key_value_heads = shape_.heads;
  }
  if (shape_.feed_forward == 0) {
    shape_.feed_forward = 4 * shape_.hidden;
  }
  if (!shape_.tied_embeddings) {
    shape_.tied_embeddings = !llama_;
  }
  const bool post_norm = type_.style == BlockStyle::PostNorm;
  token_embedding_ = add_parameter(times(shape_.vocabulary, embedding_size_));
  if (!llama_) {
    position_embedding_ =
        add_parameter(times(shape_.positions + type_.extra_positions, embedding_size_));
  }
  if (type_.segment_embedding) {
    add_parameter(2 * embedding_size_);
  }
  if (post_norm) {
    embedding_norm_ = add_norm(embedding_size_, 2);
  }
  if (embedding_size_ != shape_.hidden) {
    embedding_projection_ = add_product(embedding_size_, shape_.hidden, true);
  }
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    if (type_.one_block && layer > 0) {
      blocks_.push_back(blocks_.front());
    } else {
      add_block();
    }
  }
  add_head();
  if (shape_.unlisted_parameters > 0) {
    unlisted_ = add_parameter(shape_.unlisted_parameters);
  }
}

ParameterId TransformerModel::add_parameter(std::int64_t elements) {
  parameters_.push_back({.elements = elements,
                         .role = lora_rank_ == 0 ? ParameterRole::Trained : ParameterRole::Frozen});
  return static_cast<ParameterId>(parameters_.size() - 1);
}

TransformerModel::Product TransformerModel::add_product(std::int64_t in,
                                                        std::int64_t out,
                                                        bool bias,
                                                        bool lora) {
  Product product{.in = in, .out = out, .weight = add_parameter(times(in, out))};
  if (bias) {
    product.bias = add_parameter(out);
  }
  if (lora && lora_rank_ > 0) {
    product.lora = static_cast<ParameterId>(parameters_.size());
    parameters_.push_back({.elements = times(in, lora_rank_), .role = ParameterRole::Trained});
    parameters_.push_back({.elements = times(lora_rank_, out), .role = ParameterRole::Trained});
  }
  return product;
}

TransformerModel::Norm TransformerModel::add_norm(std::int64_t width, std::uint32_t count) {
  const Norm norm{
      .first = static_cast<ParameterId>(parameters_.size()), .count = count, .width = width};
  for (std::uint32_t index = 0; index < count; ++index) {
    add_parameter(width);
  }
  return norm;
}

void TransformerModel::add_block() {
  const std::int64_t hidden = shape_.hidden;
  const std::int64_t inner = shape_.feed_forward;
  BlockParameters own;
  if (llama_) {
    const std::int64_t queries = times(shape_.heads, head_size_);
    const std::int64_t shared = times(shape_.key_value_heads, head_size_);
    own.query = add_product(hidden, queries, type_.biases);
    own.key = add_product(hidden, shared, type_.biases);
    own.value = add_product(hidden, shared, type_.biases);
    own.out = add_product(queries, hidden, false);
    own.gate = add_product(hidden, inner, false);
    own.up = add_product(hidden, inner, false);
    own.down = add_product(inner, hidden, false);
    own.first = add_norm(hidden, 1);
    own.second = add_norm(hidden, 1);
  } else {
    if (type_.style == BlockStyle::Gpt2) {
      own.query = add_product(hidden, 3 * hidden, true);
    } else {
      own.query = add_product(hidden, hidden, true);
      own.key = add_product(hidden, hidden, true);
      own.value = add_product(hidden, hidden, true);
    }
    own.out = add_product(hidden, hidden, true);
    own.first = add_norm(hidden, 2);
    own.up = add_product(hidden, inner, true);
    own.down = add_product(inner, hidden, true);
    own.second = add_norm(hidden, 2);
  }
  blocks_.push_back(own);
}

void TransformerModel::add_head() {
  const std::int64_t hidden = shape_.hidden;
  if (llama_ || type_.style == BlockStyle::Gpt2 || type_.style == BlockStyle::PreNorm) {
    final_norm_ = add_norm(hidden, llama_ ? 1 : 2);
  }
  switch (shape_.task) {
    case TransformerTask::MaskedLm:
      masked_transform_ = add_product(hidden, embedding_size_, true);
      masked_norm_ = add_norm(embedding_size_, 2);
      add_parameter(shape_.vocabulary);  // the bias of the tied head
      vocabulary_head_ = {
          .in = embedding_size_, .out = shape_.vocabulary, .weight = token_embedding_};
      break;
    case TransformerTask::Classification:
      add_product(hidden, hidden, true);  // the pooler
      classifier_ = add_product(hidden, 2, true);
      break;
    case TransformerTask::CausalLm:
      if (*shape_.tied_embeddings) {
        vocabulary_head_ = {.in = hidden, .out = shape_.vocabulary, .weight = token_embedding_};
      } else {
        vocabulary_head_ = add_product(hidden, shape_.vocabulary, false, /*lora=*/false);
      }
      break;
  }
}

std::int64_t TransformerModel::untied_head_elements() const {
  const bool tied = shape_.task == TransformerTask::MaskedLm ||
                    (shape_.task == TransformerTask::CausalLm && *shape_.tied_embeddings);
  return tied ? times(shape_.vocabulary, embedding_size_) : 0;
}

}  // namespace carpool::estimate
