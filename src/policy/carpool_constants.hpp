// The constants of the policy `carpool` that are not settings, with the reason for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/text/memory_size.hpp"

namespace carpool::policy {

// Caps of jobs whose memory need is unknown. A cap that is too small costs the job its start-up;
// one that is too large keeps others out until the reservation shrinks to the measured peak.
//
// Free memory is divided by the number of such jobs, and by at least this: more jobs may be about
// to be submitted.
inline constexpr std::uint64_t kLeastParts = 4;
// A usual need: no job gets less than this, up to half of what is free.
inline constexpr auto kUsualNeed = static_cast<std::uint64_t>(12 * kGiB);
// A GPU with less free memory than its size divided by this takes no such job.
inline constexpr std::uint64_t kLeastClaimParts = 20;
// Jobs are often submitted in bursts. One that has waited this long as the only one is not the
// first of a burst, and gets all that is free but for the GPU's size divided by kLentParts: others
// may grow.
inline constexpr double kBurstS = 5.0;
inline constexpr std::uint64_t kLentParts = 10;

// A member that has computed for less than this may be paused until its turn: it has done little,
// and the activity of a workload that was never seen is learned within this time. A window that
// ends before that lets all new jobs compute at once.
inline constexpr double kFreshS = 20.0;
// After a change of the group, measurements and beliefs need this long until they tell of it.
inline constexpr double kSettleS = 10.0;
// Between two pauses for interference on one GPU, and from such a pause to its end: the effect of
// one is awaited before the next.
inline constexpr double kBetweenPausesS = 60.0;
// A resumed member computes for at least this long: no member is paused over and over.
inline constexpr double kAfterResumeS = 60.0;
// The sum of progress without a member must be larger by this factor before it is paused:
// predictions are not exact.
inline constexpr double kWorseBy = 1.15;
// A group whose sum of progress is below this would do more one job at a time.
inline constexpr double kTakingTurns = 0.97;
// After a change of a group beliefs move for kWatchedS: the group is looked at again at multiples
// of kLookAgainS, so that many GPUs cause few decisions.
inline constexpr double kWatchedS = 30.0;
inline constexpr double kLookAgainS = 3.0;

// Jobs that are started ahead: a GPU has at most this many members for each one that computes
// usefully, and kSpareAhead more. Start-up takes about as long as a short job computes.
inline constexpr std::size_t kMembersPerUseful = 2;
inline constexpr std::size_t kSpareAhead = 2;
// With several GPUs, a job starts ahead only where a member ends within this time: it cannot move
// to a GPU that becomes free earlier. About the time of a start-up.
inline constexpr double kEndsSoonS = 20.0;

// A job that was not seen on a GPU for this long after its start does not count as starting up any
// more: it may prepare data, or never use the GPU.
inline constexpr double kStartUpS = 30.0;
// Further jobs start one by one, this far apart, while the processors are idle for at least this
// share of the time: some start-ups wait for disks and networks. At most kMostStarting times as
// many as the settings say.
inline constexpr double kStartApartS = 1.0;
inline constexpr double kIdleEnough = 0.2;
inline constexpr std::size_t kMostStarting = 4;
// After it is first seen on a GPU a job still sets up for about this long: it moves the model
// there, loads libraries, makes its optimizer. A job is not paused before.
inline constexpr double kSetUpS = 4.0;

// A job that would cost a neighbour its latency target is considered again after this time.
inline constexpr double kLatencyAgainS = 30.0;

// A new job with which all members keep this share hardly slows them.
inline constexpr double kUnnoticed = 0.93;
// Of many GPUs at most this many are evaluated for one job: the least busy ones where it fits.
inline constexpr std::size_t kMostAsked = 64;
// MPS thread limits to try for a new job; running jobs keep theirs.
inline constexpr std::array kThreadLimits = {80.0, 60.0, 40.0, 20.0};
// Work that a shared GPU gets done, relative to an unshared one, to estimate when the queue is
// empty.
inline constexpr double kSharedSpeed = 1.3;

}  // namespace carpool::policy
