#include "assign/descent.hpp"

#include "assign/arrangement_gain.hpp"
#include "assign/random_choice.hpp"

namespace carpool::assign {
namespace {

// Places that one item looks at in one round, and rounds without a change that end it; each round
// looks at other places.
constexpr std::size_t kLook = 32;
constexpr std::size_t kMaxRounds = 40;
constexpr std::size_t kQuietRounds = 3;
// Forecasts an item after which it comes to its end, so that some are left to the rest of the
// search.
constexpr std::size_t kDescentForecasts = 500;

}  // namespace

void Descent::run() {
  std::size_t quiet = 0;
  for (std::size_t round = 0; round < kMaxRounds && quiet < kQuietRounds; ++round) {
    bool changed = false;
    for (const Item item : shuffled_items(engine_, values_.items())) {
      if (values_.asked() > kDescentForecasts * values_.items()) {
        return;
      }
      changed = improve(item) || changed;
    }
    quiet = changed ? 0 : quiet + 1;
  }
}

bool Descent::improve(Item item) {
  const std::vector<Change> choices = changes(item);
  std::vector<Key> keys;
  for (const Change& change : choices) {
    for (const Key* key : {&change.left, &change.arrived}) {
      if (!key->empty()) {
        keys.push_back(*key);
      }
    }
  }
  values_.require(keys);
  const std::size_t from = seats_.place_of(item);
  const double worth_here = seats_.worth_now(from);
  const Change* best = nullptr;
  SeatingGain best_gain;
  for (const Change& change : choices) {
    const double before = worth_here + seats_.worth_now(change.to);
    const double after = seats_.worth(from, change.left) + seats_.worth(change.to, change.arrived);
    const SeatingGain gain{.placed = !change.other && !seats_.on_gpu(from) ? 1 : 0,
                           .worth = after - before};
    if (after > kForbidden && gain.helps(before) && gain > best_gain) {
      best_gain = gain;
      best = &change;
    }
  }
  if (best != nullptr) {
    apply(item, *best);
  }
  return best != nullptr;
}

std::vector<Descent::Change> Descent::changes(Item item) {
  std::vector<Change> choices;
  const std::size_t from = seats_.place_of(item);
  for (const std::size_t to : random_sample(engine_, seats_.places(), kLook)) {
    if (to == from || (!seats_.on_gpu(from) && !seats_.on_gpu(to))) {
      continue;
    }
    if (seats_.has_room(to)) {
      choices.push_back({.to = to,
                         .left = seats_.key_after(from, item, std::nullopt),
                         .arrived = seats_.key_after(to, std::nullopt, item)});
    }
    for (const Item other : seats_.members(to)) {
      choices.push_back({.to = to,
                         .other = other,
                         .left = seats_.key_after(from, item, other),
                         .arrived = seats_.key_after(to, other, item)});
    }
  }
  return choices;
}

void Descent::apply(Item item, const Change& change) {
  const std::size_t from = seats_.place_of(item);
  seats_.take(item);
  if (change.other) {
    seats_.take(*change.other);
    seats_.put(*change.other, from);
  }
  seats_.put(item, change.to);
}

}  // namespace carpool::assign
