#include "estimate/advice.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "estimate/largest_fitting.hpp"

namespace carpool::estimate {
namespace {

using Change = std::pair<std::string, TrainingSetup>;

std::vector<Change> changes_of(const DescribedJob& job) {
  const TrainingSetup& setup = job.setup;
  const bool training = setup.mode == RunMode::Train;
  std::vector<Change> changes;
  const auto add = [&](std::string text, auto change) {
    TrainingSetup changed = setup;
    change(changed);
    changes.emplace_back(std::move(text), changed);
  };
  if (setup.batch > 1) {
    add(fmt::format("batch {} instead of {}", setup.batch / 2, setup.batch),
        [](TrainingSetup& changed) { changed.batch /= 2; });
  }
  if (setup.sequence > 1) {
    add(fmt::format("sequence {} instead of {}", setup.sequence / 2, setup.sequence),
        [](TrainingSetup& changed) { changed.sequence /= 2; });
  }
  if (training && !setup.checkpointing) {
    add("gradient checkpointing", [](TrainingSetup& changed) { changed.checkpointing = true; });
  }
  if (setup.precision == Precision::Fp32) {
    add("bf16 autocast instead of fp32",
        [](TrainingSetup& changed) { changed.precision = Precision::AmpBf16; });
  }
  if (setup.attention == AttentionKind::Eager) {
    add("SDPA instead of eager attention",
        [](TrainingSetup& changed) { changed.attention = AttentionKind::Sdpa; });
  }
  if (training &&
      (setup.optimizer == Optimizer::Adam || setup.optimizer == Optimizer::AdamSingle)) {
    add("a fused optimizer",
        [](TrainingSetup& changed) { changed.optimizer = Optimizer::AdamFused; });
  }
  return changes;
}

}  // namespace

std::vector<MemoryLever> levers(const MemoryEstimator& estimator, const DescribedJob& job) {
  const auto now = estimator.estimate(job);
  std::vector<MemoryLever> found;
  if (!now) {
    return found;
  }
  for (auto& [text, setup] : changes_of(job)) {
    DescribedJob changed = job;
    changed.setup = setup;
    const auto then = estimator.estimate(changed);
    if (then && then->expected < now->expected) {
      found.push_back({.change = std::move(text), .expected = then->expected});
    }
  }
  std::ranges::sort(found, {}, &MemoryLever::expected);
  return found;
}

Result<std::optional<std::int64_t>> largest_batch(const MemoryEstimator& estimator,
                                                  const DescribedJob& job,
                                                  std::int64_t bytes) {
  // A batch that overflows the replay does not fit either.
  const auto fits = [&](std::int64_t batch) {
    DescribedJob changed = job;
    changed.setup.batch = batch;
    const auto estimate = estimator.estimate(changed);
    return estimate && estimate->upper <= bytes;
  };
  DescribedJob single = job;
  single.setup.batch = 1;
  if (const auto checked = estimator.estimate(single); !checked) {
    return tl::unexpected(checked.error());
  }
  const std::int64_t largest = largest_fitting(fits);
  return largest > 0 ? std::optional(largest) : std::nullopt;
}

}  // namespace carpool::estimate
