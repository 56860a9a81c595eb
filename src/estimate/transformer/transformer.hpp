// Transformers from their configuration alone: the operations of one block in the order in which
// the Hugging Face implementations call them; each tensor is released when Python releases it.
// Symbols: b batch, s sequence, h hidden size, V vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

// How the blocks of a family are built.
enum class BlockStyle : std::uint8_t {
  PostNorm,  // BERT: norm after the residual addition
  PreNorm,   // OPT: norm before each part
  Gpt2,      // pre-norm, one product for query, key and value, GELU written in Python
  Llama,     // RMS norm, rotary positions, gated feed-forward, shared key/value heads
};

struct TransformerType {
  std::string_view name;
  BlockStyle style;
  bool segment_embedding;       // token types
  bool biases;                  // of query, key and value where the style is Llama
  std::int64_t embedding_size;  // 0: the hidden size
  std::int64_t extra_positions;
  bool one_block;       // all blocks have the same parameters
  std::int64_t window;  // tokens that a token attends to; 0: all preceding
};

// nullptr: unknown type.
[[nodiscard]] const TransformerType* find_transformer_type(std::string_view name);
[[nodiscard]] std::vector<std::string_view> transformer_type_names();

class TransformerModel final : public ForwardModel {
 public:
  // The type must be known.
  TransformerModel(const TransformerShape& shape, const TrainingSetup& setup);

  [[nodiscard]] std::span<const ParameterSpec> parameters() const override { return parameters_; }
  [[nodiscard]] std::int64_t untied_head_elements() const override;
  [[nodiscard]] std::int64_t input_elements(std::int64_t /*batch*/) const override { return 0; }
  [[nodiscard]] std::int64_t index_bytes(std::int64_t batch) const override {
    return times(times(batch, sequence_), 8);
  }
  [[nodiscard]] LossTraits loss() const override;
  [[nodiscard]] TensorId forward(Tape& tape, TensorId input, std::int64_t batch) override;
  [[nodiscard]] TensorId forward_segment(Tape& tape, std::size_t segment, TensorId input) override;
  void end_inference(Tape& tape) override;

 private:
  static constexpr ParameterId kNoParameter = 0xFFFFFFFF;
  struct Product {
    std::int64_t in = 0;
    std::int64_t out = 0;
    ParameterId weight = 0;
    ParameterId bias = kNoParameter;
    ParameterId lora = kNoParameter;  // the first of its two factors
  };
  struct Norm {
    ParameterId first = 0;
    std::uint32_t count = 0;
    std::int64_t width = 1;
  };
  struct BlockParameters {
    Product query{};  // or query, key and value together
    Product key{};
    Product value{};
    Product out{};
    Product gate{};
    Product up{};
    Product down{};
    Norm first{};
    Norm second{};
  };

  // ---- building (transformer_build.cpp)
  ParameterId add_parameter(std::int64_t elements);
  Product add_product(std::int64_t in, std::int64_t out, bool bias, bool lora = true);
  Norm add_norm(std::int64_t width, std::uint32_t count);
  void add_block();
  void add_head();

  // ---- operations; they do not release their inputs unless stated (transformer_ops.cpp)
  [[nodiscard]] TensorId linear(const Product& product, TensorId x);
  [[nodiscard]] TensorId low_rank(const Product& product, TensorId x, TensorId out);
  [[nodiscard]] TensorId layer_norm(const Norm& norm, TensorId x);
  [[nodiscard]] TensorId rms_norm(const Norm& norm, TensorId x);
  [[nodiscard]] TensorId norm(const Norm& norm, TensorId x);
  enum class Keeps : std::uint8_t { Nothing, Input, Output };
  [[nodiscard]] TensorId unary(TensorId x, Keeps keeps);
  [[nodiscard]] TensorId sized_copy(TensorId x, std::int64_t elements);
  [[nodiscard]] TensorId dropout(TensorId x);
  [[nodiscard]] TensorId add(TensorId a, TensorId b);
  [[nodiscard]] TensorId multiply(TensorId a, TensorId b);
  [[nodiscard]] TensorId python_gelu(TensorId x);
  // Releases `old` and returns `made`.
  [[nodiscard]] TensorId then(TensorId old, TensorId made);

  // ---- attention (transformer_attention.cpp)
  [[nodiscard]] TensorId attend(TensorId query,
                                TensorId key,
                                TensorId value,
                                std::int64_t elements);
  [[nodiscard]] TensorId attend_fused(TensorId query,
                                      TensorId key,
                                      TensorId value,
                                      std::int64_t elements);
  [[nodiscard]] TensorId attend_eagerly(TensorId query,
                                        TensorId key,
                                        TensorId value,
                                        std::int64_t elements);
  [[nodiscard]] TensorId rotate(TensorId x);

  // ---- blocks (transformer_blocks.cpp)
  [[nodiscard]] TensorId embed();
  [[nodiscard]] TensorId block(std::size_t index, TensorId x);
  [[nodiscard]] TensorId llama_block(const BlockParameters& own, TensorId x);
  [[nodiscard]] TensorId classic_block(const BlockParameters& own, TensorId x);
  [[nodiscard]] TensorId classic_attention(const BlockParameters& own, TensorId x);
  [[nodiscard]] TensorId head(TensorId x);
  void cache(TensorId& key, TensorId& value);

  [[nodiscard]] bool caching() const {
    return !training_ && shape_.task == TransformerTask::CausalLm;
  }
  [[nodiscard]] std::int64_t tokens() const { return times(batch_, sequence_); }

  TransformerShape shape_;
  const TransformerType& type_;
  NumberSizes sizes_;
  bool training_;
  bool checkpointing_;
  bool eager_;
  bool llama_;
  // The 32-bit softmax reads fp16 scores as they are, but copies bf16 ones.
  bool widens_scores_;
  bool masks_window_;  // distant tokens are masked, which needs a mask
  std::int64_t sequence_;
  std::int64_t lora_rank_;
  std::int64_t decode_tokens_;
  std::int64_t embedding_size_;
  std::int64_t head_size_;

  std::vector<ParameterSpec> parameters_;
  ParameterId token_embedding_ = 0;
  std::optional<ParameterId> unlisted_;
  std::optional<ParameterId> position_embedding_;
  std::optional<Norm> embedding_norm_;
  std::optional<Product> embedding_projection_;
  std::vector<BlockParameters> blocks_;
  std::optional<Norm> final_norm_;
  std::optional<Product> masked_transform_;
  std::optional<Norm> masked_norm_;
  std::optional<Product> classifier_;
  Product vocabulary_head_{};

  // State of the current pass.
  Tape* tape_ = nullptr;
  std::int64_t batch_ = 1;
  std::vector<std::array<TensorId, 2>> cached_;  // keys and values
  TensorId last_hidden_ = kNoTensor;
};

}  // namespace carpool::estimate
