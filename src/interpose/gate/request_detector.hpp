// Finds the requests of a program from its launches: a request begins with the first launch after
// the client was idle, and has ended when its work is done and no launch came for a quiet time. A
// program that declares its requests is believed instead.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

enum class RequestPhase : std::uint8_t {
  Idle,
  Launching,  // its program still launches, and best-effort work may go on (launch_phase.hpp)
  Quiet,      // the work is done, but the request may go on
  Busy,
};

enum class RequestEnd : std::uint8_t {
  None,
  Finished,
  Lapsed,  // the client gave no sign of life
};

struct DetectorSettings {
  Nanoseconds quiet_ns = 250 * kMicrosecond;
  // A request of a client without a sign of life for this long does not count: it was killed or
  // stopped.
  Nanoseconds lease_ns = 100 * kMillisecond;
  // finished() is called for each launch. Else the work lasts as long as expected.
  bool reports = false;
};

class RequestDetector {
 public:
  explicit constexpr RequestDetector(DetectorSettings settings = {}) : settings_(settings) {}

  // A launch; true if a request begins with it.
  bool launched(Nanoseconds expected_ns, Nanoseconds now);
  // A launch is done, and this many are not.
  void finished(std::uint32_t outstanding, Nanoseconds now);
  // Declared by the program.
  void began(Nanoseconds now);
  void ended(Nanoseconds now);
  // The client is alive, for example in a long kernel.
  void alive(Nanoseconds now) { last_sign_ = now; }

  [[nodiscard]] RequestPhase phase(Nanoseconds now) const;
  // When the phase is Idle if nothing happens before; now if it is.
  [[nodiscard]] Nanoseconds idle_at(Nanoseconds now) const;
  // Ends the request if its phase has become Idle; tells so once for each request. finished_at() is
  // the time at which its work was done, without the quiet time.
  [[nodiscard]] RequestEnd take_end(Nanoseconds now);
  [[nodiscard]] Nanoseconds finished_at() const { return finished_at_; }

 private:
  [[nodiscard]] bool working(Nanoseconds now) const {
    return settings_.reports ? outstanding_ > 0 : now < drained_at_;
  }

  DetectorSettings settings_;
  bool in_request_ = false;
  bool declared_ = false;
  std::uint32_t outstanding_ = 0;
  Nanoseconds last_launch_ = 0;
  Nanoseconds drained_at_ = 0;  // measured or expected
  Nanoseconds last_sign_ = 0;
  Nanoseconds finished_at_ = 0;
};

}  // namespace carpool::interpose::gate
