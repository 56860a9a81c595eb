#include "knowledge/latency/latency_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace carpool::knowledge {
namespace {

constexpr double kMsOfSecond = 1000.0;
constexpr double kMostBusy = 0.98;
constexpr double kSliceMs = 2.0;
// As gate::budget_of(), the policy spacetime and gate::LaunchPhase have them.
constexpr double kIdlePartOfSlo = 0.02;
constexpr double kLeastIdleMs = 0.1;
constexpr double kMostIdleMs = 1.0;
constexpr double kLongestPartOfSlo = 0.25;
constexpr double kUnknownKernelMs = 1.0;
constexpr double kPhasePartOfSlo = 0.04;
constexpr double kLeastPhaseMs = 0.1;
constexpr double kMostPhaseMs = 2.0;
constexpr double kRoomToDelay = 10.0;
constexpr double kShortPhaseMs = 1.5;
constexpr std::uint64_t kSketchWindow = 1024;

}  // namespace

double normal_quantile(double share) {
  double low = -9.0;
  double high = 9.0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2.0;
    (std::erfc(-middle / std::numbers::sqrt2) / 2.0 < share ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

double waiting_ms(const ServiceMoments& service, double requests_per_s, double share) {
  const double per_ms = requests_per_s / kMsOfSecond;
  const double busy = std::min(per_ms * service.mean_ms, kMostBusy);
  if (!(busy > 1.0 - share)) {
    return 0.0;  // so few wait
  }
  const double mean = per_ms * service.square_ms2 / (2.0 * (1.0 - busy));
  return mean / busy * std::log(busy / (1.0 - share));
}

ServiceMoments hindered_moments(const ServiceMoments& solo, const Hindrance& by) {
  const double mean = by.stretch * solo.mean_ms;
  return {.mean_ms = mean + by.front_ms / 2.0,
          .square_ms2 = by.stretch * by.stretch * solo.square_ms2 + mean * by.front_ms +
                        by.front_ms * by.front_ms / 3.0};
}

Latency hindered_service(const SoloLatency& solo, const Hindrance& by) {
  return {.p50_ms = by.stretch * solo.p50_ms + (by.front_ms + by.first_ms) / 2.0,
          .tail_ms = by.stretch * solo.tail_ms + by.front_ms + by.first_ms};
}

Latency hindered(const SoloLatency& solo, const Hindrance& by) {
  Latency made = hindered_service(solo, by);
  const ServiceMoments then = hindered_moments(solo.service, by);
  const auto longer = [&](double share) {
    return std::max(waiting_ms(then, solo.requests_per_s, share) -
                        by.stretch * waiting_ms(solo.service, solo.requests_per_s, share),
                    0.0);
  };
  made.p50_ms += longer(0.5);
  made.tail_ms += longer(solo.quantile);
  return made;
}

double gate_front_ms(double slo_ms, std::optional<double> long_kernel_ms) {
  const double kernel = long_kernel_ms.value_or(kUnknownKernelMs);
  const double idle = std::clamp(kIdlePartOfSlo * slo_ms, kLeastIdleMs, kMostIdleMs);
  return std::max(idle, std::min(kernel, kLongestPartOfSlo * slo_ms));
}

double phase_delay_ms(double slo_ms, double tail_ms) {
  return tail_ms > kMissedPartOfSlo * slo_ms
             ? kLeastPhaseMs
             : std::clamp(kPhasePartOfSlo * slo_ms, kLeastPhaseMs, kMostPhaseMs);
}

double phase_room_ms(double slo_ms, double tail_ms) {
  return std::max(0.0, slo_ms / 2.0 - tail_ms) / kRoomToDelay;
}

bool has_launch_phases(const ServiceMoments& service) {
  return service.mean_ms >= kShortPhaseMs;
}

Hindrance by_slices(std::size_t others) {
  const auto count = static_cast<double>(others);
  return {.stretch = 1.0 + count, .front_ms = count * kSliceMs};
}

double old_share(std::uint64_t before, std::uint64_t since) {
  constexpr std::uint64_t kHalf = kSketchWindow / 2;
  std::uint64_t total = before < kSketchWindow ? before : kHalf + (before - kSketchWindow) % kHalf;
  auto old = static_cast<double>(total);
  constexpr double kGone = 1e-6;
  while (since >= kSketchWindow - total && old > kGone) {
    since -= kSketchWindow - total;
    total = kHalf;
    old /= 2.0;
  }
  total += old > kGone ? since : 0;
  return total == 0 ? 0.0 : old / static_cast<double>(total);
}

}  // namespace carpool::knowledge
