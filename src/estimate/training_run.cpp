#include "estimate/training_run.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "estimate/allocation_chunks.hpp"
#include "estimate/optimizer_traits.hpp"

namespace carpool {
namespace {

using Block = CachingAllocator::Block;

constexpr std::int64_t kBucketBytes = std::int64_t{25} << 20;  // of DistributedDataParallel

class Run {
 public:
  Run(ForwardModel& model, const DescribedJob& job, const ReplaySettings& settings)
      : model_(model),
        setup_(job.setup),
        settings_(settings),
        sizes_(sizes_of(job.setup.precision)),
        tape_(settings.with_weights ? job.machine : MachineFacts{}) {
    build();
    if (settings.with_weights) {
      tape_.permanent(job.machine.constant_bytes, MemoryPurpose::Workspace);
      if (training()) {
        add_buckets();
      }
    }
  }

  ReplayResult go() {
    if (training() && optimizer_.states_at_start) {
      make_states();
    }
    if (setup_.summary_pass) {
      summary_pass();
    }
    if (!setup_.fresh_inputs) {
      make_inputs(setup_.batch);
    }
    bool first = true;
    for (const std::int64_t batch : batches()) {
      step(batch, first);
      first = false;
    }
    return result();
  }

 private:
  [[nodiscard]] bool training() const { return setup_.mode == RunMode::Train; }

  // Parameters and buffers, in 16 bits by way of 32 where the loop does that.
  void build() {
    const auto specs = model_.parameters();
    for (const ParameterSpec& spec : specs) {
      if (spec.role != ParameterRole::Buffer) {
        tape_.add_parameter({.elements = spec.elements,
                             .bytes = sizes_.parameter,
                             .trained = training() && spec.role == ParameterRole::Trained,
                             .frozen = spec.role != ParameterRole::Trained});
        result_.parameters = plus(result_.parameters, spec.elements);
      }
      result_.weight_bytes = plus(result_.weight_bytes, times(spec.elements, sizes_.parameter));
    }
    if (!settings_.with_weights) {
      return;
    }
    make_weights(specs);
    AllocationChunks trained;
    for (const TapeParameter& parameter : tape_.parameters()) {
      if (parameter.trained) {
        trained.add(times(parameter.elements, parameter.bytes));
      }
    }
    trained_ = trained.sizes();
  }

  void make_weights(std::span<const ParameterSpec> specs) {
    if (const std::int64_t head = model_.untied_head_elements(); head > 0 && setup_.built_on_gpu) {
      AllocationChunks before_tying;
      for (const ParameterSpec& spec : specs) {
        if (setup_.lora_rank == 0 || spec.role != ParameterRole::Trained) {
          before_tying.add(times(spec.elements, 4));  // adapters come later
        }
      }
      before_tying.add(times(head, 4));
      release_all(allocate_all(before_tying.sizes(), MemoryPurpose::Weights));
    }
    const bool converts = sizes_.parameter == 2 && setup_.built_on_gpu;
    AllocationChunks made;
    for (const ParameterSpec& spec : specs) {
      made.add(times(spec.elements, converts ? 4 : sizes_.parameter));
    }
    const std::vector<Block> blocks = allocate_all(made.sizes(), MemoryPurpose::Weights);
    for (std::size_t index = 0; converts && index < blocks.size(); ++index) {
      tape_.permanent(made.sizes()[index] / 2, MemoryPurpose::Weights);
      tape_.allocator().release(blocks[index]);
    }
  }

  // Plain data parallel: gradients are gathered in buckets as large as themselves.
  void add_buckets() {
    if (setup_.gpus < 2 || setup_.zero_stage > 0) {
      return;
    }
    std::int64_t rest = 0;
    for (const TapeParameter& parameter : tape_.parameters()) {
      rest = plus(rest, parameter.trained ? times(parameter.elements, parameter.bytes) : 0);
    }
    for (; rest > 0; rest -= kBucketBytes) {
      tape_.permanent(std::min(rest, kBucketBytes), MemoryPurpose::Gradients);
    }
  }

  std::vector<Block> allocate_all(const std::vector<std::int64_t>& sizes, MemoryPurpose use) {
    std::vector<Block> blocks;
    blocks.reserve(sizes.size());
    for (const std::int64_t bytes : sizes) {
      blocks.push_back(tape_.allocator().allocate(bytes, use));
    }
    return blocks;
  }

  void release_all(const std::vector<Block>& blocks) {
    for (const Block block : blocks) {
      tape_.allocator().release(block);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> batches() const {
    const std::int64_t batch = setup_.batch;
    if (setup_.samples > 0 && setup_.mode == RunMode::Train) {
      const std::int64_t last = batch < setup_.samples ? setup_.samples % batch : 0;
      return last > 0 ? std::vector{batch, batch, batch, last, batch, batch}
                      : std::vector{batch, batch, batch, batch, batch};
    }
    return std::vector(static_cast<std::size_t>(settings_.steps), batch);
  }

  void make_inputs(std::int64_t batch) {
    release_inputs();
    const std::int64_t elements = model_.input_elements(batch);
    input_ = elements > 0 ? tape_.allocator().allocate(times(elements, sizes_.parameter),
                                                       MemoryPurpose::Activations)
                          : CachingAllocator::kNone;
    indices_ = tape_.allocator().allocate(model_.index_bytes(batch), MemoryPurpose::Activations);
  }

  void release_inputs() {
    tape_.allocator().release(std::exchange(input_, CachingAllocator::kNone));
    tape_.allocator().release(std::exchange(indices_, CachingAllocator::kNone));
  }

  TensorId forward(std::int64_t batch) {
    const std::int64_t elements = model_.input_elements(batch);
    return model_.forward(
        tape_, elements > 0 ? tape_.borrowed(elements, sizes_.parameter) : kNoTensor, batch);
  }

  // Two samples through the model, as summary tools do; nothing goes back.
  void summary_pass() {
    constexpr std::int64_t kSamples = 2;
    make_inputs(kSamples);
    const std::size_t mark = tape_.mark();
    const TensorId out = forward(kSamples);
    tape_.drop_nodes();
    tape_.end_autocast();
    tape_.drop(out);
    tape_.forget_since(mark);
    release_inputs();
  }

  void step(std::int64_t batch, bool first) {
    if (setup_.fresh_inputs) {
      make_inputs(batch);
    }
    if (!training()) {
      infer(batch);
      return;
    }
    tape_.zero_gradients();
    // The second round of a step is like any later one; in the first step, without states, it is
    // not the peak.
    const std::int64_t rounds = first ? 1 : std::min<std::int64_t>(setup_.accumulation, 2);
    for (std::int64_t round = 0; round < rounds; ++round) {
      pass(batch);
    }
    step_optimizer(first);
  }

  void pass(std::int64_t batch) {
    const LossTraits traits = model_.loss();
    const std::size_t mark = tape_.mark();
    const TensorId out = forward(batch);
    tape_.allocator().release(std::exchange(last_output_, CachingAllocator::kNone));
    TensorId logits = out;
    if (tape_.bytes(out) == 2 && traits.copies_to_fp32) {
      logits = tape_.tensor(tape_.elements(out), 4);
      tape_.node(logits, {out}, {}, {}, {});
    }
    const TensorId log_softmax =
        tape_.tensor(tape_.elements(logits), traits.log_softmax_fp32 ? 4 : tape_.bytes(logits));
    tape_.node(log_softmax, {logits}, std::array{log_softmax}, {}, {});
    const TensorId loss = tape_.tensor(1, 4);
    tape_.node(loss, {log_softmax}, {}, {}, {});
    tape_.drop(log_softmax);
    if (result_.saved == 0) {
      const std::int64_t told = tape_.saved_bytes();
      result_.saved = std::max(told, settings_.traced_saved);
      model_.keep_more(result_.saved - told);
    }
    if (logits != out) {
      tape_.drop(logits);
    }
    tape_.end_autocast();
    if (setup_.keeps_output) {
      last_output_ = tape_.detach(out);
    } else {
      tape_.drop(out);
    }
    tape_.backward(loss, [&](std::size_t segment, TensorId input) {
      return model_.forward_segment(tape_, segment, input);
    });
    tape_.drop(loss);
    tape_.forget_since(mark);
  }

  void infer(std::int64_t batch) {
    tape_.set_recording(false);
    const std::size_t mark = tape_.mark();
    const TensorId out = forward(batch);
    tape_.end_autocast();
    model_.end_inference(tape_);
    tape_.drop(out);
    tape_.forget_since(mark);
  }

  void make_states() {
    for (const std::int64_t bytes : trained_) {
      for (int state = 0; state < optimizer_.states; ++state) {
        tape_.permanent(bytes, MemoryPurpose::Optimizer);
      }
    }
  }

  void step_optimizer(bool first) {
    if (!settings_.with_weights) {
      return;
    }
    if (first && !optimizer_.states_at_start) {
      make_states();
    }
    std::vector<std::vector<Block>> at_once;
    at_once.reserve(static_cast<std::size_t>(optimizer_.foreach_temporaries));
    for (int pass = 0; pass < optimizer_.foreach_temporaries; ++pass) {
      at_once.push_back(allocate_all(trained_, MemoryPurpose::Optimizer));
    }
    for (const std::vector<Block>& blocks : at_once) {
      release_all(blocks);
    }
    for (const std::int64_t bytes : trained_) {
      const std::vector<std::int64_t> in_turn(
          static_cast<std::size_t>(optimizer_.single_temporaries), bytes);
      release_all(allocate_all(in_turn, MemoryPurpose::Optimizer));
    }
  }

  ReplayResult result() {
    const CachingAllocator& allocator = tape_.allocator();
    result_.reserved = allocator.peak_reserved();
    result_.allocated = allocator.peak_allocated();
    result_.uses = allocator.uses_at_peak();
    result_.overflowed = allocator.overflowed();
    return result_;
  }

  ForwardModel& model_;
  const TrainingSetup& setup_;
  const ReplaySettings& settings_;
  NumberSizes sizes_;
  OptimizerTraits optimizer_ = optimizer_traits(setup_.optimizer);
  Tape tape_;
  Block input_ = CachingAllocator::kNone;
  Block indices_ = CachingAllocator::kNone;
  Block last_output_ = CachingAllocator::kNone;
  std::vector<std::int64_t> trained_;  // bytes of trained parameters, small ones together
  ReplayResult result_;
};

}  // namespace

NumberSizes sizes_of(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
    case Precision::Fp16:
      return {.parameter = 2, .compute = 2, .autocast = false};
    case Precision::AmpBf16:
    case Precision::AmpFp16:
      return {.parameter = 4, .compute = 2, .autocast = true};
    case Precision::Fp32:
      break;
  }
  return {};
}

ReplayResult run_training(ForwardModel& model,
                          const DescribedJob& job,
                          const ReplaySettings& settings) {
  return Run(model, job, settings).go();
}

}  // namespace carpool
