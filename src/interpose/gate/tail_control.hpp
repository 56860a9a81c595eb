// The outer loop: gives best-effort work more room while the measured tail of an SLO client is
// well below its SLO, and takes room away when it is not.
#pragma once

#include <cstdint>

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

struct TailSettings {
  std::uint32_t quantile_permille = 990;
  std::uint32_t target_permille = 900;       // of the SLO: above it, room is halved
  std::uint32_t comfortable_permille = 700;  // of the SLO: below it, room grows
  std::uint32_t step_permille = 200;
  std::uint32_t least_room_permille = 50;
  std::uint32_t first_requests = 20;  // of a program, which load its kernels: they tell nothing
  std::uint32_t least_requests = 20;  // that tell a tail
  std::uint32_t requests = 50;        // between two looks,
  Nanoseconds period = kSecond;       // or this time
  Nanoseconds pause = 5 * kSecond;    // without sharing in space after a look above the target
};

class TailControl {
 public:
  explicit constexpr TailControl(TailSettings settings = {}) : settings_(settings) {}

  void request_ended(Nanoseconds latency, Nanoseconds slo_ns, Nanoseconds now);

  // Share of the full room, 1000: all of it.
  [[nodiscard]] std::uint32_t room_permille() const { return room_permille_; }
  // Best-effort work takes turns in time only before this.
  [[nodiscard]] Nanoseconds time_only_until() const { return time_only_until_; }
  // The quantile of the requests since room was last halved.
  [[nodiscard]] Nanoseconds tail() const {
    return latencies_.quantile(settings_.quantile_permille);
  }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t within_slo() const { return within_slo_; }

 private:
  void look(Nanoseconds slo_ns, Nanoseconds now);
  [[nodiscard]] bool exceeds(Nanoseconds latency) const;

  TailSettings settings_;
  QuantileSketch latencies_{1024};
  std::uint32_t since_look_ = 0;
  Nanoseconds looked_at_ = 0;
  std::uint32_t room_permille_ = 500;
  Nanoseconds time_only_until_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t within_slo_ = 0;
};

}  // namespace carpool::interpose::gate
