#include "schedule/turn_looks.hpp"

#include <algorithm>

namespace carpool::schedule {

void TurnLooks::add(std::size_t place) {
  if (!due_[place]) {
    due_[place] = true;
    places_.push_back(place);
  }
}

void TurnLooks::changed(std::span<const std::size_t> places) {
  std::ranges::for_each(places, [this](std::size_t place) { add(place); });
}

std::span<const std::size_t> TurnLooks::take(double now_s) {
  for (auto due = times_.begin(); due != times_.end() && due->first <= now_s; ++due) {
    add(due->second);
  }
  for (std::size_t i = 0; i < std::min(kInRotation, due_.size()); ++i) {
    add(next_);
    next_ = (next_ + 1) % due_.size();
  }
  taken_.swap(places_);
  places_.clear();
  std::ranges::sort(taken_);
  for (const std::size_t place : taken_) {
    due_[place] = false;
    forget(place);
  }
  return taken_;
}

void TurnLooks::ask_again(std::size_t place, double at_s) {
  forget(place);
  again_s_[place] = at_s;
  times_.emplace(at_s, place);
}

void TurnLooks::forget_times() {
  times_.clear();
  std::ranges::fill(again_s_, std::nullopt);
}

void TurnLooks::forget(std::size_t place) {
  if (again_s_[place]) {
    times_.erase({*again_s_[place], place});
    again_s_[place].reset();
  }
}

}  // namespace carpool::schedule
