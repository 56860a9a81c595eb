// Groups of three and more: members take turns (docs/model.md, equations 4 and 5).
//
// One kernel of each member waits at a time, so a round of a full GPU runs one kernel of each.
// While a partner leaves room (its kernels end, or do not fill the GPU), a member's next kernels
// slip in without waiting for a turn; room that one partner leaves is taken by the next.
#pragma once

namespace carpool::model {

// One member in the eyes of the turn law.
struct Turn {
  double length = 1.0;    // l: solo time of one turn, in a unit common to all workloads
  double pressing = 1.0;  // w = l (1 - a): the part of it in which no other gets in
  double open = 0.0;      // a: share of its time in which others get in, between 0 and 1
  double slip = 0.0;      // k: how much of the open time of others it can use, between 0 and 1
};

// Logits of the open share and of the slip; any finite numbers.
[[nodiscard]] Turn turn_of(double log_length, double open_logit, double slip_logit);

// The other members of a group, added up.
struct OtherTurns {
  double pressing = 0.0;  // sum of theirs
  double open = 1.0;      // product of theirs
};

// Share of its speed with an idle GPU: A + (1 - A) l / (l + pressing), A = slip * open.
[[nodiscard]] double progress(const Turn& own, const OtherTurns& others);

// Derivatives of log progress: on the log length and the logit of the slip of the member itself,
// and on the log length and the logit of the open share of another member.
struct OwnTurnSlopes {
  double length = 0.0;
  double slip = 0.0;
};
struct OtherTurnSlopes {
  double length = 0.0;
  double open = 0.0;
};
[[nodiscard]] OwnTurnSlopes own_slopes(const Turn& own, const OtherTurns& others);
[[nodiscard]] OtherTurnSlopes slopes_on(const Turn& other,
                                        const Turn& own,
                                        const OtherTurns& others);

}  // namespace carpool::model
