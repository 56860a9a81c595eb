#include "interpose/gate/slack.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

constexpr std::uint64_t kEnoughGaps = 8;
constexpr Nanoseconds kGapWeight = 8;  // a new gap counts 1/8, as a round trip does in TCP
constexpr Nanoseconds kRegular = 8;    // regular: the deviation is at most 1/8 of the mean

}  // namespace

void RequestBook::began(Nanoseconds arrival, Nanoseconds deadline) {
  if (requests_ > 0) {
    learn_gap(arrival - arrival_);
  }
  active_ = true;
  ++requests_;
  arrival_ = arrival;
  deadline_ = deadline;
  submitted_ns_ = 0;
  done_ns_ = 0;
}

Nanoseconds RequestBook::ended(Nanoseconds at) {
  const Nanoseconds latency = std::max<Nanoseconds>(0, at - arrival_);
  active_ = false;
  work_.add(submitted_ns_);
  latency_.add(latency);
  usual_work_ns_ = work_.quantile(900);
  usual_latency_ns_ = latency_.quantile(500);
  return latency;
}

Nanoseconds RequestBook::remaining() const {
  if (!active_) {
    return 0;
  }
  const Nanoseconds launched = std::max<Nanoseconds>(0, submitted_ns_ - done_ns_);
  if (usual_work_ns_ <= 0) {
    return launched;
  }
  const Nanoseconds work = std::max(launched, usual_work_ns_ - done_ns_);
  const Nanoseconds share = std::clamp<Nanoseconds>(
      (usual_work_ns_ - done_ns_) / kMicrosecond, 0, usual_work_ns_ / kMicrosecond);
  const Nanoseconds whole = std::max<Nanoseconds>(1, usual_work_ns_ / kMicrosecond);
  return std::max(work, usual_latency_ns_ / whole * share);
}

void RequestBook::learn_gap(Nanoseconds gap) {
  ++gaps_;
  if (gaps_ == 1) {
    gap_mean_ns_ = gap;
    gap_deviation_ns_ = gap / 2;
    return;
  }
  const Nanoseconds distance = gap - gap_mean_ns_;
  gap_mean_ns_ += distance / kGapWeight;
  gap_deviation_ns_ += ((distance < 0 ? -distance : distance) - gap_deviation_ns_) / kGapWeight;
}

Nanoseconds RequestBook::next_arrival() const {
  const bool regular = gaps_ >= kEnoughGaps && gap_deviation_ns_ <= gap_mean_ns_ / kRegular;
  return regular ? arrival_ + gap_mean_ns_ - 2 * gap_deviation_ns_ : kNever;
}

}  // namespace carpool::interpose::gate
