#include "estimate/readers/described.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "estimate/judge/row_json.hpp"
#include "estimate/machines.hpp"

namespace carpool::estimate {
namespace {

// Channels of an image, which a layer list does not give.
constexpr double kChannels = 3.0;

template <class From, class To>
void assign(const std::optional<From>& given, To& into) {
  if (given) {
    into = static_cast<To>(*given);
  }
}

class Describer {
 public:
  Describer(ReadModel read, const JobSettings& settings)
      : read_(std::move(read)),
        settings_(merged_settings(settings, read_.settings)),
        whole_(read_.setup.has_value()) {
    requested_.notes = std::move(read_.notes);
    requested_.basis = std::move(read_.basis);
    requested_.widening = read_.widening;
    requested_.job.model = std::move(read_.model);
    requested_.job.machine = read_.machine.value_or(known_machines().front());
    if (!read_.machine) {
      requested_.job.machine.memory_bytes = 0;  // the GPU is not known
    }
    // TF32 in convolutions is on by default in PyTorch.
    setup() = read_.setup.value_or(TrainingSetup{.tf32 = true, .built_on_gpu = false});
  }

  Result<RequestedJob> describe(std::optional<std::int64_t> default_batch) {
    if (!settings_.batch && !whole_ && !default_batch) {
      return invalid_input("the batch size is not known: add --batch N");
    }
    if (!settings_.batch && !whole_) {
      assume(fmt::format("batch {}, the default of the program", *default_batch));
      setup().batch = *default_batch;
    }
    assign(settings_.batch, setup().batch);
    assign(settings_.mode, setup().mode);
    assign(settings_.accumulation, setup().accumulation);
    assign(settings_.checkpointing, setup().checkpointing);
    assign(settings_.lora_rank, setup().lora_rank);
    assign(settings_.decode_tokens, setup().decode_tokens);
    assign(settings_.tf32, setup().tf32);
    assign(settings_.channels_last, setup().channels_last);
    assign(settings_.autotune, setup().autotune);
    assign(settings_.built_on_gpu, setup().built_on_gpu);
    assign(settings_.attention, setup().attention);
    assign_choices();
    if (auto counted = assign_counts(); !counted) {
      return tl::unexpected(counted.error());
    }
    if (auto* shape = std::get_if<TransformerShape>(&requested_.job.model.shape)) {
      describe_transformer(*shape);
    } else {
      describe_layers();
    }
    return std::move(requested_);
  }

 private:
  TrainingSetup& setup() { return requested_.job.setup; }
  void assume(std::string_view what) {
    requested_.notes.push_back(fmt::format("assumed: {}", what));
  }

  void assign_choices() {
    assign(settings_.precision, setup().precision);
    if (!settings_.precision && !whole_) {
      assume("fp32");
    }
    const bool narrow =
        setup().precision == Precision::Bf16 || setup().precision == Precision::Fp16;
    if (narrow && !whole_ && !settings_.built_on_gpu) {
      assume("weights are loaded in 16 bits; use --built-on-gpu if they are converted on the GPU");
    }
    assign(settings_.optimizer, setup().optimizer);
    if (!settings_.optimizer && !whole_ && setup().mode == RunMode::Train) {
      assume(fmt::format("optimizer {}", display_name(setup().optimizer)));
    }
  }

  Result<void> assign_counts() {
    constexpr std::int64_t kMostGpus = 1'000'000;
    if (settings_.gpus && (*settings_.gpus < 1 || *settings_.gpus > kMostGpus)) {
      return invalid_input(
          fmt::format("{} GPUs: the number must be from 1 to {}", *settings_.gpus, kMostGpus));
    }
    if (settings_.zero_stage && (*settings_.zero_stage < 0 || *settings_.zero_stage > 3)) {
      return invalid_input(
          fmt::format("ZeRO stage {} does not exist: stages are 0 to 3", *settings_.zero_stage));
    }
    constexpr std::int64_t kMostPixels = 100'000;
    if (settings_.resolution &&
        (*settings_.resolution < 1 || *settings_.resolution > kMostPixels)) {
      return invalid_input(fmt::format("{} pixels per side: the number must be from 1 to {}",
                                       *settings_.resolution,
                                       kMostPixels));
    }
    assign(settings_.gpus, setup().gpus);
    assign(settings_.zero_stage, setup().zero_stage);
    return {};
  }

  void describe_transformer(TransformerShape& shape) {
    assign(settings_.task, shape.task);
    assign(settings_.sequence, setup().sequence);
    if (setup().sequence == 0 && !settings_.sequence) {
      setup().sequence =
          shape.positions > 0 ? std::min(shape.positions, kUsualTokens) : kUsualTokens;
      assume(fmt::format("{} tokens per sample", setup().sequence));
    }
    if (!settings_.task && !whole_) {
      assume(fmt::format("head for {}", display_name(shape.task)));
    }
  }

  // The shapes of the layers are those of the file, also where the settings give a sequence length.
  void describe_layers() {
    auto* list = std::get_if<LayerList>(&requested_.job.model.shape);
    if (list != nullptr && settings_.resolution && list->input_elements > 0) {
      const double own = std::sqrt(static_cast<double>(list->input_elements) / kChannels);
      *list = at_resolution(*list, static_cast<double>(*settings_.resolution) / own);
    }
    if (settings_.sequence) {
      requested_.notes.emplace_back("the sequence length of the layer list is used");
    }
    if (setup().lora_rank > 0) {
      requested_.notes.emplace_back(
          "LoRA is supported with config.json only: all parameters are counted as trained");
    }
  }

  ReadModel read_;
  JobSettings settings_;
  bool whole_;  // the file describes the run completely
  RequestedJob requested_{};
};

}  // namespace

Result<RequestedJob> describe_job(ReadModel read,
                                  const JobSettings& settings,
                                  std::optional<std::int64_t> default_batch) {
  return Describer(std::move(read), settings).describe(default_batch);
}

Result<MemoryEstimate> WiderEstimator::estimate(const DescribedJob& job) const {
  return inner_.estimate(job).map([&](MemoryEstimate estimate) {
    estimate.upper = std::llround(static_cast<double>(estimate.upper) * widening_);
    return estimate;
  });
}

}  // namespace carpool::estimate
