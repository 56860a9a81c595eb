// The requests of one SLO client: what is left of the deadline after the work that is still to
// come.
#pragma once

#include <cstdint>

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

class RequestBook {
 public:
  void began(Nanoseconds arrival, Nanoseconds deadline);
  // Durations are those expected on an idle GPU.
  void submitted(Nanoseconds expected_ns) { submitted_ns_ += expected_ns; }
  void finished(Nanoseconds expected_ns) { done_ns_ += expected_ns; }
  // The request is over; its latency is returned, and its work is learned.
  Nanoseconds ended(Nanoseconds at);
  // The request is dropped: nothing is learned.
  void dropped() { active_ = false; }

  [[nodiscard]] bool active() const { return active_; }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] Nanoseconds arrival() const { return arrival_; }
  [[nodiscard]] Nanoseconds deadline() const { return deadline_; }

  // Time that the rest of the request takes on an idle GPU: what is launched and not done, or what
  // is missing to the work of earlier requests (their 90th percentile), whichever is more; with
  // the gaps between launches, as a share of their median latency.
  [[nodiscard]] Nanoseconds remaining() const;
  // deadline − now − remaining
  [[nodiscard]] Nanoseconds slack(Nanoseconds now) const { return deadline_ - now - remaining(); }

  // When the next request is due, for clients whose requests come at regular times: the mean gap
  // less twice its mean deviation after the last arrival. kNever if arrivals are irregular.
  [[nodiscard]] Nanoseconds next_arrival() const;

 private:
  void learn_gap(Nanoseconds gap);

  bool active_ = false;
  std::uint64_t requests_ = 0;
  Nanoseconds arrival_ = 0;
  Nanoseconds deadline_ = 0;
  Nanoseconds submitted_ns_ = 0;
  Nanoseconds done_ns_ = 0;
  Nanoseconds usual_work_ns_ = 0;
  Nanoseconds usual_latency_ns_ = 0;
  Nanoseconds gap_mean_ns_ = 0;
  Nanoseconds gap_deviation_ns_ = 0;
  std::uint64_t gaps_ = 0;
  QuantileSketch work_{256};
  QuantileSketch latency_{256};
};

}  // namespace carpool::interpose::gate
