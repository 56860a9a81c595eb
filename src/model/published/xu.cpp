#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/published/published.hpp"
#include "model/published/published_fits.hpp"
#include "model/published/sum_model.hpp"

namespace carpool::model {

namespace {

// In the order of the published tables.
constexpr std::array<std::string_view, 10> kXuMetrics = {"xu_pcie_read",
                                                         "xu_pcie_write",
                                                         "xu_long_kernel_len",
                                                         "xu_avg_kernel_len",
                                                         "xu_long_short_ratio",
                                                         "xu_avg_threads",
                                                         "sm_busy_pct",
                                                         "mem_busy_pct",
                                                         "xu_cpu_pct",
                                                         "xu_mainmem_pct"};

}  // namespace

Result<std::unique_ptr<ThroughputModel>> train_xu(const TrainingSet& training) {
  const std::vector<dataset::MetricInfo>& metrics = training.dataset->metrics;
  dataset::FeatureSelection features{.metrics = {}, .exclusive_throughput = false};
  std::string missing;
  for (const std::string_view column : kXuMetrics) {
    const auto found = std::find_if(metrics.begin(), metrics.end(), [column](const auto& metric) {
      return metric.name == column;
    });
    if (found == metrics.end()) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", column);
    } else {
      features.metrics.push_back(*found);
    }
  }
  if (!missing.empty()) {
    return fail(ErrorCode::Unsupported,
                fmt::format("xu needs metrics that {} does not have: {}",
                            training.dataset->folder.string(),
                            missing));
  }
  return train_sum_model("xu", training, std::move(features), published_forest_fit(training.seed));
}

}  // namespace carpool::model
