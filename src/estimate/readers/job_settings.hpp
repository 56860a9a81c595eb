// How a job is run, as far as a user, a command line or a file states it; nullopt: not stated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/described_job.hpp"

namespace carpool::estimate {

// Assumed where neither the user nor the file gives a size: that of ImageNet, on which most named
// image models are trained, and a common length of text.
inline constexpr std::int64_t kUsualResolution = 224;
inline constexpr std::int64_t kUsualTokens = 512;

struct JobSettings {
  std::optional<RunMode> mode{};
  std::optional<Precision> precision{};
  std::optional<Optimizer> optimizer{};
  std::optional<TransformerTask> task{};
  std::optional<AttentionKind> attention{};
  std::optional<std::int64_t> batch{};     // samples per step, on one GPU
  std::optional<std::int64_t> sequence{};  // tokens
  std::optional<std::int64_t> accumulation{};
  std::optional<std::int64_t> lora_rank{};
  std::optional<std::int64_t> decode_tokens{};
  std::optional<std::int64_t> resolution{};  // pixels of a side
  std::optional<std::int64_t> gpus{};
  std::optional<std::int64_t> zero_stage{};
  std::optional<bool> checkpointing{};
  std::optional<bool> tf32{};
  std::optional<bool> channels_last{};
  std::optional<bool> autotune{};
  std::optional<bool> built_on_gpu{};

  bool operator==(const JobSettings&) const = default;
};

// The settings of `first`, completed by those of `second`.
[[nodiscard]] JobSettings merged_settings(const JobSettings& first, const JobSettings& second);

// Precisions in the spellings of users and frameworks: "bf16" and "fp16" are precisions of the
// weights; "amp-bf16", "bf16-mixed" and "16-mixed" mean autocast with 32-bit weights.
[[nodiscard]] Result<Precision> precision_named(std::string_view name);
// The same names for an autocast: "bf16" is bf16 autocast.
[[nodiscard]] Result<Precision> autocast_named(std::string_view name);
// "adamw", "adamw_torch_fused", "sgd", "momentum", …
[[nodiscard]] Result<Optimizer> optimizer_named(std::string_view name);
// "mlm", "clm", "classification"
[[nodiscard]] Result<TransformerTask> task_named(std::string_view name);
[[nodiscard]] Result<AttentionKind> attention_named(std::string_view name);

// For people: "bf16 autocast", "AdamW, fused".
[[nodiscard]] std::string_view display_name(Precision precision);
[[nodiscard]] std::string_view display_name(Optimizer optimizer);
[[nodiscard]] std::string_view display_name(TransformerTask task);

}  // namespace carpool::estimate
