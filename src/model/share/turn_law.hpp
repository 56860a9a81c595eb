// Groups of three and more: members take turns (docs/model.md, equations 4 and 5).
//
// One kernel of each member waits at a time, so a round of a full GPU runs one kernel of each.
// While a partner leaves room (its kernels end, or do not fill the GPU), a member runs further
// kernels without waiting. What it gains so, the partner loses in part. Every other member of the
// group takes some of that room.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carpool::model {

// One member in the eyes of the turn law.
struct Turn {
  double length = 1.0;  // l: solo time of one turn, in a unit common to all workloads
  double open = 0.0;    // a: share of its time in which others get in, between 0 and 1
  double slip = 1.0;    // k: work done in the open time of others, over that time
  double fade = 0.0;    // what a further member leaves of the room between two others
};

// `log_slip`: any finite number, as the logit of the open share.
[[nodiscard]] Turn turn_of(double log_length, double open_logit, double log_slip);

// What the wait for one other member consists of, when room between them is as in a pair.
struct PairWait {
  double turn = 0.0;  // its turn, without the time in which others get in
  double slipped =
      0.0;            // what it runs in the open time of the waiting member, as far as that waits
  double gain = 0.0;  // what the waiting member runs in its open time
};
[[nodiscard]] PairWait pair_wait(const Turn& own, const Turn& other);

// Time that a member waits for another over the time in which it runs, in a round.
// `room`: what the rest of the group leaves of the room between the two, 1 in a pair.
[[nodiscard]] double relative_wait(const PairWait& wait, double own_length, double room);

// Share of its speed with an idle GPU. `weights`: factors on the wait for each of `others`; empty:
// all 1.
[[nodiscard]] double progress(const Turn& own,
                              std::span<const Turn> others,
                              std::span<const double> weights = {});

// Derivatives of log progress on the parameters of one member: log length, logit of the open
// share, log slip.
struct TurnSlopes {
  double length = 0.0;
  double open = 0.0;
  double slip = 0.0;
};
struct ProgressSlopes {
  TurnSlopes own;
  std::vector<TurnSlopes> others;
};
[[nodiscard]] ProgressSlopes progress_slopes(const Turn& own,
                                             std::span<const Turn> others,
                                             std::span<const double> weights = {});

}  // namespace carpool::model
