#include "estimate/readers/job_settings.hpp"

#include <array>

#include "estimate/named_values.hpp"

namespace carpool::estimate {
namespace {

constexpr auto kPrecisions = std::to_array<NamedValue<Precision>>({
    {"fp32", Precision::Fp32},          {"bf16", Precision::Bf16},
    {"fp16", Precision::Fp16},          {"amp-bf16", Precision::AmpBf16},
    {"amp-fp16", Precision::AmpFp16},   {"float32", Precision::Fp32},
    {"float", Precision::Fp32},         {"32", Precision::Fp32},
    {"32-true", Precision::Fp32},       {"no", Precision::Fp32},
    {"none", Precision::Fp32},          {"bfloat16", Precision::Bf16},
    {"bf16-true", Precision::Bf16},     {"float16", Precision::Fp16},
    {"half", Precision::Fp16},          {"16-true", Precision::Fp16},
    {"bf16-mixed", Precision::AmpBf16}, {"16-mixed", Precision::AmpFp16},
    {"fp16-mixed", Precision::AmpFp16}, {"16", Precision::AmpFp16},
});

constexpr auto kOptimizers = std::to_array<NamedValue<Optimizer>>({
    {"sgd", Optimizer::Sgd},
    {"momentum", Optimizer::Momentum},
    {"adam", Optimizer::Adam},
    {"adamw", Optimizer::Adam},
    {"adamw-fused", Optimizer::AdamFused},
    {"adamw-single", Optimizer::AdamSingle},
    {"rmsprop", Optimizer::RmsProp},
    {"adagrad", Optimizer::Adagrad},
    {"adamw_torch", Optimizer::Adam},
    {"adamw_hf", Optimizer::Adam},
    {"adamw_torch_fused", Optimizer::AdamFused},
    {"adamw_apex_fused", Optimizer::AdamFused},
    {"adamw_fused", Optimizer::AdamFused},
    {"adamw_single", Optimizer::AdamSingle},
    {"paged_adamw", Optimizer::Adam},
    {"paged_adamw_32bit", Optimizer::Adam},
    {"nadam", Optimizer::Adam},
    {"radam", Optimizer::Adam},
    {"lamb", Optimizer::Adam},
    {"sgdm", Optimizer::Momentum},
    {"lion", Optimizer::Momentum},
    {"rmsproptf", Optimizer::RmsProp},
});

constexpr auto kTasks = std::to_array<NamedValue<TransformerTask>>({
    {"mlm", TransformerTask::MaskedLm},
    {"clm", TransformerTask::CausalLm},
    {"classification", TransformerTask::Classification},
});

constexpr auto kAttentions = std::to_array<NamedValue<AttentionKind>>({
    {"sdpa", AttentionKind::Sdpa},
    {"eager", AttentionKind::Eager},
    // Keeps the same tensors as the flash kernel of SDPA.
    {"flash_attention_2", AttentionKind::Sdpa},
    {"flash_attention_3", AttentionKind::Sdpa},
});

template <class Value>
void keep(std::optional<Value>& first, const std::optional<Value>& second) {
  if (!first) {
    first = second;
  }
}

}  // namespace

JobSettings merged_settings(const JobSettings& first, const JobSettings& second) {
  JobSettings both = first;
  keep(both.mode, second.mode);
  keep(both.precision, second.precision);
  keep(both.optimizer, second.optimizer);
  keep(both.task, second.task);
  keep(both.attention, second.attention);
  keep(both.batch, second.batch);
  keep(both.sequence, second.sequence);
  keep(both.accumulation, second.accumulation);
  keep(both.lora_rank, second.lora_rank);
  keep(both.decode_tokens, second.decode_tokens);
  keep(both.resolution, second.resolution);
  keep(both.gpus, second.gpus);
  keep(both.zero_stage, second.zero_stage);
  keep(both.checkpointing, second.checkpointing);
  keep(both.tf32, second.tf32);
  keep(both.channels_last, second.channels_last);
  keep(both.autotune, second.autotune);
  keep(both.built_on_gpu, second.built_on_gpu);
  return both;
}

Result<Precision> precision_named(std::string_view name) {
  return find_value(kPrecisions, "precision", name);
}

Result<Precision> autocast_named(std::string_view name) {
  return precision_named(name).map([](Precision precision) {
    switch (precision) {
      case Precision::Bf16:
        return Precision::AmpBf16;
      case Precision::Fp16:
        return Precision::AmpFp16;
      default:
        return precision;
    }
  });
}

Result<Optimizer> optimizer_named(std::string_view name) {
  return find_value(kOptimizers, "optimizer", name);
}

Result<TransformerTask> task_named(std::string_view name) {
  return find_value(kTasks, "task", name);
}

Result<AttentionKind> attention_named(std::string_view name) {
  return find_value(kAttentions, "attention", name);
}

std::string_view display_name(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
      return "bf16";
    case Precision::Fp16:
      return "fp16";
    case Precision::AmpBf16:
      return "bf16 autocast";
    case Precision::AmpFp16:
      return "fp16 autocast";
    case Precision::Fp32:
      break;
  }
  return "fp32";
}

std::string_view display_name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return "SGD";
    case Optimizer::Momentum:
      return "SGD with momentum";
    case Optimizer::AdamFused:
      return "AdamW, fused";
    case Optimizer::AdamSingle:
      return "AdamW, one tensor at a time";
    case Optimizer::RmsProp:
      return "RMSprop";
    case Optimizer::Adagrad:
      return "Adagrad";
    case Optimizer::Adam:
      break;
  }
  return "AdamW";
}

std::string_view display_name(TransformerTask task) {
  switch (task) {
    case TransformerTask::MaskedLm:
      return "masked language model";
    case TransformerTask::Classification:
      return "classification";
    case TransformerTask::CausalLm:
      break;
  }
  return "causal language model";
}

}  // namespace carpool::estimate
