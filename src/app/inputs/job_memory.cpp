#include "app/inputs/job_memory.hpp"

#include <utility>

#include "app/inputs/sources.hpp"
#include "base/files/packed_file.hpp"
#include "estimate/bound/estimator_file.hpp"

namespace carpool::app {
namespace {

// Layers of the image models that were measured, by name.
Result<estimate::LayerCatalogue> bundled_catalogue() {
  estimate::LayerCatalogue all;
  for (const std::string_view name : {"memory-collected", "memory-h200"}) {
    const auto folder = bundled_folder(name);
    if (!folder) {
      return tl::unexpected(folder.error());
    }
    const auto file = *folder / "rows.jsonl.gz";
    const auto text = read_packed_file(file);
    if (!text) {
      return tl::unexpected(text.error());
    }
    auto catalogue = estimate::parse_catalogue(*text, file.string());
    if (!catalogue) {
      return catalogue;
    }
    all.merge(*catalogue);  // keeps what is there
  }
  return all;
}

}  // namespace

Result<estimate::CarpoolEstimator> open_estimator(const std::optional<std::string>& file,
                                                  double confidence) {
  std::filesystem::path path;
  if (file) {
    path = *file;
  } else {
    const auto folder = bundled_folder("memory-estimator");
    if (!folder) {
      return tl::unexpected(folder.error());
    }
    path = *folder / "h200.model.json";
  }
  const auto loaded = estimate::load_estimator(path);
  if (!loaded) {
    return tl::unexpected(loaded.error());
  }
  estimate::CarpoolFit fit = (*loaded)->fit();
  fit.confidence = confidence;
  return estimate::CarpoolEstimator(std::move(fit));
}

Result<estimate::RequestedJob> ask_with_catalogue(const estimate::EstimateRequest& question) {
  return estimate::resolve_request(question, bundled_catalogue);
}

Result<MemoryEstimate> estimate_asked(const estimate::CarpoolEstimator& estimator,
                                      const estimate::RequestedJob& asked) {
  return estimate::WiderEstimator(estimator, asked.widening)
      .estimate(asked.job)
      .map([&](MemoryEstimate estimate) {
        if (!asked.basis.empty()) {
          estimate.basis = asked.basis;
        }
        estimate.notes.insert(estimate.notes.begin(), asked.notes.begin(), asked.notes.end());
        return estimate;
      });
}

}  // namespace carpool::app
