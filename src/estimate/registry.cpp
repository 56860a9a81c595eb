#include "estimate/registry.hpp"

#include <array>
#include <utility>

#include "base/text/names.hpp"
#include "estimate/published/formulas.hpp"
#include "estimate/published/gpumemnet.hpp"

namespace carpool::estimate {
namespace {

using Made = Result<std::unique_ptr<MemoryEstimator>>;

Made fit_carpool_estimator(const EstimatorTraining& training) {
  auto fitted = fit_carpool(training);
  if (!fitted) {
    return tl::unexpected(fitted.error());
  }
  return std::move(*fitted);
}

// Stands in for the context of a machine without a measured one: the least memory of any row.
std::int64_t least_taken(const EstimatorTraining& training) {
  std::int64_t least = 0;
  for (const MeasuredJob* row : training.rows) {
    if (row->finished && (least == 0 || row->truth() < least)) {
      least = row->truth();
    }
  }
  return least;
}

constexpr auto kKinds = std::to_array<EstimatorKind>({
    {kCarpoolEstimator,
     "replay of steps on PyTorch's allocator, learned correction, bound by family",
     fit_carpool_estimator},
    {"horus",
     "4 (A b + P + b P) bytes: outputs A, parameters P, batch b",
     [](const EstimatorTraining&) -> Made { return make_horus(); }},
    {"faketensor",
     "peak of live tensors in one pass; no parameters, optimizer, context",
     [](const EstimatorTraining&) -> Made { return make_faketensor(); }},
    {"deepspeed",
     "model states only, by ZeRO stage",
     [](const EstimatorTraining&) -> Made { return make_deepspeed(); }},
    {"llmem",
     "closed form for the fine-tuning of decoders",
     [](const EstimatorTraining& training) -> Made { return make_llmem(least_taken(training)); }},
    {"dnnmem",
     "outputs of all operators, rounded as the allocator does",
     [](const EstimatorTraining& training) -> Made { return make_dnnmem(least_taken(training)); }},
    {"gpumemnet-mlp",
     "published ensemble for fully connected nets: upper edge of a 1-GB class",
     fit_gpumemnet_mlp},
});

}  // namespace

std::span<const EstimatorKind> estimator_kinds() {
  return kKinds;
}

Result<const EstimatorKind*> find_estimator_kind(std::string_view name) {
  return find_named(estimator_kinds(), "memory estimator", name);
}

}  // namespace carpool::estimate
