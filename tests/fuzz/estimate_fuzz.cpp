// Any bytes as measured jobs or as a fitted memory estimator: a valid value, or an error with a
// message. The first byte selects: j jobs as layers, c jobs as configurations, e estimator.
#include <string>
#include <string_view>
#include <variant>

#include "estimate/bound/estimator_file.hpp"
#include "estimate/judge/rows.hpp"
#include "estimate/replay/replay.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

// Larger ones would only be slow to replay.
constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostRowLayers = 2000;
constexpr std::int64_t kMostRowBlocks = 50;

bool is_small_row(const DescribedJob& job) {
  if (const auto* list = std::get_if<LayerList>(&job.model.shape)) {
    return list->layers.size() <= kMostRowLayers;
  }
  if (const auto* shape = std::get_if<TransformerShape>(&job.model.shape)) {
    return shape->layers <= kMostRowBlocks;
  }
  return true;
}

void feed_measured(std::string_view text, estimate::RowView view) {
  const auto jobs = estimate::parse_measured_jobs(text, "rows", view, {});
  if (!jobs) {
    require(jobs.error().message.starts_with("rows:"));
    return;
  }
  for (std::size_t index = 0; index < jobs->rows.size() && index < kMostRows; ++index) {
    const DescribedJob& job = jobs->rows[index].job;
    if (!is_small_row(job)) {
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

void feed_estimate(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'j':
      feed_measured(text, estimate::RowView::Layers);
      break;
    case 'c':
      feed_measured(text, estimate::RowView::Config);
      break;
    case 'e':
      static_cast<void>(estimate::parse_estimator(text, "estimator"));
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
