// The memory that is kept for one running job: at first what it may need at most, later what it was
// seen to need.
#pragma once

#include <cstdint>

namespace carpool::schedule {

// When a reservation shrinks, and to what. Times are those for which the job computed.
struct ReservationRules {
  // The peak did not grow for this long, and for `of_growing` times the time until its last growth.
  double least_s = 5.0;
  double of_growing = 1.5;
  // The least time of a job that holds no more than a CUDA context: it may not have begun yet.
  double context_s = 30.0;
  std::uint64_t context_bytes = std::uint64_t{768} << 20U;
  // The least time of a job above half of its GPU, or whose peak grew late more than twice.
  double slow_s = 30.0;
  double most_s = 300.0;
  // The reservation is then the peak times `room`, and `room_bytes`.
  double room = 1.10;
  std::uint64_t room_bytes = std::uint64_t{256} << 20U;
};

// A peak above the reservation raises it at once; the time until it shrinks again is doubled each
// time. A reservation of 0 means none, and stays 0.
class JobReservation {
 public:
  JobReservation() = default;
  // The rules outlive it. `gpu_bytes`: memory of its GPU.
  JobReservation(const ReservationRules& rules, std::uint64_t bytes, std::uint64_t gpu_bytes)
      : rules_(&rules), ceiling_(bytes), most_(bytes), kept_(bytes), gpu_bytes_(gpu_bytes) {}

  // `computed_s`: time for which the job has computed.
  void saw(std::uint64_t bytes, double computed_s);
  // From now on it may need this much, and keeps it until its peak is known again.
  void raise(std::uint64_t bytes, double computed_s);

  [[nodiscard]] std::uint64_t bytes() const { return kept_; }
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_; }
  // What was kept for it when it first took more: other jobs may have been let into that room. 0:
  // it never did.
  [[nodiscard]] std::uint64_t exceeded_bytes() const { return exceeded_; }

 private:
  [[nodiscard]] double stable_s() const;
  [[nodiscard]] std::uint64_t roomy() const;
  void grew(std::uint64_t bytes, double computed_s);

  const ReservationRules* rules_ = nullptr;
  std::uint64_t ceiling_ = 0;  // that it may need at most
  std::uint64_t most_ = 0;     // until the peak is known
  std::uint64_t kept_ = 0;
  std::uint64_t gpu_bytes_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t grown_to_ = 0;      // the peak at its last growth
  std::uint64_t settled_peak_ = 0;  // when the peak was last taken as known
  std::uint64_t exceeded_ = 0;
  double grew_s_ = 0.0;
  double patience_ = 1.0;
  unsigned late_ = 0;  // growths after the peak had stood still
  bool settled_ = false;
};

}  // namespace carpool::schedule
