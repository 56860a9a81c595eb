// Any bytes as measured jobs or as a fitted memory estimator: a valid value, or an error with a
// message. The first byte selects: j jobs as layers, c jobs as configurations, e estimator.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "estimate/bound/estimator_file.hpp"
#include "estimate/judge/rows.hpp"
#include "estimate/replay/replay.hpp"

namespace carpool {
namespace {

// Larger ones would only be slow to replay.
constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostLayers = 2000;
constexpr std::int64_t kMostBlocks = 50;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

bool small(const DescribedJob& job) {
  if (const auto* list = std::get_if<LayerList>(&job.model.shape)) {
    return list->layers.size() <= kMostLayers;
  }
  if (const auto* shape = std::get_if<TransformerShape>(&job.model.shape)) {
    return shape->layers <= kMostBlocks;
  }
  return true;
}

void feed_jobs(std::string_view text, estimate::RowView view) {
  const auto jobs = estimate::parse_measured_jobs(text, "rows", view, {});
  if (!jobs) {
    require(jobs.error().message.starts_with("rows:"));
    return;
  }
  for (std::size_t index = 0; index < jobs->rows.size() && index < kMostRows; ++index) {
    const DescribedJob& job = jobs->rows[index].job;
    if (!small(job)) {
      continue;
    }
    const auto replay = estimate::replay_job(job, {});
    if (replay) {
      require(replay->result.reserved >= replay->result.allocated);
      require(replay->result.allocated >= 0);
    } else {
      require(!replay.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace carpool

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'j':
      carpool::feed_jobs(text, carpool::estimate::RowView::Layers);
      break;
    case 'c':
      carpool::feed_jobs(text, carpool::estimate::RowView::Config);
      break;
    case 'e':
      static_cast<void>(carpool::estimate::parse_estimator(text, "estimator"));
      break;
    default:
      break;
  }
  return 0;
}
