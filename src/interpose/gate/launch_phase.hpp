// The time in which the program of a request launches, before it waits for the GPU.
#pragma once

#include <array>
#include <cstdint>

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// A phase that is usually shorter is not worth a change of turns: the gate stays closed in it.
inline constexpr Nanoseconds kShortPhase = 1500 * kMicrosecond;

// By which the waits of a request for the GPU may grow because work goes on while it is launched.
// `tail`: of the latencies so far; 0: unknown.
[[nodiscard]] Nanoseconds most_phase_delay(Nanoseconds slo, Nanoseconds tail);

// A program that launches kernel by kernel leaves the GPU idle in between, and waits for it only
// when all is launched. Where the driver slices the time, best-effort work may go on while the
// program launches, if it stops early enough: then the program waits for the GPU as long as it does
// without a neighbour. How early that is, is learned from its waits. In some phases it has the GPU
// for itself; the waits after the others are compared with those after these.
class LaunchPhase {
 public:
  explicit constexpr LaunchPhase(Nanoseconds slo = 0) : slo_(slo) {}

  void request_began(Nanoseconds now);
  // The program waits for the GPU. `commands`: that it has given since all of them were done.
  void wait_began(std::uint32_t commands, Nanoseconds now);
  // What it has launched is done. `tail`: of the latencies so far; 0: unknown.
  void wait_ended(Nanoseconds tail, Nanoseconds now);
  void request_ended() { active_ = false; }

  // Best-effort work may run until the program has given this number of commands, counted from the
  // begin of the request or from the end of its last wait.
  [[nodiscard]] std::uint32_t open_commands() const { return open_commands_; }

 private:
  // A phase is known by the number of commands of the one before: programs that look at results on
  // their way have short phases between long ones.
  struct Usual {
    std::uint32_t before = 0;
    std::uint32_t commands = 0;  // rather too few
    Nanoseconds launching = 0;
  };

  void begin(Nanoseconds now);
  void look(Nanoseconds tail);
  // Beside best-effort work, by more than this.
  [[nodiscard]] bool waits_grew(Nanoseconds allowed) const;
  [[nodiscard]] bool is_worth_it(const Usual& usual) const;
  [[nodiscard]] bool has_the_gpu(const Usual& usual) const;
  [[nodiscard]] Usual& usual_after(std::uint32_t commands);

  Nanoseconds slo_;

  // Of the request.
  bool active_ = false;
  std::uint32_t phases_ = 0;  // that count

  // Of the phase.
  Nanoseconds began_ = 0;
  Nanoseconds waits_since_ = 0;  // 0: the program does not wait
  bool counts_ = false;          // its wait tells something
  bool alone_ = true;            // it has the GPU for itself
  std::uint32_t open_commands_ = 0;

  // Of those before.
  std::uint32_t requests_ = 0;
  std::uint32_t last_commands_ = 0;
  std::uint32_t usual_phases_ = 1;  // of a request, that count
  std::array<Usual, 32> usual_{};
  QuantileSketch waits_alone_{32};
  QuantileSketch waits_beside_{64};  // since the last look
  std::uint32_t beside_ = 0;         // of these
  std::uint32_t since_alone_ = 0;
  std::uint32_t open_permille_ = 500;   // part of the commands
  std::uint32_t most_permille_ = 1060;  // that was too much, if it is less
  std::uint32_t failed_at_ = 1060;      // when it was too much last
  std::uint32_t patience_ = 1;          // looks until a little more is tried
  std::uint32_t good_looks_ = 0;        // since then
};

}  // namespace carpool::interpose::gate
