// Latency of requests beside other jobs, from the latency solo: pure functions (docs/knowledge.md).
// Times are milliseconds, rates requests a second, shares 0 to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace carpool::knowledge {

// Of the time that a request takes once it has begun, without its time in a queue.
struct ServiceMoments {
  double mean_ms = 0.0;
  double square_ms2 = 0.0;  // mean of the square
};

struct SoloLatency {
  double p50_ms = 0.0;
  double tail_ms = 0.0;
  double quantile = 0.99;
  double requests_per_s = 0.0;  // that one process serves; 0: not known, and none waits
  ServiceMoments service{};
};

// What others do to a request.
struct Hindrance {
  double stretch = 1.0;   // its service takes this many times as long,
  double front_ms = 0.0;  // and begins later by at most this,
  double first_ms = 0.0;  // and by at most this as well if it finds no other request
};

struct Latency {
  double p50_ms = 0.0;
  double tail_ms = 0.0;
};

// z with P(Z <= z) = share for a standard normal Z.
[[nodiscard]] double normal_quantile(double share);

// Of stretch S + F with F uniform from 0 to front: mean stretch E[S] + front / 2, mean square
// stretch^2 E[S^2] + stretch E[S] front + front^2 / 3.
[[nodiscard]] ServiceMoments hindered_moments(const ServiceMoments& solo, const Hindrance& by);

// The time that a request waits for those before it, which is exceeded by 1 - share of them. M/G/1:
// the mean is E[W] = lambda E[S^2] / (2 (1 - rho)) with rho = lambda E[S] (Pollaczek and Khinchine;
// Kleinrock, Queueing Systems I, 1975, section 5.6). A share of 1 - rho does not wait; the others
// wait for an exponential time with the mean E[W] / rho: P(W > t) = rho exp(-t rho / E[W]). rho
// counts 0.98 at most: beyond, the queue grows without end.
[[nodiscard]] double waiting_ms(const ServiceMoments& service, double requests_per_s, double share);

// p50 = stretch p50_solo + (front + first) / 2 + dW(0.5), tail = stretch tail_solo + front + first
// + dW(quantile). Latencies solo contain their waiting time W, so that stretch W is counted; dW is
// what the longer service time adds to that. What delays only the first request after an idle time
// adds the same to each wait of a busy period, at most `first`, and nothing to dW (a queue with
// starter: Levy and Kleinrock, Operations Research 34, 1986).
[[nodiscard]] Latency hindered(const SoloLatency& solo, const Hindrance& by);
// The same without dW.
[[nodiscard]] Latency hindered_service(const SoloLatency& solo, const Hindrance& by);

// The best-effort work that the gate lets in front of a request that finds no other one
// (docs/gate-internals.md): the idle budget of 2 % of the SLO, 0.1 to 1 ms, or one kernel,
// whichever is more. A kernel that is longer than a quarter of the SLO is not let in; one of
// unknown length counts as the gate counts it: 1 ms.
[[nodiscard]] double gate_front_ms(double slo_ms, std::optional<double> long_kernel_ms);

// While the measured tail is above this part of the SLO, the gate is more careful.
inline constexpr double kMissedPartOfSlo = 0.9;
// By which a request that is launched kernel by kernel may take longer, because work goes on in its
// launch phases: 4 % of the SLO, 0.1 to 2 ms, or 0.1 ms while the SLO is missed,
[[nodiscard]] double phase_delay_ms(double slo_ms, double tail_ms);
// and a tenth of what the tail is below half of the SLO. The tail has the queue in it.
[[nodiscard]] double phase_room_ms(double slo_ms, double tail_ms);
// The gate stays closed in phases as short as a request with this service.
[[nodiscard]] bool has_launch_phases(const ServiceMoments& service);

// Without MPS and gate, `others` jobs take turns with it in slices of 2 ms each.
[[nodiscard]] Hindrance by_slices(std::size_t others);

// The share of the requests in a process's figures that ended before the last `since` of them:
// counts are halved whenever 1,024 are there (interpose/gate/quantile_sketch.hpp).
[[nodiscard]] double old_share(std::uint64_t before, std::uint64_t since);

}  // namespace carpool::knowledge
