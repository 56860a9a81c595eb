#include "knowledge/latency/latency_learning.hpp"

#include <algorithm>
#include <cmath>

#include "knowledge/latency/latency_forecast.hpp"
#include "knowledge/latency/latency_law.hpp"

namespace carpool::knowledge {
namespace {

constexpr double kSettledS = 1.5;  // after a group changed
constexpr double kWarmS = 5.0;     // since the newest member was seen on the GPU
constexpr double kFewest = 30.0;   // requests that tell a median
// Share of old requests where the tail grows: with half of them the tail of now is at least the one
// that is measured, with a tenth it is about that.
constexpr double kMostOld = 0.5;
constexpr double kMostOldToLearn = 0.1;
constexpr double kSketch = 0.018;  // deviation by buckets of a sixteenth of an octave
constexpr double kLeastSpread = 0.05;
constexpr double kMostMs = 1e6;

bool makes_sense(const MeasuredLatency& seen) {
  return seen.quantile > 0.5 && seen.quantile < 1.0 && seen.p50_ms > 0.0 &&
         seen.tail_ms >= seen.p50_ms && seen.tail_ms <= kMostMs && seen.processes > 0 &&
         seen.fewest <= seen.requests && seen.service_ms > 0.0 && seen.service_ms <= kMostMs &&
         seen.service_square_ms2 > 0.0 && seen.service_square_ms2 <= kMostMs * kMostMs;
}

// The n-th quantile of fewer requests is their largest latency.
double requests_needed(double quantile) {
  return std::max(kFewest, 1.0 / (1.0 - quantile));
}

// Figures have requests of before the group came together in them.
void first_look(LiveLatency& live, const MeasuredLatency& seen) {
  live.seen = true;
  live.begun = false;
  live.fewest_then = seen.fewest;
  live.tail_then_ms = seen.fewest > 0 ? seen.tail_ms : 0.0;
  live.processes = seen.processes;
}

// Requests count from now on.
void begin(LiveLatency& live, const MeasuredLatency& seen, double at_s) {
  live.begun = true;
  live.requests_before = seen.requests;
  live.fewest_before = seen.fewest;
  live.begun_at_s = at_s;
  live.learned = 0;
}

double old_now(const LiveLatency& live, const MeasuredLatency& seen) {
  return old_share(live.fewest_then, seen.fewest - live.fewest_then);
}

// Whether the figures tell of this group. Where the tail has grown, the requests of before lie
// below it, and matter little.
bool tells(const LiveLatency& live, const MeasuredLatency& seen, std::uint64_t since) {
  return static_cast<double>(since) >= requests_needed(seen.quantile) &&
         old_now(live, seen) <=
             (seen.tail_ms > live.tail_then_ms ? kMostOld : (1.0 - seen.quantile) / 2.0);
}

// Whether they are to be remembered. A tail that is above the SLO with old requests in it is above
// it without them.
bool teaches(const LiveLatency& live, const MeasuredLatency& seen, double slo_ms) {
  return old_now(live, seen) <= kMostOldToLearn || seen.tail_ms > slo_ms;
}

// Variances of ln(p50) and ln(tail) over n requests, for log-normal latencies: that of a quantile q
// is q (1 - q) / n over the square of the density there (Mosteller, 1946).
double quantile_variance(double spread, double quantile, double requests) {
  const double z = normal_quantile(quantile);
  constexpr double kRootOfTwoPi = 2.5066282746310002;
  const double density = std::exp(-z * z / 2.0) / kRootOfTwoPi / spread;
  return quantile * (1.0 - quantile) / requests / squared(density) + squared(kSketch);
}

LatencyMemory::Entry entry_of(const MeasuredLatency& seen,
                              double slo_ms,
                              const LiveLatency& live,
                              std::uint64_t fresh,
                              double at_s) {
  const double spread =
      std::max(std::log(seen.tail_ms / seen.p50_ms) / normal_quantile(seen.quantile), kLeastSpread);
  const auto since = static_cast<double>(seen.requests - live.requests_before);
  const double rate = since / (at_s - live.begun_at_s) / static_cast<double>(seen.processes);
  const double square = std::max(seen.service_square_ms2, squared(seen.service_ms));
  const double service_variance =
      (square / squared(seen.service_ms) - 1.0) / static_cast<double>(fresh);
  return {.goal = {.slo_ms = slo_ms, .quantile = seen.quantile},
          .requests = fresh,
          .log_p50_ms = {.mean = std::log(seen.p50_ms),
                         .variance = quantile_variance(spread, 0.5, static_cast<double>(fresh)),
                         .at_s = at_s},
          .log_tail_ms = {.mean = std::log(seen.tail_ms),
                          .variance =
                              quantile_variance(spread, seen.quantile, static_cast<double>(fresh)),
                          .at_s = at_s},
          .log_rate = {.mean = std::log(rate), .variance = 1.0 / since, .at_s = at_s},
          .log_service_ms = {.mean = std::log(seen.service_ms),
                             .variance = service_variance,
                             .at_s = at_s},
          .log_service_square_ms2 = {
              .mean = std::log(square), .variance = 4.0 * service_variance, .at_s = at_s}};
}

// Once for each group, before it teaches.
void score(UserBelief& user, LiveLatency& live, double tail_ms) {
  if (live.scored || !live.predicted) {
    return;
  }
  live.scored = true;
  const Interval& interval = live.predicted->tail90;
  const bool inside = tail_ms >= interval.low && tail_ms <= interval.high;
  follow_outcome(live.predicted->basis == LatencyForecast::Basis::Measured
                     ? user.measured_latency_width
                     : user.latency_width,
                 inside);
  ++user.latency_coverage.all;
  user.latency_coverage.inside += inside ? 1 : 0;
}

bool has_other_processes(const LiveLatency& live, const MeasuredLatency& now) {
  return now.processes != live.processes ||
         now.fewest < std::max(live.fewest_then, live.fewest_before) ||
         now.requests < live.requests_before;
}

}  // namespace

void learn_latencies(BeliefStore& store, LiveGroup& group, const GroupSeen& seen) {
  const double youngest_s =
      std::ranges::min_element(seen.computing, {}, &GroupSeen::Member::computed_s)->computed_s;
  const bool settled = seen.unchanged_s >= kSettledS && youngest_s >= kWarmS;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupSeen::Member& member = seen.computing[i];
    LiveLatency& live = group.members[i].latency;
    if (!member.latency || member.several_gpus || !makes_sense(*member.latency)) {
      continue;
    }
    const MeasuredLatency& now = *member.latency;
    if (!live.seen || has_other_processes(live, now)) {
      first_look(live, now);
    }
    live.fewest_last = now.fewest;
    live.tail_last_ms = now.tail_ms;
    if (!live.begun || !settled) {
      begin(live, now, seen.at_s);
      continue;
    }
    const std::uint64_t since = now.fewest - live.fewest_before;
    live.requests = now.requests - live.requests_before;
    if (!tells(live, now, since)) {
      continue;
    }
    live.p50_ms = now.p50_ms;
    live.tail_ms = now.tail_ms;
    const std::uint64_t fresh = since - live.learned;
    // Figures over the same requests repeat each other.
    if (static_cast<double>(fresh) < requests_needed(now.quantile) ||
        !teaches(live, now, member.goal.slo_ms)) {
      continue;
    }
    live.learned = since;
    UserBelief& user = store.users()[store.workloads()[group.members[i].slot].member.user];
    if (group.members.size() > 1) {
      score(user, live, now.tail_ms);
    }
    if (const auto key = latency_key(store, latency_question(seen, i))) {
      user.latencies.saw(*key, entry_of(now, member.goal.slo_ms, live, fresh, seen.at_s));
    }
  }
}

}  // namespace carpool::knowledge
