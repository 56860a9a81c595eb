// The part of a request in which its program still launches.
#pragma once

#include <array>
#include <cstdint>

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// A program that launches kernel by kernel leaves the GPU idle in between, and waits for it only
// when all is launched. Where the driver slices the time, best-effort work may go on while the
// program launches, if it stops early enough: then the program waits for the GPU as long as it does
// without a neighbour. How early that is, is learned from its waits. Some requests have the GPU for
// themselves; the waits of the others are compared with theirs.
class LaunchPhase {
 public:
  explicit constexpr LaunchPhase(Nanoseconds slo = 0) : slo_(slo) {}

  void request_began(Nanoseconds now);
  // The program waits for the GPU, after so many commands since what it had launched was done.
  void wait_began(std::uint32_t commands, Nanoseconds now);
  // What it has launched is done.
  void wait_ended(Nanoseconds now);
  // `tail`: of the latencies so far; 0: unknown.
  void request_ended(Nanoseconds tail);

  // Best-effort work may run until the program has given so many commands, counted from the begin
  // of the request or from the end of its last wait.
  [[nodiscard]] std::uint32_t open_commands() const;

 private:
  // Requests have several waits if the program looks at results on the way.
  static constexpr std::size_t kMostParts = 8;

  void look(Nanoseconds tail);
  [[nodiscard]] Nanoseconds most_delay(Nanoseconds tail) const;
  [[nodiscard]] bool pays() const;
  [[nodiscard]] std::size_t part() const { return part_ < kMostParts ? part_ : kMostParts - 1; }

  Nanoseconds slo_;

  // Of the request.
  bool active_ = false;
  bool open_ = false;  // it is not one of those that have the GPU for themselves
  std::size_t part_ = 0;
  Nanoseconds part_began_ = 0;
  Nanoseconds waits_since_ = 0;  // 0: it does not wait
  Nanoseconds launched_for_ = 0;
  Nanoseconds waited_ = 0;

  // Of those before.
  std::array<std::uint32_t, kMostParts> usual_commands_{};  // rather too few
  QuantileSketch launching_{64};
  QuantileSketch waits_alone_{32};
  QuantileSketch waits_beside_{64};  // since the last look
  std::uint32_t requests_ = 0;
  std::uint32_t since_alone_ = 0;
  std::uint32_t looked_at_ = 0;         // requests since the last look
  std::uint32_t open_permille_ = 500;   // part of the commands
  std::uint32_t most_permille_ = 1060;  // that was too much, if it is less
};

}  // namespace carpool::interpose::gate
