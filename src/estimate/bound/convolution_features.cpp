#include <algorithm>
#include <cmath>
#include <variant>

#include "estimate/bound/job_facts.hpp"
#include "estimate/layers/layer_sequence.hpp"

namespace carpool::estimate {
namespace {

struct Convolutions {
  double count = 0.0;
  double largest_pair = 0.0;  // input and output of one, elements of a sample
  double all_pairs = 0.0;
  double largest_output = 0.0;
  double first_output = 0.0;
  double largest_weight = 0.0;  // elements
  bool norms = false;
  bool dropout = false;
  bool keeps_outputs = false;  // activations that keep their output
};

Convolutions summarise(const LayerSequence& sequence) {
  std::vector<double> weights;  // the tape numbers parameters without buffers
  for (const ParameterSpec& spec : sequence.parameters) {
    if (spec.role != ParameterRole::Buffer) {
      weights.push_back(static_cast<double>(spec.elements));
    }
  }
  Convolutions found;
  auto before = static_cast<double>(sequence.input_per_sample);
  for (const SequenceStep& step : sequence.steps) {
    const auto out = static_cast<double>(step.per_sample);
    if (step.kind == SequenceStep::Kind::Convolution) {
      found.first_output = found.count == 0.0 ? out : found.first_output;
      found.count += 1.0;
      found.largest_pair = std::max(found.largest_pair, before + out);
      found.all_pairs += before + out;
      found.largest_output = std::max(found.largest_output, out);
      if (step.parameter_count > 0) {
        found.largest_weight = std::max(found.largest_weight, weights[step.first_parameter]);
      }
    }
    found.norms = found.norms || step.kind == SequenceStep::Kind::BatchNorm;
    found.dropout = found.dropout || step.kind == SequenceStep::Kind::Dropout;
    found.keeps_outputs = found.keeps_outputs || step.kind == SequenceStep::Kind::KeepOutput ||
                          step.kind == SequenceStep::Kind::OverwriteInput;
    before = out;
  }
  return found;
}

LayerSequence sequence_of_job(const DescribedJob& job) {
  if (const auto* list = std::get_if<LayerList>(&job.model.shape)) {
    return sequence_of(*list, job.setup);
  }
  return sequence_of(std::get<CnnShape>(job.model.shape));
}

std::vector<double> features_of(const DescribedJob& job, const JobFacts& facts) {
  const LayerSequence sequence = sequence_of_job(job);
  const Convolutions found = summarise(sequence);
  const auto batch = static_cast<double>(job.setup.batch);
  constexpr double kAboutContext = 1.5e9;  // bytes; keeps the ratios of small nets bounded
  const double scale = facts.reserved[kWorkspaceFactors.size() / 2] + kAboutContext;
  const double pixels = static_cast<double>(sequence.input_per_sample) / 3.0;
  const double filters = found.first_output / std::max(pixels, 1.0);
  return {std::log(scale),
          facts.reserved[0] / scale,
          facts.reserved.back() / scale,
          static_cast<double>(facts.replay.result.allocated) / scale,
          4.0 * batch * found.largest_pair / scale,
          4.0 * batch * found.all_pairs / scale,
          16.0 * found.largest_weight / scale,
          16.0 * static_cast<double>(facts.replay.result.parameters) / scale,
          std::log(batch),
          std::log(std::max(pixels, 1.0)),
          found.count,
          std::log(std::max(filters, 1.0)),
          std::log(std::max(found.largest_output, 1.0)),
          found.norms ? 1.0 : 0.0,
          (found.dropout ? 1.0 : 0.0) + (found.keeps_outputs ? 2.0 : 0.0),
          std::log(std::max(found.largest_weight, 1.0))};
}

}  // namespace

Result<JobFacts> facts_with_features(const DescribedJob& job,
                                     const ConvolutionChoices* convolutions) {
  auto facts = facts_of_job(job, convolutions, kAllFactors);
  if (facts && facts->replay.convolutions) {
    facts->features = features_of(job, *facts);
  }
  return facts;
}

}  // namespace carpool::estimate
