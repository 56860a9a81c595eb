#include "knowledge/latency/latency_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "knowledge/group_forecast.hpp"
#include "knowledge/latency/latency_law.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {
namespace {

// Deviations of ln(latency) of what the law adds, until its predictions were compared. They are
// choices, not measurements.
constexpr double kGateDeviation = 0.10;  // light kernels run beside requests
constexpr double kTimeGateDeviation = 0.05;
constexpr double kInterferenceDeviation = 0.10;
constexpr double kSliceDeviation = 0.20;

Interval widened(double low, double high, double variance, double width) {
  const double wide = std::exp(width * kDeviations90 * std::sqrt(variance));
  return {.low = low / wide, .high = high * wide};
}

// Jobs beside it, by what they do to a request.
struct Surroundings {
  std::vector<std::uint32_t> ungated{};    // numbers of their workloads
  bool gated = false;                      // some launches wait for requests
  bool kernels_known = true;               // of all whose launches wait,
  std::optional<double> long_kernel_ms{};  // and the longest
  bool strange = false;                    // what one does cannot be told

  void add(const BeliefStore& store, const LatencyNeighbour& neighbour, bool mps) {
    const std::uint32_t slot = store.find(neighbour.workload);
    const WorkloadState* seen = slot == kNone ? nullptr : &store.workloads()[slot];
    if (neighbour.gated && store.settings().gate) {
      gated = true;
      const double kernel = seen != nullptr && seen->window ? seen->window->long_kernel_ms : 0.0;
      kernels_known = kernels_known && kernel > 0.0;
      long_kernel_ms = std::max(long_kernel_ms.value_or(0.0), kernel);
      return;
    }
    // The law says nothing of a workload that neither ran nor has a profile.
    strange = strange || neighbour.workload.empty() ||
              (mps && (seen == nullptr || (seen->measured_s <= 0.0 && !seen->member.profiled)));
    ungated.push_back(slot);
  }
};

// The least and the most that they do, and what is expected.
struct Hindrances {
  Hindrance low{};
  Hindrance expected{};
  Hindrance high{};
  // Most of all, while the SLO is not missed: with work in all of the launch phases.
  std::optional<Hindrance> phases{};
  double deviation = 0.0;
  LatencyForecast::Basis basis = LatencyForecast::Basis::Gate;
};

void add_interference(const BeliefStore& store,
                      std::uint32_t own,
                      const Surroundings& others,
                      Hindrances& made) {
  std::vector<const LawMember*> group = {&store.workloads()[own].member};
  std::vector<InterferenceMember> named = {{.workload = store.workloads()[own].name}};
  for (const std::uint32_t slot : others.ungated) {
    group.push_back(&store.workloads()[slot].member);
    named.push_back({.workload = store.workloads()[slot].name});
  }
  const ProgressForecast progress =
      group_forecast(store, group, prior_progress(store, named), true).front();
  made.low.stretch = 1.0 / progress.interval90.high;
  made.expected.stretch = 1.0 / progress.progress;
  made.high.stretch = 1.0 / progress.interval90.low;
  made.deviation = kInterferenceDeviation;
  made.basis = LatencyForecast::Basis::Interference;
}

Hindrances hindrances(const BeliefStore& store,
                      std::uint32_t own,
                      const SoloLatency& solo,
                      const LatencyQuestion& question,
                      const Surroundings& others) {
  Hindrances made{.deviation = question.mps ? kGateDeviation : kTimeGateDeviation};
  if (!others.ungated.empty() && question.mps) {
    add_interference(store, own, others, made);
  } else if (!others.ungated.empty()) {
    made.expected = by_slices(others.ungated.size());
    made.high = made.expected;
    made.deviation = kSliceDeviation;
    made.basis = LatencyForecast::Basis::Slices;
  }
  if (others.gated) {
    const double front = gate_front_ms(question.goal.slo_ms,
                                       others.kernels_known ? others.long_kernel_ms : std::nullopt);
    made.expected.first_ms = front;
    made.high.first_ms = front;
    if (!question.mps && has_launch_phases(solo.service)) {  // else no work goes on in them
      Hindrance& phases = made.phases.emplace(made.high);
      phases.front_ms += phase_delay_ms(question.goal.slo_ms, solo.tail_ms);
      phases.first_ms += phase_room_ms(question.goal.slo_ms, solo.tail_ms);
      made.high.front_ms += phase_delay_ms(question.goal.slo_ms, question.goal.slo_ms);
    }
  }
  return made;
}

SoloLatency solo_of(const LatencyMemory::Entry& entry) {
  return {.p50_ms = std::exp(entry.log_p50_ms.mean),
          .tail_ms = std::exp(entry.log_tail_ms.mean),
          .quantile = entry.goal.quantile,
          .requests_per_s = std::exp(entry.log_rate.mean),
          .service = {.mean_ms = std::exp(entry.log_service_ms.mean),
                      .square_ms2 = std::exp(entry.log_service_square_ms2.mean)}};
}

LatencyForecast by_law(const BeliefStore& store,
                       const LatencyMemory::Entry& entry,
                       const Hindrances& by,
                       double slo_ms,
                       double width) {
  const SoloLatency solo = solo_of(entry);
  const Latency low = hindered_service(solo, by.low);
  const Latency expected = hindered(solo, by.expected);
  const Latency high = hindered(solo, by.high);
  const auto variance = [&](const Believed& number) {
    return aged_variance(number, kForgottenLatencyVariance, store.now_s()) + squared(by.deviation);
  };
  LatencyForecast made{
      .p50_ms = expected.p50_ms,
      .p50_90 = widened(low.p50_ms, high.p50_ms, variance(entry.log_p50_ms), width),
      .tail_ms = expected.tail_ms,
      .tail90 = widened(low.tail_ms, high.tail_ms, variance(entry.log_tail_ms), width),
      .basis = by.basis,
      .requests = entry.requests};
  if (by.phases) {
    // The gate measures the tail, whatever it is in truth, and closes the phases before it misses
    // the SLO.
    const Latency most = hindered(solo, *by.phases);
    const auto raise = [&](Interval& interval, double most_ms, const Believed& log_ms) {
      const double high_ms = widened(most_ms, most_ms, variance(log_ms), width).high;
      interval.high = std::max(interval.high, std::min(high_ms, kMissedPartOfSlo * slo_ms));
    };
    raise(made.p50_90, most.p50_ms, entry.log_p50_ms);
    raise(made.tail90, most.tail_ms, entry.log_tail_ms);
  }
  return made;
}

// Empty: what a neighbour does cannot be told.
std::optional<LatencyForecast> from_solo(const BeliefStore& store,
                                         std::uint32_t own,
                                         const LatencyMemory::Entry& solo,
                                         const LatencyQuestion& question,
                                         double width) {
  Surroundings others;
  for (const LatencyNeighbour& neighbour : question.beside) {
    others.add(store, neighbour, question.mps);
  }
  if (others.strange) {
    return std::nullopt;
  }
  return by_law(store,
                solo,
                hindrances(store, own, solo_of(solo), question, others),
                question.goal.slo_ms,
                width);
}

// A group that broke its SLO does not run, so nothing would correct its latency: the load of that
// hour would keep it apart for months. It may be tried again after a time of which the requests
// until its tail tells are so small a share, at least an hour.
bool may_be_tried_again(const LatencyMemory::Entry& known, double slo_ms, double now_s) {
  constexpr double kLeastS = 3600.0;
  constexpr double kRequestsOfATry = 500.0;
  constexpr double kShare = 0.002;
  const double age_s = now_s - known.log_tail_ms.at_s;
  return std::exp(known.log_tail_ms.mean) > slo_ms && age_s >= kLeastS &&
         age_s * std::exp(known.log_rate.mean) >= kRequestsOfATry / kShare;
}

}  // namespace

LatencyForecast measured_latency(const BeliefStore& store,
                                 const LatencyMemory::Entry& entry,
                                 double width) {
  const auto number = [&](const Believed& log_ms, Interval& interval) {
    const double ms = std::exp(log_ms.mean);
    interval =
        widened(ms, ms, aged_variance(log_ms, kForgottenLatencyVariance, store.now_s()), width);
    return ms;
  };
  LatencyForecast made{.requests = entry.requests};
  made.p50_ms = number(entry.log_p50_ms, made.p50_90);
  made.tail_ms = number(entry.log_tail_ms, made.tail90);
  return made;
}

std::optional<LatencyMemory::Key> latency_key(const BeliefStore& store,
                                              const LatencyQuestion& question) {
  LatencyMemory::Key key{.workload = store.find(question.workload),
                         .mps = question.mps && !question.beside.empty()};
  if (key.workload == kNone) {
    return std::nullopt;
  }
  for (const LatencyNeighbour& neighbour : question.beside) {
    const std::uint32_t slot = store.find(neighbour.workload);
    if (slot == kNone ||
        store.workloads()[slot].member.user != store.workloads()[key.workload].member.user) {
      return std::nullopt;
    }
    key.beside.push_back({.workload = slot, .gated = neighbour.gated && store.settings().gate});
  }
  std::ranges::sort(key.beside);
  return key;
}

LatencyQuestion latency_question(const GroupSeen& seen, std::size_t member) {
  const GroupSeen::Member& own = seen.computing[member];
  LatencyQuestion made{
      .workload = own.workload, .goal = own.goal, .mps = own.mechanism == ShareMechanism::Mps};
  for (std::size_t i = 0; i < seen.computing.size(); ++i) {
    if (i != member) {
      made.beside.push_back({.workload = seen.computing[i].workload,
                             .gated = waits_for_requests(seen.computing[i].gating, made.mps)});
    }
  }
  return made;
}

std::optional<LatencyForecast> latency_forecast(const BeliefStore& store,
                                                const LatencyQuestion& question) {
  const std::uint32_t own = store.find(question.workload);
  if (own == kNone || !(question.goal.slo_ms > 0.0)) {
    return std::nullopt;
  }
  const UserBelief& user = store.user(store.workloads()[own].member.user);
  const LatencyMemory& memory = user.latencies;
  const LatencyMemory::Entry* solo = memory.find({.workload = own}, question.goal, store.now_s());
  std::optional<LatencyForecast> made;
  const auto key = latency_key(store, question);
  if (const auto* known = key ? memory.find(*key, question.goal, store.now_s()) : nullptr) {
    made = measured_latency(store, *known, user.measured_latency_width);
    if (solo != nullptr && may_be_tried_again(*known, question.goal.slo_ms, store.now_s())) {
      const auto expected = from_solo(store, own, *solo, question, user.latency_width);
      made = expected && expected->tail90.high <= question.goal.slo_ms ? expected : made;
    }
  } else if (solo != nullptr) {
    made = from_solo(store, own, *solo, question, user.latency_width);
  }
  if (made && solo != nullptr) {
    made->solo_p50_ms = std::exp(solo->log_p50_ms.mean);
  }
  return made;
}

}  // namespace carpool::knowledge
