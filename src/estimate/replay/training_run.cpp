#include "estimate/replay/training_run.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "estimate/replay/parameter_memory.hpp"

namespace carpool::estimate {
namespace {

using Block = CachingAllocator::Block;

class Run {
 public:
  Run(ForwardModel& model, const DescribedJob& job, const ReplaySettings& settings)
      : model_(model),
        setup_(job.setup),
        settings_(settings),
        sizes_(sizes_of(job.setup.precision)),
        tape_(settings.with_weights ? job.machine : MachineFacts{}) {
    add_parameters();
    if (settings.with_weights) {
      memory_.make_weights(model);
      tape_.permanent(job.machine.constant_bytes, MemoryPurpose::Workspace);
      if (training()) {
        memory_.add_buckets();
      }
    }
  }

  ReplayResult replay() {
    if (training()) {
      memory_.start_optimizer();
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

  void add_parameters() {
    for (const ParameterSpec& spec : model_.parameters()) {
      if (spec.role != ParameterRole::Buffer) {
        tape_.add_parameter({.elements = spec.elements,
                             .bytes = sizes_.parameter,
                             .trained = training() && spec.role == ParameterRole::Trained,
                             .frozen = spec.role != ParameterRole::Trained});
        result_.parameters = plus(result_.parameters, spec.elements);
      }
      result_.weight_bytes = plus(result_.weight_bytes, times(spec.elements, sizes_.parameter));
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

  // A forward pass with two samples, as summary tools run it.
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
    // Rounds after the second repeat it. The first step has no optimizer states yet, so that its
    // later rounds are not the peak.
    const std::int64_t rounds = first ? 1 : std::min<std::int64_t>(setup_.accumulation, 2);
    for (std::int64_t round = 0; round < rounds; ++round) {
      pass(batch);
    }
    if (settings_.with_weights) {
      memory_.step_optimizer(first);
    }
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
      const std::int64_t listed = tape_.saved_bytes();
      result_.saved = std::max(listed, settings_.traced_saved);
      model_.keep_more(result_.saved - listed);
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
  Tape tape_;
  ParameterMemory memory_{tape_, setup_};
  Block input_ = CachingAllocator::kNone;
  Block indices_ = CachingAllocator::kNone;
  Block last_output_ = CachingAllocator::kNone;
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
  return Run(model, job, settings).replay();
}

}  // namespace carpool::estimate
