#include "assign/descent.hpp"

#include "assign/random_choice.hpp"

namespace carpool::assign {
namespace {

// Places examined for one member in one round, drawn anew in each round; rounds without a change
// that end the descent.
constexpr std::size_t kLook = 32;
constexpr std::size_t kMaxRounds = 40;
constexpr std::size_t kQuietRounds = 3;
// Forecasts per member after which the descent ends, so that some remain for the other phases.
constexpr std::size_t kDescentForecasts = 500;

}  // namespace

void Descent::run() {
  std::size_t quiet = 0;
  for (std::size_t round = 0; round < kMaxRounds && quiet < kQuietRounds; ++round) {
    bool changed = false;
    for (const Member member : shuffled_members(engine_, values_.workloads())) {
      if (values_.asked() > kDescentForecasts * values_.workloads()) {
        return;
      }
      changed = improve(member) || changed;
    }
    quiet = changed ? 0 : quiet + 1;
  }
}

bool Descent::improve(Member member) {
  const std::vector<Change> choices = changes(member);
  std::vector<Key> keys;
  for (const Change& change : choices) {
    for (const Key* key : {&change.left, &change.arrived}) {
      if (!key->empty()) {
        keys.push_back(*key);
      }
    }
  }
  values_.require(keys);
  const std::size_t from = arrangement_.place_of(member);
  const double worth_here = arrangement_.worth_now(from);
  const Change* best = nullptr;
  ArrangementGain best_gain;
  for (const Change& change : choices) {
    const double before = worth_here + arrangement_.worth_now(change.to);
    const double after =
        arrangement_.worth(from, change.left) + arrangement_.worth(change.to, change.arrived);
    const ArrangementGain gain{.placed = !change.other && !arrangement_.on_gpu(from) ? 1 : 0,
                               .worth = after - before};
    if (after > kForbidden && gain.helps(before) && gain > best_gain) {
      best_gain = gain;
      best = &change;
    }
  }
  if (best != nullptr) {
    apply(member, *best);
  }
  return best != nullptr;
}

std::vector<Descent::Change> Descent::changes(Member member) {
  std::vector<Change> choices;
  const std::size_t from = arrangement_.place_of(member);
  for (const std::size_t to : random_sample(engine_, arrangement_.places(), kLook)) {
    if (to == from || (!arrangement_.on_gpu(from) && !arrangement_.on_gpu(to))) {
      continue;
    }
    if (arrangement_.has_room(to)) {
      choices.push_back({.to = to,
                         .left = arrangement_.key_after(from, member, std::nullopt),
                         .arrived = arrangement_.key_after(to, std::nullopt, member)});
    }
    for (const Member other : arrangement_.members(to)) {
      choices.push_back({.to = to,
                         .other = other,
                         .left = arrangement_.key_after(from, member, other),
                         .arrived = arrangement_.key_after(to, other, member)});
    }
  }
  return choices;
}

void Descent::apply(Member member, const Change& change) {
  const std::size_t from = arrangement_.place_of(member);
  arrangement_.take(member);
  if (change.other) {
    arrangement_.take(*change.other);
    arrangement_.put(*change.other, from);
  }
  arrangement_.put(member, change.to);
}

}  // namespace carpool::assign
