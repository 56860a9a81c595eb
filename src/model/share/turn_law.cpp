#include "model/share/turn_law.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::model {
namespace {

// Keeps shares off 0 and 1, so that products of them can be divided by one of them.
constexpr double kLeastShare = 1e-6;

// Chosen on pairs, triples and quads (docs/model.md, "What was chosen while looking at which
// data"). A further member leaves open^kFade of the room between two others.
constexpr double kFade = 0.25;
// Share of what a member runs in the open time of another by which that other waits longer.
constexpr double kHindrance = 0.6;

// The wait for one other member at the present room, and the shares of slipped work in it.
struct Wait {
  double relative = 0.0;
  double slipped = 0.0;  // of what the other runs
  double gained = 0.0;   // of what the member itself runs
};

double room_of(std::span<const Turn> others) {
  double room = 1.0;
  for (const Turn& other : others) {
    room *= other.fade;
  }
  return room;
}

Wait wait_for(const Turn& own, const Turn& other, double room, double weight) {
  const PairWait pair = pair_wait(own, other);
  return {.relative = weight * relative_wait(pair, own.length, room),
          .slipped = pair.slipped * room / (pair.turn + pair.slipped * room),
          .gained = pair.gain * room / (own.length + pair.gain * room)};
}

double weight_of(std::span<const double> weights, std::size_t other) {
  return weights.empty() ? 1.0 : weights[other];
}

}  // namespace

Turn turn_of(double log_length, double open_logit, double log_slip) {
  const double open =
      std::clamp(1.0 / (1.0 + std::exp(-open_logit)), kLeastShare, 1.0 - kLeastShare);
  return {.length = std::exp(log_length),
          .open = open,
          .slip = std::exp(log_slip),
          .fade = std::pow(open, kFade)};
}

PairWait pair_wait(const Turn& own, const Turn& other) {
  const double closed = 1.0 - other.open;
  return {.turn = other.length * closed,
          .slipped = kHindrance * other.slip * own.open * own.length * closed,
          .gain = own.slip * other.open * other.length};
}

double relative_wait(const PairWait& wait, double own_length, double room) {
  return (wait.turn + wait.slipped * room) / (own_length + wait.gain * room);
}

double progress(const Turn& own, std::span<const Turn> others, std::span<const double> weights) {
  const double room = room_of(others);
  double wait = 0.0;
  for (std::size_t j = 0; j < others.size(); ++j) {
    wait += weight_of(weights, j) *
            relative_wait(pair_wait(own, others[j]), own.length, room / others[j].fade);
  }
  return 1.0 / (1.0 + wait);
}

ProgressSlopes progress_slopes(const Turn& own,
                               std::span<const Turn> others,
                               std::span<const double> weights) {
  const double room = room_of(others);
  std::vector<Wait> waits;
  waits.reserve(others.size());
  double whole = 1.0;    // time of a round over the time in which the member runs
  double by_room = 0.0;  // derivative of the wait on the log of all rooms
  for (std::size_t j = 0; j < others.size(); ++j) {
    waits.push_back(wait_for(own, others[j], room / others[j].fade, weight_of(weights, j)));
    whole += waits.back().relative;
    by_room += waits.back().relative * (waits.back().slipped - waits.back().gained);
  }
  ProgressSlopes out;
  out.others.reserve(others.size());
  for (std::size_t j = 0; j < others.size(); ++j) {
    const Wait& wait = waits[j];
    const double closed = 1.0 - others[j].open;
    const double share = wait.relative / whole;
    // Its open share shortens the wait for it, and widens the room between the member and the rest.
    const double rest = by_room - wait.relative * (wait.slipped - wait.gained);
    out.own.length += share * (1.0 - wait.slipped - wait.gained);
    out.own.open -= share * wait.slipped * (1.0 - own.open);
    out.own.slip += share * wait.gained;
    out.others.push_back(
        {.length = -share * (1.0 - wait.slipped - wait.gained),
         .open = share * (others[j].open + wait.gained * closed) - kFade * closed * rest / whole,
         .slip = -share * wait.slipped});
  }
  return out;
}

}  // namespace carpool::model
