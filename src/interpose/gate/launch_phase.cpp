#include "interpose/gate/launch_phase.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kAll = 1000;
// The first requests of a program load its kernels: they tell nothing.
constexpr std::uint32_t kUntold = 20;
// Phases in which the program has the GPU for itself: the first ones that tell, and one of
// kOneAloneOf after them; fewer once some are known and work beside the others is not too much.
// Prime numbers: programs repeat patterns of few phases.
constexpr std::uint32_t kFirstAlone = 8;
constexpr std::uint32_t kOneAloneOf = 17;
constexpr std::uint32_t kKnownAlone = 16;
constexpr std::uint32_t kOneAloneOfWhenKnown = 67;
constexpr std::uint32_t kBetweenLooks = 8;
// What is compared of the waits. The median as well: where one of several phases of a request waits
// for long without a neighbour, all of them could do so with one, and the longest waits be the
// same.
constexpr std::array<std::uint32_t, 2> kComparedPermille{500, 850};
// Of what is open, and of what was too much.
constexpr std::uint32_t kStep = 125;
constexpr std::uint32_t kStepOfMost = 8;
constexpr std::uint32_t kBelowMost = 60;
constexpr std::uint32_t kMostPatience = 32;
constexpr std::uint32_t kUsualOf = 8;  // phases
// Fewer commands are not worth a change of turns.
constexpr std::uint32_t kFewCommands = 16;
constexpr Nanoseconds kPartThatWaits = 4;
// By which the waits of a request may grow: by 4 % of the SLO, at most by a slice of the driver,
// and by a tenth of what the tail is below half of the SLO; or by little, while the SLO is missed.
// More than the idle budget, because work that runs when such a request begins does not delay it:
// the GPU is done with it long before the program waits.
constexpr Nanoseconds kDelayPartOfSlo = 25;
constexpr Nanoseconds kLeastDelay = 100 * kMicrosecond;
constexpr Nanoseconds kMostDelay = 2 * kMillisecond;
constexpr Nanoseconds kRoomToDelay = 10;
constexpr Nanoseconds kMissedPercent = 90;

}  // namespace

Nanoseconds most_phase_delay(Nanoseconds slo, Nanoseconds tail) {
  const bool missed = tail > slo / 100 * kMissedPercent;
  const Nanoseconds usual =
      missed ? kLeastDelay : std::clamp(slo / kDelayPartOfSlo, kLeastDelay, kMostDelay);
  const Nanoseconds room = tail == 0 ? 0 : std::max<Nanoseconds>(0, slo / 2 - tail);
  return usual + room / kRoomToDelay;
}

LaunchPhase::Usual& LaunchPhase::usual_after(std::uint32_t commands) {
  return usual_[commands % usual_.size()];
}

bool LaunchPhase::is_worth_it(const Usual& usual) const {
  return usual.before == last_commands_ && usual.commands >= kFewCommands &&
         usual.launching >= kShortPhase;
}

// Where the program waits for long, it is ahead of the GPU, which has no time to give away.
bool LaunchPhase::has_the_gpu(const Usual& usual) const {
  const bool known = waits_alone_.count() >= kKnownAlone && patience_ == 1;
  return waits_alone_.count() < kFirstAlone ||
         since_alone_ + 1 >= (known ? kOneAloneOfWhenKnown : kOneAloneOf) ||
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

bool LaunchPhase::waits_grew(Nanoseconds allowed) const {
  return std::ranges::any_of(kComparedPermille, [&](std::uint32_t permille) {
    return waits_beside_.quantile(permille) > waits_alone_.quantile(permille) + allowed;
  });
}

// What was too much is tried again, little by little and less and less often: the program may have
// changed.
void LaunchPhase::look(Nanoseconds tail) {
  if (waits_grew(most_phase_delay(slo_, tail) / Nanoseconds{std::max(1U, usual_phases_)})) {
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
