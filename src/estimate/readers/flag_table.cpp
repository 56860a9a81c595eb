#include "estimate/readers/flag_table.hpp"

#include <algorithm>
#include <array>

namespace carpool::estimate {
namespace {

constexpr auto kFlags = std::to_array<CommandFlag>({
    {"batch-size", FlagMeaning::Batch},
    {"batch", FlagMeaning::Batch},
    {"b", FlagMeaning::Batch},
    {"bs", FlagMeaning::Batch},
    {"train-batch-size", FlagMeaning::Batch},
    {"micro-batch-size", FlagMeaning::Batch},
    {"batch-size-per-gpu", FlagMeaning::Batch},
    {"per-device-train-batch-size", FlagMeaning::Batch},
    {"per-gpu-train-batch-size", FlagMeaning::Batch},
    {"train-micro-batch-size-per-gpu", FlagMeaning::Batch},
    {"per-device-eval-batch-size", FlagMeaning::EvaluationBatch},
    {"eval-batch-size", FlagMeaning::EvaluationBatch},
    {"sequence-length", FlagMeaning::Sequence},
    {"seq-length", FlagMeaning::Sequence},
    {"seq-len", FlagMeaning::Sequence},
    {"seqlen", FlagMeaning::Sequence},
    {"max-seq-length", FlagMeaning::Sequence},
    {"max-seq-len", FlagMeaning::Sequence},
    {"max-length", FlagMeaning::Sequence},
    {"max-source-length", FlagMeaning::Sequence},
    {"model-max-length", FlagMeaning::Sequence},
    {"block-size", FlagMeaning::Sequence},
    {"context-length", FlagMeaning::Sequence},
    {"cutoff-len", FlagMeaning::Sequence},
    {"gradient-accumulation-steps", FlagMeaning::Accumulation},
    {"accumulate-grad-batches", FlagMeaning::Accumulation},
    {"grad-accum-steps", FlagMeaning::Accumulation},
    {"accumulation-steps", FlagMeaning::Accumulation},
    {"update-freq", FlagMeaning::Accumulation},
    {"lora-r", FlagMeaning::LoraRank},
    {"lora-rank", FlagMeaning::LoraRank},
    {"max-new-tokens", FlagMeaning::DecodeTokens},
    {"img-size", FlagMeaning::Resolution},
    {"image-size", FlagMeaning::Resolution},
    {"resolution", FlagMeaning::Resolution},
    {"train-crop-size", FlagMeaning::Resolution},
    {"nproc-per-node", FlagMeaning::Gpus},
    {"num-processes", FlagMeaning::Gpus},
    {"num-gpus", FlagMeaning::Gpus},
    {"devices", FlagMeaning::Gpus},
    {"zero-stage", FlagMeaning::ZeroStage},
    {"dtype", FlagMeaning::WeightType},
    {"torch-dtype", FlagMeaning::WeightType},
    {"precision", FlagMeaning::AutocastType},
    {"mixed-precision", FlagMeaning::AutocastType},
    {"amp-dtype", FlagMeaning::AutocastType},
    {"optim", FlagMeaning::OptimizerName},
    {"optimizer", FlagMeaning::OptimizerName},
    {"opt", FlagMeaning::OptimizerName},
    {"attn-implementation", FlagMeaning::Attention},
    {"model", FlagMeaning::Model},
    {"model-name", FlagMeaning::Model},
    {"model-path", FlagMeaning::Model},
    {"model-id", FlagMeaning::Model},
    {"base-model", FlagMeaning::Model},
    {"arch", FlagMeaning::Model},
    {"a", FlagMeaning::Model},
    {"model-name-or-path", FlagMeaning::Model},
    {"pretrained-model-name-or-path", FlagMeaning::Model},
    {"config-name", FlagMeaning::Model},
    {"bf16", FlagMeaning::Bf16},
    {"fp16", FlagMeaning::Fp16},
    {"amp", FlagMeaning::Fp16},
    {"half", FlagMeaning::Half},
    {"tf32", FlagMeaning::Tf32},
    {"gradient-checkpointing", FlagMeaning::Checkpointing},
    {"grad-checkpointing", FlagMeaning::Checkpointing},
    {"activation-checkpointing", FlagMeaning::Checkpointing},
    {"channels-last", FlagMeaning::ChannelsLast},
    {"cudnn-benchmark", FlagMeaning::Autotune},
    {"do-train", FlagMeaning::Training},
    {"inference", FlagMeaning::Inference},
    {"do-predict", FlagMeaning::Inference},
    {"do-eval", FlagMeaning::Inference},
    {"eval-only", FlagMeaning::Inference},
    {"load-in-4bit", FlagMeaning::Quantised},
    {"load-in-8bit", FlagMeaning::Quantised},
});

}  // namespace

const CommandFlag* find_flag(std::string_view name) {
  const auto* const found = std::ranges::find(kFlags, name, &CommandFlag::name);
  return found == kFlags.end() ? nullptr : found;
}

}  // namespace carpool::estimate
