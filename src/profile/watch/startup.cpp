#include "profile/watch/startup.hpp"

#include <algorithm>

namespace carpool::profile {
namespace {

// Longer than the interval in which recorded launches are counted.
constexpr std::int64_t kSpan = 300'000'000;
constexpr std::size_t kSpansLookedAt = 10;
constexpr std::size_t kRecent = 5;
constexpr std::ptrdiff_t kRecentAtWork = 4;

// A program that works in bursts counts as started after this time.
constexpr std::int64_t kPatience = 8'000'000'000;
constexpr std::ptrdiff_t kFewAtWork = 2;

// The first step of a program is slower than the others.
constexpr std::uint64_t kWarmSteps = 2;
constexpr double kIdle = 0.01;

}  // namespace

void StartupWatch::close_span(std::int64_t now_ns, const ProgramSigns& signs) {
  const bool recorded = signs.launches > 0;
  const bool at_work = recorded ? signs.launches > launches_before_ : signs.gpu_utilisation > kIdle;
  if (at_work && !first_work_ns_) {
    first_work_ns_ = now_ns;
  }
  spans_.push_back(at_work);
  if (spans_.size() > kSpansLookedAt) {
    spans_.pop_front();
  }
  launches_before_ = signs.launches;
  span_began_ns_ = now_ns;
}

bool StartupWatch::look(std::int64_t now_ns, const ProgramSigns& signs) {
  if (span_began_ns_ == 0) {
    span_began_ns_ = now_ns;
  }
  if (now_ns - span_began_ns_ >= kSpan) {
    close_span(now_ns, signs);
  }
  if (signs.reports_steps) {
    return signs.steps >= kWarmSteps;
  }
  if (spans_.size() < kRecent || !first_work_ns_) {
    return false;
  }
  const auto recent = std::count(spans_.end() - kRecent, spans_.end(), true);
  const auto all = std::count(spans_.begin(), spans_.end(), true);
  return recent >= kRecentAtWork || (now_ns - *first_work_ns_ > kPatience && all >= kFewAtWork);
}

}  // namespace carpool::profile
