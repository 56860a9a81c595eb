#include "estimate/bound/job_facts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "estimate/cudnn/convolution_workspace.hpp"
#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {
namespace {

// Above this share of parameters that no layer owns, the list lacks whole layers.
constexpr double kFunctionalShare = 0.08;
// Chance that workspaces exceed those of the replay with unusually large ones.
constexpr double kSmallChance = 0.02;

std::int64_t room_for_workspaces(const DescribedJob& job) {
  constexpr std::int64_t kUnknownGpu = 80 * kGiB;
  const std::int64_t all = job.machine.memory_bytes > 0 ? job.machine.memory_bytes : kUnknownGpu;
  return std::max<std::int64_t>(all - job.machine.context_bytes.value_or(0), 0);
}

std::string transformer_family(const TransformerShape& shape, const TrainingSetup& setup) {
  const TransformerType* type = find_transformer_type(shape.type);
  const bool llama = type != nullptr && type->style == BlockStyle::Llama;
  std::string_view how = setup.checkpointing ? "checkpointed" : "training";
  if (setup.mode == RunMode::Infer) {
    how = "inference";
  }
  return fmt::format("{}, {}", llama ? "Llama-like" : "transformer", how);
}

std::string_view bits_of(const TrainingSetup& setup) {
  if (is_strict_fp32(setup)) {
    return "strict 32 bit";
  }
  return setup.precision == Precision::Fp32 ? "32 bit" : "16 bit";
}

// Activations kept for backward are proportional to the batch.
std::int64_t traced_saved_bytes(const DescribedJob& job) {
  const ModelDescription& model = job.model;
  if (!model.traced_saved_bytes || job.setup.checkpointing ||
      !std::holds_alternative<LayerList>(model.shape)) {
    return 0;
  }
  const double batches = model.traced_batch > 0 ? static_cast<double>(job.setup.batch) /
                                                      static_cast<double>(model.traced_batch)
                                                : 1.0;
  constexpr double kMost = 1e15;  // more overflows the replay anyway
  return std::llround(std::min(static_cast<double>(*model.traced_saved_bytes) * batches, kMost));
}

}  // namespace

std::string margin_family(const DescribedJob& job, const JobReplay& replay) {
  const TrainingSetup& setup = job.setup;
  const bool infers = setup.mode == RunMode::Infer;
  if (std::holds_alternative<ModelTotals>(job.model.shape)) {
    return "totals";
  }
  if (std::holds_alternative<MlpShape>(job.model.shape)) {
    return infers ? "mlp, inference" : "mlp";
  }
  if (const auto* shape = std::get_if<TransformerShape>(&job.model.shape)) {
    if (sizes_of(setup.precision).autocast && shape->task == TransformerTask::MaskedLm) {
      return "transformer, autocast masked LM";
    }
    if (setup.attention == AttentionKind::Eager) {
      return "transformer, eager attention";
    }
    return transformer_family(*shape, setup);
  }
  if (setup.autotune) {
    return "image, autotuned";
  }
  if (std::holds_alternative<CnnShape>(job.model.shape)) {
    return fmt::format("plain CNN, {}", bits_of(setup));
  }
  const std::string_view strict = is_strict_fp32(setup) ? ", strict 32 bit" : "";
  if (setup.checkpointing) {
    return fmt::format("image, checkpointed{}", strict);
  }
  if (replay.unseen_parameters > kFunctionalShare) {
    return fmt::format("{}{}", kLayersMissing, strict);
  }
  return fmt::format("image, {}", bits_of(setup));
}

std::string margin_pool(const DescribedJob& job, const JobFacts& facts) {
  if (facts.workspace_class.empty()) {
    return "no convolutions";
  }
  if (job.setup.autotune) {
    return "autotuned convolutions";
  }
  return is_strict_fp32(job.setup) ? "strict 32-bit convolutions" : "convolutions";
}

double margin_spread(const DescribedJob& job, const JobFacts& facts, double central) {
  if (facts.largest <= 0.0) {
    return 0.0;
  }
  double most = facts.largest + static_cast<double>(job.machine.context_bytes.value_or(0));
  if (job.machine.memory_bytes > 0) {
    most = std::min(most, static_cast<double>(job.machine.memory_bytes));
  }
  return std::max(0.0, std::log(most / central));
}

std::string workspace_class(const DescribedJob& job, const JobReplay& replay) {
  if (!replay.convolutions) {
    return {};
  }
  const TrainingSetup& setup = job.setup;
  std::string name = setup.precision != Precision::Fp32 ? "16 bit" : "fp32";
  if (setup.precision == Precision::Fp32 && setup.tf32) {
    name = "tf32";
  }
  name += setup.mode == RunMode::Infer ? ", inference" : ", training";
  name += setup.channels_last ? ", channels last" : "";
  return setup.autotune ? name + ", autotuned" : name;
}

Result<JobFacts> facts_of_job(const DescribedJob& job,
                              const ConvolutionChoices* convolutions,
                              std::span<const std::size_t> tried) {
  JobFacts facts{.learned_workspaces =
                     convolutions != nullptr && job.machine.convolutions_measured};
  ReplaySettings settings{
      .workspaces = {.choices = facts.learned_workspaces ? convolutions : nullptr,
                     .limit = room_for_workspaces(job)},
      .traced_saved = traced_saved_bytes(job)};
  for (const std::size_t factor : tried) {
    settings.workspace_factor = facts.learned_workspaces ? 1.0 : kWorkspaceFactors[factor];
    auto replay = replay_job(job, settings);
    if (!replay) {
      return tl::unexpected(replay.error());
    }
    facts.reserved[factor] = static_cast<double>(replay->result.reserved);
    if (factor == tried.front()) {
      facts.replay = *replay;
    }
    if (!replay->convolutions || facts.learned_workspaces) {
      facts.reserved.fill(facts.reserved[factor]);
      break;
    }
  }
  if (facts.replay.convolutions && facts.learned_workspaces && is_strict_fp32(job.setup) &&
      !job.setup.autotune) {
    settings.workspaces.chance = kSmallChance;
    const auto largest = replay_job(job, settings);
    if (!largest) {
      return tl::unexpected(largest.error());
    }
    facts.largest = static_cast<double>(largest->result.reserved);
  }
  facts.family = margin_family(job, facts.replay);
  facts.workspace_class = workspace_class(job, facts.replay);
  return facts;
}

}  // namespace carpool::estimate
