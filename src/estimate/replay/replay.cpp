#include "estimate/replay/replay.hpp"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "base/text/names.hpp"
#include "estimate/layers/layer_sequence.hpp"
#include "estimate/replay/parameter_memory.hpp"
#include "estimate/transformer/transformer.hpp"

namespace carpool::estimate {
namespace {

// Limits against typing errors; no real job comes near them.
constexpr std::int64_t kMostBatch = 100'000'000;
constexpr std::int64_t kMostSequence = 100'000'000;
constexpr std::int64_t kMostLayers = 100'000;
constexpr std::int64_t kMostBlocks = 10'000;
constexpr std::int64_t kMostExtent = 1'000'000'000'000;

Result<void> check_range(std::string_view what,
                         std::int64_t value,
                         std::int64_t least,
                         std::int64_t most) {
  if (value < least || value > most) {
    return invalid_input(
        fmt::format("{} is {}; it must be from {} to {}", what, value, least, most));
  }
  return {};
}

Result<void> check_all(std::string_view what,
                       const std::vector<std::int64_t>& values,
                       std::int64_t least) {
  for (const std::int64_t value : values) {
    if (auto checked = check_range(what, value, least, kMostExtent); !checked) {
      return checked;
    }
  }
  return {};
}

Result<void> check_count(std::size_t count) {
  return check_range("the number of layers", static_cast<std::int64_t>(count), 1, kMostLayers);
}

Result<void> check_shape(const LayerList& list) {
  if (auto checked = check_count(list.layers.size()); !checked) {
    return checked;
  }
  if (auto checked = check_range("the batch of the layer list", list.batch, 1, kMostBatch);
      !checked) {
    return checked;
  }
  constexpr std::string_view kWhat = "a size in the list of layers";
  for (const LayerLine& line : list.layers) {
    if (auto checked = check_range(kWhat, line.parameters, 0, kMostExtent); !checked) {
      return checked;
    }
    if (auto checked = check_all(kWhat, line.shape, 0); !checked) {
      return checked;
    }
  }
  return check_all(kWhat, {list.parameters, list.buffers, list.input_elements}, 0);
}

Result<void> check_shape(const MlpShape& shape) {
  if (auto checked = check_count(shape.widths.size() + 1); !checked) {
    return checked;
  }
  std::vector<std::int64_t> sizes = shape.widths;
  sizes.insert(sizes.end(), {shape.inputs, shape.classes});
  return check_all("the width of a layer", sizes, 1);
}

Result<void> check_shape(const CnnShape& shape) {
  if (auto checked = check_count(shape.convolutions.size()); !checked) {
    return checked;
  }
  std::vector<std::int64_t> sizes = {shape.channels, shape.resolution, shape.kernel, shape.classes};
  for (const ConvolutionShape& convolution : shape.convolutions) {
    sizes.insert(sizes.end(), {convolution.filters, convolution.stride});
  }
  return check_all("a size of the convolutions", sizes, 1);
}

Result<void> check_shape(const TransformerShape& shape) {
  if (find_transformer_type(shape.type) == nullptr) {
    return tl::unexpected(unknown_name("architecture", shape.type, transformer_type_names()));
  }
  if (auto checked = check_range("the number of blocks", shape.layers, 1, kMostBlocks); !checked) {
    return checked;
  }
  if (auto checked = check_all("a size of the configuration",
                               {shape.positions,
                                shape.key_value_heads,
                                shape.feed_forward,
                                shape.extra_saved_hidden,
                                shape.embedding,
                                shape.head_size,
                                shape.window.value_or(0),
                                shape.unlisted_parameters},
                               0);
      !checked) {
    return checked;
  }
  return check_all("a size of the configuration", {shape.hidden, shape.heads, shape.vocabulary}, 1);
}

Result<void> check_shape(const ModelTotals& totals) {
  return check_all(
      "the number of parameters or activations", {totals.parameters, totals.activation_bytes}, 0);
}

JobReplay replay_sequence(LayerSequence sequence,
                          const DescribedJob& job,
                          const ReplaySettings& settings) {
  JobReplay replay{.convolutions = !sequence.convolutions.empty(),
                   .unknown_layers = sequence.unknown_layers,
                   .unseen_parameters = sequence.unseen_parameters};
  SequenceModel model(std::move(sequence), job.setup, settings);
  replay.result = run_training(model, job, settings);
  return replay;
}

JobReplay replay_shape(const ModelShape& shape,
                       const DescribedJob& job,
                       const ReplaySettings& settings) {
  return std::visit(
      [&](const auto& own) -> JobReplay {
        using Shape = std::remove_cvref_t<decltype(own)>;
        if constexpr (std::is_same_v<Shape, TransformerShape>) {
          TransformerModel model(own, job.setup);
          return {.result = run_training(model, job, settings)};
        } else if constexpr (std::is_same_v<Shape, ModelTotals>) {
          return {.result = add_up_totals(own, job.setup)};
        } else if constexpr (std::is_same_v<Shape, LayerList>) {
          return replay_sequence(sequence_of(own, job.setup), job, settings);
        } else {
          return replay_sequence(sequence_of(own), job, settings);
        }
      },
      shape);
}

}  // namespace

Result<void> check_job(const DescribedJob& job) {
  const TrainingSetup& setup = job.setup;
  const bool tokens = std::holds_alternative<TransformerShape>(job.model.shape);
  for (const auto& checked :
       {check_range("the batch", setup.batch, 1, kMostBatch),
        check_range("the sequence length", setup.sequence, tokens ? 1 : 0, kMostSequence),
        check_range("the number of accumulated batches", setup.accumulation, 1, kMostBatch),
        check_range("the LoRA rank", setup.lora_rank, 0, kMostExtent),
        check_range("the number of decoded tokens", setup.decode_tokens, 0, kMostSequence),
        check_range("the number of GPUs", setup.gpus, 1, 1'000'000),
        check_range("the ZeRO stage", setup.zero_stage, 0, 3)}) {
    if (!checked) {
      return checked;
    }
  }
  return std::visit([](const auto& shape) { return check_shape(shape); }, job.model.shape);
}

Result<JobReplay> replay_job(const DescribedJob& job, const ReplaySettings& settings) {
  if (auto checked = check_job(job); !checked) {
    return tl::unexpected(checked.error());
  }
  JobReplay replay = replay_shape(job.model.shape, job, settings);
  if (replay.result.overflowed) {
    return invalid_input(fmt::format(
        "the job would need more than {} GiB on one GPU; check the batch ({}) and the model sizes",
        CachingAllocator::kMostBytes / kGiB,
        job.setup.batch));
  }
  return replay;
}

ReplayResult add_up_totals(const ModelTotals& totals, const TrainingSetup& setup) {
  const NumberSizes sizes = sizes_of(setup.precision);
  const bool training = setup.mode == RunMode::Train;
  const std::int64_t weights = times(totals.parameters, sizes.parameter);
  ReplayResult result{.parameters = totals.parameters, .weight_bytes = weights};
  const auto use = [&](MemoryPurpose kind) -> std::int64_t& {
    return result.uses[static_cast<std::size_t>(kind)];
  };
  use(MemoryPurpose::Weights) = weights;
  if (training) {
    use(MemoryPurpose::Gradients) = weights;
    use(MemoryPurpose::Optimizer) = times(weights, optimizer_traits(setup.optimizer).states);
    use(MemoryPurpose::Activations) = totals.activation_bytes;
    result.saved = totals.activation_bytes;
  }
  for (const std::int64_t bytes : result.uses) {
    result.allocated += bytes;
  }
  result.reserved = result.allocated;
  return result;
}

}  // namespace carpool::estimate
