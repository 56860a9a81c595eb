#include "schedule/gpus/job_reservation.hpp"

#include <algorithm>

namespace carpool::schedule {
namespace {

// Growth below this is noise of a caching allocator, not a new peak.
constexpr double kPeakGrowth = 1.01;
constexpr unsigned kOftenLate = 2;

}  // namespace

std::uint64_t JobReservation::roomy() const {
  return static_cast<std::uint64_t>(static_cast<double>(peak_) * rules_->room) + rules_->room_bytes;
}

double JobReservation::stable_s() const {
  double least = rules_->least_s;
  if (peak_ <= rules_->context_bytes) {
    least = std::max(least, rules_->context_s);
  }
  if (peak_ > gpu_bytes_ / 2 || late_ > kOftenLate) {
    least = std::max(least, rules_->slow_s);
  }
  return std::min(std::max(least, rules_->of_growing * grew_s_) * patience_, rules_->most_s);
}

void JobReservation::grew(std::uint64_t bytes, double computed_s) {
  if (grown_to_ > 0 && computed_s - grew_s_ >= rules_->least_s) {
    ++late_;
  }
  grown_to_ = bytes;
  grew_s_ = computed_s;
  if (settled_peak_ > 0 && bytes > kept_) {
    // Room for as much growth again, until it stands still for longer.
    most_ = std::max(std::min(ceiling_, bytes + (bytes - settled_peak_)), bytes);
    patience_ *= settled_ ? 2.0 : 1.0;
    settled_ = false;
  }
}

void JobReservation::saw(std::uint64_t bytes, double computed_s) {
  if (static_cast<double>(bytes) > static_cast<double>(grown_to_) * kPeakGrowth) {
    grew(bytes, computed_s);
  }
  peak_ = std::max(peak_, bytes);
  if (kept_ == 0) {
    return;
  }
  exceeded_ = exceeded_ == 0 && bytes > kept_ ? kept_ : exceeded_;
  if (!settled_ && peak_ > 0 && computed_s - grew_s_ >= stable_s()) {
    settled_ = true;
    settled_peak_ = peak_;
  }
  kept_ = std::max(settled_ ? std::min(most_, roomy()) : most_, peak_);
}

void JobReservation::raise(std::uint64_t bytes, double computed_s) {
  if (kept_ == 0 || bytes <= kept_) {
    return;
  }
  ceiling_ = std::max(ceiling_, bytes);
  most_ = std::max(most_, bytes);
  kept_ = std::max(bytes, peak_);
  settled_ = false;
  exceeded_ = 0;  // it has what it took
  grew_s_ = computed_s;
}

}  // namespace carpool::schedule
