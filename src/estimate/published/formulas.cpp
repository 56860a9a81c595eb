#include "estimate/published/formulas.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "estimate/layers/model_sizes.hpp"
#include "estimate/replay/caching_allocator.hpp"
#include "estimate/replay/parameter_memory.hpp"
#include "estimate/replay/replay.hpp"

namespace carpool::estimate {
namespace {

// A formula under a name.
class Formula final : public MemoryEstimator {
 public:
  using Compute = std::function<Result<MemoryBreakdown>(const DescribedJob&)>;
  Formula(std::string_view name, Compute compute) : name_(name), compute_(std::move(compute)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] Result<MemoryEstimate> estimate(const DescribedJob& job) const override {
    if (auto checked = check_job(job); !checked) {
      return tl::unexpected(checked.error());
    }
    const auto parts = compute_(job);
    if (!parts) {
      return tl::unexpected(parts.error());
    }
    // They have no bound: their users reserve the estimate.
    return MemoryEstimate{.expected = parts->total(),
                          .upper = parts->total(),
                          .basis = "formula",
                          .breakdown = *parts};
  }

 private:
  std::string name_;
  Compute compute_;
};

Result<MemoryBreakdown> horus(const DescribedJob& job) {
  const ModelSizes sizes = sizes_of_model(job);
  const std::int64_t batch = job.setup.batch;
  return MemoryBreakdown{.weights = 4 * sizes.parameters,
                         .gradients = 4 * times(batch, sizes.parameters),
                         .activations = 4 * times(batch, sizes.activations())};
}

Result<MemoryBreakdown> faketensor(const DescribedJob& job) {
  if (std::holds_alternative<ModelTotals>(job.model.shape)) {
    return fail(ErrorCode::Unsupported, "totals cannot be traced");
  }
  DescribedJob traced = job;
  traced.setup.optimizer = Optimizer::Sgd;
  traced.setup.accumulation = 1;
  traced.setup.gpus = 1;
  const auto replay =
      replay_job(traced, {.workspace_factor = 0.0, .steps = 1, .with_weights = false});
  if (!replay) {
    return tl::unexpected(replay.error());
  }
  return MemoryBreakdown{.activations = replay->result.allocated};
}

Result<MemoryBreakdown> deepspeed(const DescribedJob& job) {
  const ModelSizes sizes = sizes_of_model(job);
  const auto gpus = static_cast<std::int64_t>(job.setup.zero_stage == 0 ? 1 : job.setup.gpus);
  const std::int64_t parameters = sizes.parameters;
  if (job.setup.zero_stage == 3) {
    return MemoryBreakdown{.weights = 4 * sizes.largest_layer + 2 * parameters / gpus,
                           .gradients = 2 * parameters / gpus,
                           .optimizer = 14 * parameters / gpus};
  }
  return MemoryBreakdown{
      .weights = 2 * parameters, .gradients = 2 * parameters, .optimizer = 16 * parameters / gpus};
}

Result<MemoryBreakdown> llmem(const DescribedJob& job, std::int64_t fallback_context) {
  const auto* shape = std::get_if<TransformerShape>(&job.model.shape);
  if (shape == nullptr || shape->task != TransformerTask::CausalLm ||
      job.setup.mode != RunMode::Train) {
    return fail(ErrorCode::Unsupported, "LLMem supports the fine-tuning of decoders only");
  }
  const ModelSizes sizes = sizes_of_model(job);
  const std::int64_t tokens = times(job.setup.batch, job.setup.sequence);
  const std::int64_t logits = times(tokens, shape->vocabulary);
  std::int64_t outputs = 0;
  for (const std::int64_t elements : sizes.outputs) {
    outputs += elements;
  }
  outputs -= times(job.setup.sequence, shape->vocabulary);
  return MemoryBreakdown{.context = job.machine.context_bytes.value_or(fallback_context),
                         .weights = 2 * sizes.parameters,
                         .gradients = 2 * sizes.parameters,
                         .optimizer = 12 * sizes.parameters,
                         .activations = 2 * times(outputs, job.setup.batch) + 6 * logits};
}

Result<MemoryBreakdown> dnnmem(const DescribedJob& job, std::int64_t fallback_context) {
  const ModelSizes sizes = sizes_of_model(job);
  const bool training = job.setup.mode == RunMode::Train;
  const NumberSizes bytes = sizes_of(job.setup.precision);
  CachingAllocator allocator;
  const auto take = [&](std::int64_t elements, unsigned each, MemoryPurpose use) {
    static_cast<void>(allocator.allocate(times(elements, each), use));
  };
  take(sizes.parameters, bytes.parameter, MemoryPurpose::Weights);
  std::vector<std::int64_t> outputs;
  outputs.reserve(sizes.outputs.size());
  for (const std::int64_t elements : sizes.outputs) {
    outputs.push_back(times(elements, job.setup.batch));
  }
  take(times(sizes.input_elements, job.setup.batch), bytes.parameter, MemoryPurpose::Activations);
  if (training) {
    take(sizes.parameters, bytes.parameter, MemoryPurpose::Gradients);
    for (int state = 0; state < optimizer_traits(job.setup.optimizer).states; ++state) {
      take(sizes.parameters, bytes.parameter, MemoryPurpose::Optimizer);
    }
    for (const std::int64_t elements : outputs) {
      take(elements, bytes.compute, MemoryPurpose::Activations);
    }
  }
  // Live at the same time: two gradients or, in inference, input and output of one operator.
  std::int64_t largest = 0;
  for (std::size_t index = 1; index < outputs.size(); ++index) {
    largest = std::max(largest, outputs[index - 1] + outputs[index]);
  }
  take(largest, bytes.compute, MemoryPurpose::Activations);
  if (allocator.overflowed()) {
    return invalid_input("the job would need more than any GPU has");
  }
  const UseBytes uses = allocator.uses_at_peak();
  const auto of = [&](MemoryPurpose use) { return uses[static_cast<std::size_t>(use)]; };
  return MemoryBreakdown{.context = job.machine.context_bytes.value_or(fallback_context),
                         .weights = of(MemoryPurpose::Weights),
                         .gradients = of(MemoryPurpose::Gradients),
                         .optimizer = of(MemoryPurpose::Optimizer),
                         .activations = of(MemoryPurpose::Activations),
                         .allocator_slack = allocator.reserved() - allocator.peak_allocated()};
}

}  // namespace

std::unique_ptr<MemoryEstimator> make_horus() {
  return std::make_unique<Formula>("horus", horus);
}

std::unique_ptr<MemoryEstimator> make_faketensor() {
  return std::make_unique<Formula>("faketensor", faketensor);
}

std::unique_ptr<MemoryEstimator> make_deepspeed() {
  return std::make_unique<Formula>("deepspeed", deepspeed);
}

std::unique_ptr<MemoryEstimator> make_llmem(std::int64_t fallback_context) {
  return std::make_unique<Formula>(
      "llmem", [=](const DescribedJob& job) { return llmem(job, fallback_context); });
}

std::unique_ptr<MemoryEstimator> make_dnnmem(std::int64_t fallback_context) {
  return std::make_unique<Formula>(
      "dnnmem", [=](const DescribedJob& job) { return dnnmem(job, fallback_context); });
}

}  // namespace carpool::estimate
