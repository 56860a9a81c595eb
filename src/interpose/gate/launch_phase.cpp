#include "interpose/gate/launch_phase.hpp"

#include <algorithm>

#include "interpose/gate/gate_view.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kAll = 1000;
// The first requests of a program load its kernels: they tell nothing.
constexpr std::uint32_t kUntold = 20;
// Phases in which the program has the GPU for itself: the first ones that tell, and one of each
// kOneAloneOf after them, a prime number: programs repeat patterns of few phases.
constexpr std::uint32_t kFirstAlone = 8;
constexpr std::uint32_t kOneAloneOf = 17;
constexpr std::uint32_t kBetweenLooks = 8;
// How often a wait is longer than that which is compared.
constexpr std::uint32_t kComparedPermille = 850;
// Of what is open, and of what was too much.
constexpr std::uint32_t kStep = 125;
constexpr std::uint32_t kStepOfMost = 8;
constexpr std::uint32_t kBelowMost = 60;
constexpr std::uint32_t kMostPatience = 32;
constexpr std::uint32_t kUsualOf = 8;  // phases
// Fewer commands, or a shorter phase, are not worth a change of turns.
constexpr std::uint32_t kFewCommands = 16;
constexpr Nanoseconds kShort = 1500 * kMicrosecond;
constexpr Nanoseconds kPartThatWaits = 4;
// By which the waits of a request may grow: as work that runs when a request begins may delay it,
// and a tenth of what the tail is below half of the SLO; or little, while the SLO is missed.
constexpr Nanoseconds kRoomToDelay = 10;
constexpr Nanoseconds kLeastDelay = 100 * kMicrosecond;
constexpr Nanoseconds kMissedPercent = 90;

}  // namespace

Nanoseconds most_phase_delay(Nanoseconds slo, Nanoseconds tail) {
  const bool missed = tail > slo / 100 * kMissedPercent;
  const Nanoseconds usual =
      missed ? kLeastDelay : budget_of({.tightest_slo = slo}, 0, 0).backlog_ns;
  const Nanoseconds room = tail == 0 ? 0 : std::max<Nanoseconds>(0, slo / 2 - tail);
  return usual + room / kRoomToDelay;
}

LaunchPhase::Usual& LaunchPhase::usual_after(std::uint32_t commands) {
  return usual_[commands % usual_.size()];
}

bool LaunchPhase::is_worth_it(const Usual& usual) const {
  return usual.before == last_commands_ && usual.commands >= kFewCommands &&
         usual.launching >= kShort;
}

// Where the program waits for long, it is ahead of the GPU, which has no time to give away.
bool LaunchPhase::has_the_gpu(const Usual& usual) const {
  return waits_alone_.count() < kFirstAlone || since_alone_ + 1 >= kOneAloneOf ||
         waits_alone_.quantile(kAll / 2) > usual.launching / kPartThatWaits;
}

void LaunchPhase::begin(Nanoseconds now) {
  const Usual& usual = usual_after(last_commands_);
  began_ = now;
  waits_since_ = 0;
  counts_ = requests_ > kUntold && is_worth_it(usual);
  alone_ = !counts_ || has_the_gpu(usual);
  open_commands_ = alone_ ? 0 : usual.commands * open_permille_ / kAll;
}

void LaunchPhase::request_began(Nanoseconds now) {
  active_ = true;
  requests_ += requests_ <= kUntold ? 1 : 0;
  usual_phases_ = phases_ > 0 ? phases_ : usual_phases_;
  phases_ = 0;
  begin(now);
}

void LaunchPhase::wait_began(std::uint32_t commands, Nanoseconds now) {
  if (!active_ || waits_since_ != 0 || commands == 0) {
    return;
  }
  waits_since_ = now;
  Usual& usual = usual_after(last_commands_);
  if (usual.before != last_commands_ || usual.commands == 0) {
    usual = {.before = last_commands_, .commands = commands, .launching = now - began_};
  }
  usual.commands = commands < usual.commands
                       ? commands
                       : usual.commands + (commands - usual.commands) / kUsualOf;
  usual.launching += (now - began_ - usual.launching) / Nanoseconds{kUsualOf};
  last_commands_ = commands;
}

void LaunchPhase::wait_ended(Nanoseconds tail, Nanoseconds now) {
  if (!active_ || waits_since_ == 0) {
    return;
  }
  const Nanoseconds waited = now - waits_since_;
  if (counts_) {
    since_alone_ = alone_ ? 0 : since_alone_ + 1;
    ++phases_;
    (alone_ ? waits_alone_ : waits_beside_).add(waited);
    beside_ += alone_ ? 0 : 1;
    if (beside_ >= kBetweenLooks) {
      look(tail);
      beside_ = 0;
      waits_beside_.clear();
    }
  }
  begin(now);
}

// What was too much is tried again, little by little and less and less often: the program may have
// changed.
void LaunchPhase::look(Nanoseconds tail) {
  const Nanoseconds alone = waits_alone_.quantile(kComparedPermille);
  const Nanoseconds beside = waits_beside_.quantile(kComparedPermille);
  const Nanoseconds allowed =
      most_phase_delay(slo_, tail) / Nanoseconds{std::max(1U, usual_phases_)};
  if (beside > alone + allowed) {
    failed_at_ = open_permille_;
    most_permille_ = open_permille_;
    open_permille_ -= open_permille_ / 4;
    patience_ = std::min(kMostPatience, 2 * patience_);
    good_looks_ = 0;
    return;
  }
  patience_ = open_permille_ > failed_at_ ? 1 : patience_;
  if (++good_looks_ >= patience_) {
    most_permille_ = std::min(kAll + kBelowMost, most_permille_ + kStepOfMost);
    good_looks_ = 0;
  }
  const std::uint32_t most = std::max(most_permille_, kBelowMost) - kBelowMost;
  open_permille_ = std::max(open_permille_, std::min(open_permille_ + kStep, most));
}

}  // namespace carpool::interpose::gate
