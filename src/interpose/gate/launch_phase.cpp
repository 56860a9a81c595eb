#include "interpose/gate/launch_phase.hpp"

#include <algorithm>

#include "interpose/gate/gate_view.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kAll = 1000;
// The first requests of a program load its kernels: they tell nothing.
constexpr std::uint32_t kUntold = 20;
// Requests that have the GPU for themselves: the first ones that tell, and then one of so many.
constexpr std::uint32_t kFirstAlone = 8;
constexpr std::uint32_t kOneAloneOf = 16;
constexpr std::uint32_t kBetweenLooks = 8;
// How often a wait is longer than that which is compared.
constexpr std::uint32_t kComparedPermille = 850;
// Of what is open, and of what was too much.
constexpr std::uint32_t kStep = 125;
constexpr std::uint32_t kStepOfMost = 8;
constexpr std::uint32_t kBelowMost = 60;
constexpr std::uint32_t kUsualOf = 8;  // requests
// Fewer commands, or a shorter phase, are not worth a change of turns.
constexpr std::uint32_t kFewCommands = 16;
constexpr Nanoseconds kShort = 1500 * kMicrosecond;
// By which the waits of a request may grow: as work that runs when a request begins may delay it,
// and a tenth of what the tail is below half of the SLO.
constexpr Nanoseconds kRoomToDelay = 10;

}  // namespace

void LaunchPhase::request_began(Nanoseconds now) {
  active_ = true;
  part_ = 0;
  part_began_ = now;
  waits_since_ = 0;
  launched_for_ = 0;
  waited_ = 0;
  const bool alone = waits_alone_.count() < kFirstAlone || since_alone_ + 1 >= kOneAloneOf;
  since_alone_ = alone ? 0 : since_alone_ + 1;
  open_ = !alone;
}

void LaunchPhase::wait_began(std::uint32_t commands, Nanoseconds now) {
  if (!active_ || waits_since_ != 0 || commands == 0) {
    return;
  }
  std::uint32_t& usual = usual_commands_[part()];
  usual = usual == 0 || commands < usual ? commands : usual + (commands - usual) / kUsualOf;
  launched_for_ += now - part_began_;
  waits_since_ = now;
}

void LaunchPhase::wait_ended(Nanoseconds now) {
  if (!active_ || waits_since_ == 0) {
    return;
  }
  waited_ += now - waits_since_;
  waits_since_ = 0;
  part_began_ = now;
  ++part_;
}

void LaunchPhase::request_ended(Nanoseconds tail) {
  const bool waited = active_ && part_ != 0;
  active_ = false;
  if (!waited || ++requests_ <= kUntold) {
    return;
  }
  launching_.add(launched_for_);
  (open_ ? waits_beside_ : waits_alone_).add(waited_);
  if (open_ && ++looked_at_ >= kBetweenLooks) {
    look(tail);
    looked_at_ = 0;
    waits_beside_.clear();
  }
}

Nanoseconds LaunchPhase::most_delay(Nanoseconds tail) const {
  const Nanoseconds usual = budget_of({.tightest_slo = slo_}, 0, 0).backlog_ns;
  return tail == 0 ? usual : usual + std::max<Nanoseconds>(0, slo_ / 2 - tail) / kRoomToDelay;
}

// What was too much is tried again, little by little: the program may have changed.
void LaunchPhase::look(Nanoseconds tail) {
  const Nanoseconds alone = waits_alone_.quantile(kComparedPermille);
  const Nanoseconds beside = waits_beside_.quantile(kComparedPermille);
  if (beside > alone + most_delay(tail)) {
    most_permille_ = open_permille_;
    open_permille_ -= open_permille_ / 4;
    return;
  }
  most_permille_ = std::min(kAll + kBelowMost, most_permille_ + kStepOfMost);
  const std::uint32_t next = std::min(open_permille_ + kStep, most_permille_ - kBelowMost);
  open_permille_ = std::max(open_permille_, next);
}

// Otherwise the program is ahead of the GPU, which has no time to give away.
bool LaunchPhase::pays() const {
  const Nanoseconds launching = launching_.quantile(kAll / 2);
  return launching >= kShort && waits_alone_.quantile(kAll / 2) <= launching / 2;
}

std::uint32_t LaunchPhase::open_commands() const {
  const std::uint32_t usual = usual_commands_[part()];
  return open_ && usual >= kFewCommands && pays() ? usual * open_permille_ / kAll : 0;
}

}  // namespace carpool::interpose::gate
