// Flags of training programs that decide how much memory they need.
#pragma once

#include <string_view>

namespace carpool::estimate {

enum class FlagMeaning {
  Batch,
  EvaluationBatch,
  Sequence,
  Accumulation,
  LoraRank,
  DecodeTokens,
  Resolution,
  Gpus,
  ZeroStage,
  WeightType,    // precision of the weights
  AutocastType,  // precision of an autocast
  OptimizerName,
  Attention,
  Model,
  // Switches from here on: "--bf16", "--bf16 True".
  Bf16,
  Fp16,
  Half,
  Tf32,
  Checkpointing,
  ChannelsLast,
  Autotune,
  Training,
  Inference,
  Quantised,
};

struct CommandFlag {
  std::string_view name;  // without dashes, with "-" for "_", in small letters
  FlagMeaning meaning;
};

// nullptr: none that matters.
[[nodiscard]] const CommandFlag* find_flag(std::string_view name);

}  // namespace carpool::estimate
