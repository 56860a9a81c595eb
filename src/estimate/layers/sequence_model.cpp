#include <algorithm>
#include <array>
#include <utility>

#include "estimate/layers/layer_sequence.hpp"

namespace carpool::estimate {
namespace {

using Kind = SequenceStep::Kind;

// Layers of a checkpointed segment: a list does not show where the blocks begin.
constexpr std::size_t kSegmentLayers = 8;
// Elements of the output of an attention for each number of its log-sum-exp.
constexpr std::int64_t kHeadSize = 32;

}  // namespace

SequenceModel::SequenceModel(LayerSequence sequence,
                             const TrainingSetup& setup,
                             const ReplaySettings& settings)
    : sequence_(std::move(sequence)),
      setup_(setup),
      sizes_(sizes_of(setup.precision)),
      training_(setup.mode == RunMode::Train),
      settings_(settings) {
  if (setup.checkpointing && training_) {
    for (std::size_t cut = 0; cut < sequence_.cuts.size(); cut += kSegmentLayers) {
      segments_.push_back(
          {.begin = cut == 0 ? 0 : sequence_.cuts[cut], .end = sequence_.steps.size()});
      if (segments_.size() > 1) {
        segments_[segments_.size() - 2].end = segments_.back().begin;
      }
    }
  }
}

void SequenceModel::keep_more(std::int64_t bytes) {
  const auto layers = std::ranges::count_if(sequence_.steps, &SequenceStep::layer);
  extra_a_layer_ = bytes / std::max<std::int64_t>(layers, 1);
}

TensorId SequenceModel::forward(Tape& tape, TensorId input, std::int64_t batch) {
  const bool known = batch == batch_;
  batch_ = batch;
  if (!known) {
    plan();
  }
  tries_forward_ = setup_.autotune && !known;
  tries_backward_ = tries_forward_;
  tape.hold(input);
  if (segments_.empty()) {
    return run(tape, input, {.begin = 0, .end = sequence_.steps.size()});
  }
  // The first segment is not checkpointed: running it again would save nothing.
  TensorId current = run(tape, input, segments_.front());
  for (std::size_t segment = 1; segment < segments_.size(); ++segment) {
    const TensorId before = current;
    tape.hold(before);
    tape.set_recording(false);
    current = run(tape, before, segments_[segment]);
    tape.set_recording(true);
    tape.checkpoint(current, before, segment);
    tape.drop(before);
  }
  return current;
}

TensorId SequenceModel::forward_segment(Tape& tape, std::size_t segment, TensorId input) {
  tape.hold(input);
  tries_forward_ = false;
  return run(tape, input, segments_[segment]);
}

TensorId SequenceModel::run(Tape& tape, TensorId input, const SequenceSegment& segment) {
  Flow flow{.current = input};
  for (std::size_t index = segment.begin; index < segment.end; ++index) {
    const SequenceStep& step = sequence_.steps[index];
    take(tape, step, flow);
    if (step.layer && extra_a_layer_ > 0 && tape.recording()) {
      tape.keep(flow.current, extra_a_layer_);
    }
  }
  if (flow.remembered != kNoTensor) {
    tape.drop(flow.remembered);
  }
  return flow.current;
}

void SequenceModel::take(Tape& tape, const SequenceStep& step, Flow& flow) {
  ids_.clear();
  for (std::uint8_t index = 0; index < step.parameter_count; ++index) {
    ids_.push_back(step.first_parameter + index);
  }
  switch (step.kind) {
    case Kind::Linear:
    case Kind::Convolution:
      take_product(tape, step, flow);
      return;
    case Kind::BatchNorm:
    case Kind::LayerNorm:
      take_norm(tape, step, flow);
      return;
    case Kind::OverwriteInput:
    case Kind::OverwriteByCopy:
      take_in_place(tape, step, flow);
      return;
    case Kind::KeepBytes:
      if (tape.recording()) {
        tape.keep(flow.current, elements(step));
      }
      return;
    case Kind::RememberAndPool:
      if (flow.remembered != kNoTensor) {
        tape.drop(flow.remembered);
      }
      flow.remembered = flow.current;
      tape.hold(flow.current);
      take_simple(tape, step, flow);
      return;
    default:
      take_simple(tape, step, flow);
  }
}

void SequenceModel::take_product(Tape& tape, const SequenceStep& step, Flow& flow) {
  TensorId input = flow.current;
  if (sizes_.autocast && tape.bytes(input) == 4) {
    input = tape.tensor(tape.elements(input), 2, tape.needs_gradient(input));
    tape.node(input, {flow.current}, {}, {}, {});
  }
  casts_.clear();
  if (sizes_.autocast) {
    for (const ParameterId id : ids_) {
      casts_.push_back(tape.autocast(id));
    }
  }
  const TensorId weight = casts_.empty() ? kNoTensor : casts_.front();
  const std::int64_t count = elements(step);
  const ConvolutionWorkspace scratch = workspace(step);
  const ConvolutionWorkspace tried = trial(step);
  if (step.kind == Kind::Linear) {
    tape.forward_matmul();
  }
  const TensorId out = tape.tensor(count, sizes_.compute);
  tape.try_out(tried.forward);
  tape.transient(scratch.forward);
  // The copy of the weight is needed for the gradient of the input only.
  const TensorId kept_weight = tape.needs_gradient(input) ? weight : kNoTensor;
  tape.node(out,
            {input},
            std::array{input, kept_weight},
            ids_,
            {.input_workspace = scratch.input_gradient,
             .parameter_workspace = scratch.weight_gradient,
             .input_trial = tried.input_gradient,
             .parameter_trial = tried.weight_gradient,
             .matmul = step.kind == Kind::Linear,
             .gradient_bytes = sizes_.compute});
  for (const TensorId cast : casts_) {
    tape.drop(cast);
  }
  if (input != flow.current) {
    tape.drop(input);
  }
  tape.drop(flow.current);
  flow.current = out;
}

void SequenceModel::take_norm(Tape& tape, const SequenceStep& step, Flow& flow) {
  TensorId input = flow.current;
  unsigned bytes = tape.bytes(input);
  if (step.kind == Kind::LayerNorm && sizes_.autocast) {
    bytes = 4;
    if (tape.bytes(input) == 2) {
      input = tape.tensor(tape.elements(input), 4, tape.needs_gradient(input));
      tape.node(input, {flow.current}, {}, {}, {});
    }
  }
  const TensorId out = tape.tensor(elements(step), step.bytes != 0 ? step.bytes : bytes);
  TensorId statistics = kNoTensor;
  if (step.kind == Kind::BatchNorm) {
    // Mean and deviation, each rounded up to the 512 B of a block.
    constexpr std::int64_t kBlock = 128;
    statistics = tape.tensor(2 * ((step.channels + kBlock - 1) / kBlock * kBlock), 4);
  }
  tape.node(
      out, {input}, std::array{input, statistics}, ids_, {.gradient_bytes = sizes_.parameter});
  if (statistics != kNoTensor) {
    tape.drop(statistics);
  }
  if (input != flow.current) {
    tape.drop(input);
  }
  tape.drop(flow.current);
  flow.current = out;
}

void SequenceModel::take_in_place(Tape& tape, const SequenceStep& step, const Flow& flow) const {
  if (!tape.recording()) {
    return;
  }
  if (step.kind == Kind::OverwriteInput) {
    tape.in_place_node(flow.current, flow.current);
    return;
  }
  const TensorId copy = tape.tensor(tape.elements(flow.current), tape.bytes(flow.current));
  tape.in_place_node(flow.current, copy);
  tape.drop(copy);
}

void SequenceModel::take_simple(Tape& tape, const SequenceStep& step, Flow& flow) {
  if (step.kind == Kind::Dropout && !training_) {
    return;
  }
  const TensorId in = flow.current;
  const std::int64_t count = elements(step);
  const TensorId shaped_like = step.kind == Kind::Gate ? flow.remembered : in;
  const TensorId out = tape.tensor(count, step.bytes != 0 ? step.bytes : tape.bytes(shaped_like));
  NodeTraits traits{.gradient_bytes = sizes_.parameter};
  std::array<TensorId, 3> saved = {kNoTensor, kNoTensor, kNoTensor};
  TensorId extra = kNoTensor;  // an internal tensor that the layer keeps
  switch (step.kind) {
    case Kind::KeepOutput:
      saved[0] = out;
      break;
    case Kind::KeepInputOnce:
      traits.workspace = times(count, tape.bytes(in));
      saved[0] = in;
      break;
    case Kind::Dropout:
      extra = tape.tensor(count, 1);
      break;
    case Kind::MaxPool:
      extra = tape.tensor(count, 8);
      saved[0] = in;
      break;
    case Kind::Attention:
      extra = tape.tensor(count / kHeadSize, 4);
      saved = {in, out, kNoTensor};
      break;
    case Kind::Gate:
      saved = {flow.remembered, in, kNoTensor};
      break;
    case Kind::Copy:
      break;
    default:
      saved[0] = in;
  }
  saved[2] = extra;
  if (step.kind == Kind::Gate) {
    tape.node(out, {flow.remembered, in}, saved, ids_, traits);
  } else {
    tape.node(out, {in}, saved, ids_, traits);
  }
  if (extra != kNoTensor) {
    tape.drop(extra);
  }
  tape.drop(in);
  flow.current = out;
}

}  // namespace carpool::estimate
