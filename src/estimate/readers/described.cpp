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
void put(const std::optional<From>& said, To& into) {
  if (said) {
    into = static_cast<To>(*said);
  }
}

class Describer {
 public:
  Describer(ReadModel read, const JobSettings& said)
      : read_(std::move(read)), said_(over(said, read_.said)), whole_(read_.setup.has_value()) {
    asked_.notes = std::move(read_.notes);
    asked_.basis = std::move(read_.basis);
    asked_.widening = read_.widening;
    asked_.job.model = std::move(read_.model);
    asked_.job.machine = read_.machine.value_or(known_machines().front());
    if (!read_.machine) {
      asked_.job.machine.memory_bytes = 0;  // whose GPU it will be, nobody said
    }
    // PyTorch lets convolutions have TF32 unless it is told otherwise.
    setup() = read_.setup.value_or(TrainingSetup{.tf32 = true, .built_on_gpu = false});
  }

  Result<AskedJob> describe(std::optional<std::int64_t> default_batch) {
    if (!said_.batch && !whole_ && !default_batch) {
      return invalid_input("the batch size is not known: say --batch N");
    }
    if (!said_.batch && !whole_) {
      assume(fmt::format("batch {}, the program's default", *default_batch));
      setup().batch = *default_batch;
    }
    put(said_.batch, setup().batch);
    put(said_.mode, setup().mode);
    put(said_.accumulation, setup().accumulation);
    put(said_.checkpointing, setup().checkpointing);
    put(said_.lora_rank, setup().lora_rank);
    put(said_.decode_tokens, setup().decode_tokens);
    put(said_.tf32, setup().tf32);
    put(said_.channels_last, setup().channels_last);
    put(said_.autotune, setup().autotune);
    put(said_.built_on_gpu, setup().built_on_gpu);
    put(said_.attention, setup().attention);
    put_choices();
    if (auto counted = put_counts(); !counted) {
      return tl::unexpected(counted.error());
    }
    if (auto* shape = std::get_if<TransformerShape>(&asked_.job.model.shape)) {
      describe_transformer(*shape);
    } else {
      describe_layers();
    }
    return std::move(asked_);
  }

 private:
  TrainingSetup& setup() { return asked_.job.setup; }
  void assume(std::string_view what) { asked_.notes.push_back(fmt::format("assumed: {}", what)); }

  void put_choices() {
    put(said_.precision, setup().precision);
    if (!said_.precision && !whole_) {
      assume("fp32");
    }
    const bool narrow =
        setup().precision == Precision::Bf16 || setup().precision == Precision::Fp16;
    if (narrow && !whole_ && !said_.built_on_gpu) {
      assume("the weights come to the GPU in 16 bits; --built-on-gpu if they are converted there");
    }
    put(said_.optimizer, setup().optimizer);
    if (!said_.optimizer && !whole_ && setup().mode == RunMode::Train) {
      assume(fmt::format("the optimizer {}", spoken(setup().optimizer)));
    }
  }

  Result<void> put_counts() {
    constexpr std::int64_t kMostGpus = 1'000'000;
    if (said_.gpus && (*said_.gpus < 1 || *said_.gpus > kMostGpus)) {
      return invalid_input(
          fmt::format("{} GPUs: from 1 to {} are possible", *said_.gpus, kMostGpus));
    }
    if (said_.zero_stage && (*said_.zero_stage < 0 || *said_.zero_stage > 3)) {
      return invalid_input(fmt::format("ZeRO has no stage {}: 0 to 3", *said_.zero_stage));
    }
    constexpr std::int64_t kMostPixels = 100'000;
    if (said_.resolution && (*said_.resolution < 1 || *said_.resolution > kMostPixels)) {
      return invalid_input(fmt::format(
          "{} pixels a side: from 1 to {} are possible", *said_.resolution, kMostPixels));
    }
    put(said_.gpus, setup().gpus);
    put(said_.zero_stage, setup().zero_stage);
    return {};
  }

  void describe_transformer(TransformerShape& shape) {
    put(said_.task, shape.task);
    put(said_.sequence, setup().sequence);
    if (setup().sequence == 0 && !said_.sequence) {
      setup().sequence =
          shape.positions > 0 ? std::min(shape.positions, kUsualTokens) : kUsualTokens;
      assume(fmt::format("{} tokens a sample", setup().sequence));
    }
    if (!said_.task && !whole_) {
      assume(fmt::format("the head of a {}", spoken(shape.task)));
    }
  }

  // Layers have the shapes of their file, whatever the job says of tokens.
  void describe_layers() {
    auto* list = std::get_if<LayerList>(&asked_.job.model.shape);
    if (list != nullptr && said_.resolution && list->input_elements > 0) {
      const double own = std::sqrt(static_cast<double>(list->input_elements) / kChannels);
      *list = at_resolution(*list, static_cast<double>(*said_.resolution) / own);
    }
    if (said_.sequence) {
      asked_.notes.emplace_back("the sequence length is that of the listed layers");
    }
    if (setup().lora_rank > 0) {
      asked_.notes.emplace_back("LoRA is known of config.json only: all parameters are trained");
    }
  }

  ReadModel read_;
  JobSettings said_;
  bool whole_;  // the file tells all of the run
  AskedJob asked_{};
};

}  // namespace

Result<AskedJob> describe_job(ReadModel read,
                              const JobSettings& said,
                              std::optional<std::int64_t> default_batch) {
  return Describer(std::move(read), said).describe(default_batch);
}

Result<MemoryEstimate> WiderEstimator::estimate(const DescribedJob& job) const {
  return inner_.estimate(job).map([&](MemoryEstimate estimate) {
    estimate.upper = std::llround(static_cast<double>(estimate.upper) * widening_);
    return estimate;
  });
}

}  // namespace carpool::estimate
