#include "estimate/readers/described.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "estimate/judge/row_json.hpp"
#include "estimate/machines.hpp"

namespace carpool::estimate {
namespace {

// Of images, where a list of layers tells no other: the channels of a photograph.
constexpr double kChannels = 3.0;

template <class From, class To>
void put(const std::optional<From>& settings, To& into) {
  if (settings) {
    into = static_cast<To>(*settings);
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
      requested_.job.machine.memory_bytes = 0;  // whose GPU it will be, nobody said
    }
    // PyTorch lets convolutions have TF32 unless it is told otherwise.
    setup() = read_.setup.value_or(TrainingSetup{.tf32 = true, .built_on_gpu = false});
  }

  Result<RequestedJob> describe(std::optional<std::int64_t> default_batch) {
    if (!settings_.batch && !whole_ && !default_batch) {
      return invalid_input("the batch size is not known: say --batch N");
    }
    if (!settings_.batch && !whole_) {
      assume(fmt::format("batch {}, the program's default", *default_batch));
      setup().batch = *default_batch;
    }
    put(settings_.batch, setup().batch);
    put(settings_.mode, setup().mode);
    put(settings_.accumulation, setup().accumulation);
    put(settings_.checkpointing, setup().checkpointing);
    put(settings_.lora_rank, setup().lora_rank);
    put(settings_.decode_tokens, setup().decode_tokens);
    put(settings_.tf32, setup().tf32);
    put(settings_.channels_last, setup().channels_last);
    put(settings_.autotune, setup().autotune);
    put(settings_.built_on_gpu, setup().built_on_gpu);
    put(settings_.attention, setup().attention);
    put_choices();
    if (auto counted = put_counts(); !counted) {
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

  void put_choices() {
    put(settings_.precision, setup().precision);
    if (!settings_.precision && !whole_) {
      assume("fp32");
    }
    const bool narrow =
        setup().precision == Precision::Bf16 || setup().precision == Precision::Fp16;
    if (narrow && !whole_ && !settings_.built_on_gpu) {
      assume("the weights come to the GPU in 16 bits; --built-on-gpu if they are converted there");
    }
    put(settings_.optimizer, setup().optimizer);
    if (!settings_.optimizer && !whole_ && setup().mode == RunMode::Train) {
      assume(fmt::format("the optimizer {}", display_name(setup().optimizer)));
    }
  }

  Result<void> put_counts() {
    constexpr std::int64_t kMostGpus = 1'000'000;
    if (settings_.gpus && (*settings_.gpus < 1 || *settings_.gpus > kMostGpus)) {
      return invalid_input(
          fmt::format("{} GPUs: from 1 to {} are possible", *settings_.gpus, kMostGpus));
    }
    if (settings_.zero_stage && (*settings_.zero_stage < 0 || *settings_.zero_stage > 3)) {
      return invalid_input(fmt::format("ZeRO has no stage {}: 0 to 3", *settings_.zero_stage));
    }
    constexpr std::int64_t kMostPixels = 100'000;
    if (settings_.resolution &&
        (*settings_.resolution < 1 || *settings_.resolution > kMostPixels)) {
      return invalid_input(fmt::format(
          "{} pixels a side: from 1 to {} are possible", *settings_.resolution, kMostPixels));
    }
    put(settings_.gpus, setup().gpus);
    put(settings_.zero_stage, setup().zero_stage);
    return {};
  }

  void describe_transformer(TransformerShape& shape) {
    put(settings_.task, shape.task);
    put(settings_.sequence, setup().sequence);
    if (setup().sequence == 0 && !settings_.sequence) {
      setup().sequence =
          shape.positions > 0 ? std::min(shape.positions, kUsualTokens) : kUsualTokens;
      assume(fmt::format("{} tokens a sample", setup().sequence));
    }
    if (!settings_.task && !whole_) {
      assume(fmt::format("the head of a {}", display_name(shape.task)));
    }
  }

  // Layers have the shapes of their file, whatever the job says of tokens.
  void describe_layers() {
    auto* list = std::get_if<LayerList>(&requested_.job.model.shape);
    if (list != nullptr && settings_.resolution && list->input_elements > 0) {
      const double own = std::sqrt(static_cast<double>(list->input_elements) / kChannels);
      *list = at_resolution(*list, static_cast<double>(*settings_.resolution) / own);
    }
    if (settings_.sequence) {
      requested_.notes.emplace_back("the sequence length is that of the listed layers");
    }
    if (setup().lora_rank > 0) {
      requested_.notes.emplace_back(
          "LoRA is known of config.json only: all parameters are trained");
    }
  }

  ReadModel read_;
  JobSettings settings_;
  bool whole_;  // the file tells all of the run
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
