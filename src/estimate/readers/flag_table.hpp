// Flags of training programs that determine their memory.
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
  std::string_view name;  // without leading dashes, "-" for "_", lower case
  FlagMeaning meaning;
};

// nullptr: not relevant.
[[nodiscard]] const CommandFlag* find_flag(std::string_view name);

}  // namespace carpool::estimate
