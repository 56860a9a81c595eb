#include "estimate/layers/model_sizes.hpp"

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <variant>

#include "estimate/layers/layer_sequence.hpp"
#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {
namespace {

ModelSizes of_sequence(const LayerSequence& sequence) {
  ModelSizes sizes{.input_elements = sequence.input_per_sample};
  for (const ParameterSpec& spec : sequence.parameters) {
    if (spec.role != ParameterRole::Buffer) {
      sizes.parameters = plus(sizes.parameters, spec.elements);
      sizes.largest_layer = std::max(sizes.largest_layer, spec.elements);
    }
  }
  for (const SequenceStep& step : sequence.steps) {
    if (step.layer) {
      sizes.outputs.push_back(step.per_sample);
    }
  }
  return sizes;
}

// Outputs of the embedding, of the leaf modules of each block and of the head, as a summary lists
// them.
ModelSizes of_transformer(const TransformerShape& shape, const TrainingSetup& setup) {
  const TransformerModel model(shape, setup);
  ModelSizes sizes;
  for (const ParameterSpec& spec : model.parameters()) {
    sizes.parameters = plus(sizes.parameters, spec.elements);
    sizes.largest_layer = std::max(sizes.largest_layer, spec.elements);
  }
  const std::int64_t tokens = setup.sequence;
  const std::int64_t hidden = times(tokens, shape.hidden);
  const std::int64_t inner =
      times(tokens, shape.feed_forward > 0 ? shape.feed_forward : 4 * shape.hidden);
  sizes.outputs.assign(2, hidden);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    // norm, query, key, value, output, norm, feed-forward and its activation, output
    for (const std::int64_t elements :
         {hidden, hidden, hidden, hidden, hidden, hidden, inner, inner, hidden}) {
      sizes.outputs.push_back(elements);
    }
  }
  sizes.outputs.push_back(
      shape.task == TransformerTask::Classification ? 2 : times(tokens, shape.vocabulary));
  return sizes;
}

}  // namespace

std::int64_t ModelSizes::activations() const {
  std::int64_t sum = 0;
  for (const std::int64_t elements : outputs) {
    sum = plus(sum, elements);
  }
  return sum;
}

ModelSizes sizes_of_model(const DescribedJob& job) {
  return std::visit(
      [&](const auto& shape) -> ModelSizes {
        using Shape = std::remove_cvref_t<decltype(shape)>;
        if constexpr (std::is_same_v<Shape, TransformerShape>) {
          return of_transformer(shape, job.setup);
        } else if constexpr (std::is_same_v<Shape, ModelTotals>) {
          return {.parameters = shape.parameters,
                  .largest_layer = shape.parameters,
                  .outputs = {shape.activation_bytes / 4 / job.setup.batch}};
        } else if constexpr (std::is_same_v<Shape, LayerList>) {
          return of_sequence(sequence_of(shape, job.setup));
        } else {
          return of_sequence(sequence_of(shape));
        }
      },
      job.model.shape);
}

}  // namespace carpool::estimate
