#include "interpose/tests/gate/simulation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "interpose/tests/gate/simulated_device.hpp"

namespace carpool::interpose::gate {
namespace {

// Launches that a process may be ahead of the GPU, as the driver's queue allows.
constexpr std::uint32_t kMostAhead = 256;

struct LaunchedWork {
  std::uint64_t id = 0;
  Work work{};
  Decision decision{};
};

struct ClientState {
  Nanoseconds wake = 0;
  bool gone = false;
  std::size_t next_kernel = 0;
  std::size_t next_arrival = 0;
  bool in_request = false;
  bool held = false;
  HoldReason reason = HoldReason::None;
  Nanoseconds held_since = 0;
  std::deque<LaunchedWork> launched;
};

class Simulation {
 public:
  explicit Simulation(const Scenario& scenario)
      : scenario_(scenario),
        gate_(std::make_unique<Gate>(*find_policy(scenario.policy), scenario.device)),
        device_(scenario.device.mps, scenario.device.sms),
        states_(scenario.clients.size()) {
    outcome_.clients.resize(scenario.clients.size());
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
      gate_->apply({.kind = EventKind::Joined, .client = index, .terms = client(index).terms});
    }
  }

  Outcome run() {
    for (Nanoseconds now = next_time(0); now <= scenario_.end; now = next_time(now)) {
      step(now);
    }
    outcome_.longest_overrun = device_.longest_overrun();
    outcome_.holds.resize(kHoldReasons);
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
      for (std::uint32_t reason = 0; reason < kHoldReasons; ++reason) {
        outcome_.holds[reason] += gate_->client(index).holds[reason];
      }
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] const SimulatedClient& client(std::uint32_t index) const {
    return scenario_.clients[index];
  }
  [[nodiscard]] bool is_slo(std::uint32_t index) const {
    return client(index).terms.job_class == JobClass::Slo;
  }
  [[nodiscard]] bool silent(std::uint32_t index, Nanoseconds now) const {
    return states_[index].gone || now >= client(index).stops_at;
  }

  void trace(Nanoseconds now, std::uint32_t index, const std::string& text) {
    if (now < scenario_.trace_from) {
      return;
    }
    std::array<char, 32> time{};
    std::snprintf(time.data(),
                  time.size(),
                  "%9.1f ",
                  static_cast<double>(now) / static_cast<double>(kMicrosecond));
    outcome_.trace += time.data() + client(index).name + " " + text + "\n";
  }
  [[nodiscard]] static std::string microseconds(Nanoseconds time) {
    std::array<char, 32> text{};
    std::snprintf(text.data(),
                  text.size(),
                  "%.1f",
                  static_cast<double>(time) / static_cast<double>(kMicrosecond));
    return text.data();
  }

  [[nodiscard]] Nanoseconds next_time(Nanoseconds now) const {
    Nanoseconds next = device_.next_change();
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
      if (!silent(index, now)) {
        next = std::min(next, states_[index].wake);
        next = std::min(next, std::max(now, client(index).dies_at));
      }
    }
    return next;
  }

  void wake_waiting(Nanoseconds now) {
    for (ClientState& state : states_) {
      state.wake = state.held ? now : state.wake;
    }
  }

  void step(Nanoseconds now) {
    for (const SimulatedLaunch& launch : device_.advance(now)) {
      finish(launch, now);
    }
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
      if (!states_[index].gone && now >= client(index).dies_at) {
        die(index, now);
      }
    }
    for (std::uint32_t index = 0; index < states_.size(); ++index) {
      if (!silent(index, now) && states_[index].wake <= now) {
        act(index, now);
      }
    }
  }

  void die(std::uint32_t index, Nanoseconds now) {
    states_[index].gone = true;
    device_.remove(index, now);
    trace(now, index, "dies");
    if (client(index).death_is_seen) {
      gate_->apply({.kind = EventKind::Died, .client = index, .now = now});
      wake_waiting(now);
    }
  }

  void finish(const SimulatedLaunch& launch, Nanoseconds now) {
    ClientState& state = states_[launch.client];
    const LaunchedWork done = state.launched.front();
    state.launched.pop_front();
    outcome_.clients[launch.client].done_ns += launch.true_ns;
    if (silent(launch.client, now)) {
      return;  // the gate does not learn of it
    }
    gate_->apply({.kind = EventKind::Finished,
                  .client = launch.client,
                  .now = now,
                  .work = done.work,
                  .decision = done.decision,
                  .measured_ns = launch.true_ns});
    const bool all_launched = state.next_kernel == client(launch.client).kernels.size();
    if (state.launched.empty() && state.in_request && all_launched) {
      end_request(launch.client, now);
    }
    if (state.wake == kNever) {
      state.wake = now;
    }
    wake_waiting(now);
  }

  void end_request(std::uint32_t index, Nanoseconds now) {
    ClientState& state = states_[index];
    state.in_request = false;
    state.next_kernel = 0;
    state.wake = now;
    if (client(index).declares) {
      gate_->apply({.kind = EventKind::RequestEnded, .client = index, .now = now});
    }
    if (is_slo(index)) {
      const Nanoseconds latency = now - client(index).arrivals[state.next_arrival - 1];
      outcome_.clients[index].latencies.push_back(latency);
      trace(now, index, "request ends after " + microseconds(latency));
    }
  }

  // False if there is nothing to launch now.
  bool begin_request(std::uint32_t index, Nanoseconds now) {
    ClientState& state = states_[index];
    Nanoseconds arrival = now;
    if (is_slo(index)) {
      const std::vector<Nanoseconds>& arrivals = client(index).arrivals;
      const bool none = state.next_arrival == arrivals.size();
      if (none || arrivals[state.next_arrival] > now) {
        state.wake = none ? kNever : arrivals[state.next_arrival];
        return false;
      }
      arrival = arrivals[state.next_arrival++];
      outcome_.arrivals.push_back({.now = now, .best_effort_left = device_.best_effort_left(now)});
      trace(now, index, "request arrives");
    }
    state.in_request = true;
    if (client(index).declares) {
      gate_->apply(
          {.kind = EventKind::RequestBegan, .client = index, .now = now, .arrival = arrival});
    }
    return true;
  }

  void act(std::uint32_t index, Nanoseconds now) {
    ClientState& state = states_[index];
    if (!state.in_request && !begin_request(index, now)) {
      return;
    }
    const bool waits_for_end = is_slo(index) || client(index).declares;
    if (state.next_kernel == client(index).kernels.size()) {
      if (waits_for_end) {
        state.wake = kNever;
        return;
      }
      state.next_kernel = 0;
    }
    if (state.launched.size() >= kMostAhead) {
      state.wake = kNever;
      return;
    }
    const SimulatedKernel& kernel = client(index).kernels[state.next_kernel];
    Work work = kernel.work;
    work.client = index;
    if (!work.known) {
      gate_->belief().estimate(work, {});
    }
    const Decision decision = gate_->ask(work, now);
    if (decision.admitted) {
      launch(index, kernel, work, decision, now);
    } else {
      wait(index, kernel, decision, now);
    }
  }

  void wait(std::uint32_t index,
            const SimulatedKernel& kernel,
            const Decision& decision,
            Nanoseconds now) {
    ClientState& state = states_[index];
    if (!state.held) {
      state.held_since = now;
    }
    if (!state.held || state.reason != decision.reason) {
      trace(now, index, "hold " + kernel.name + ": " + std::string(name_of(decision.reason)));
    }
    state.held = true;
    state.reason = decision.reason;
    state.wake = decision.until;
  }

  void launch(std::uint32_t index,
              const SimulatedKernel& kernel,
              const Work& work,
              const Decision& decision,
              Nanoseconds now) {
    ClientState& state = states_[index];
    ClientOutcome& seen = outcome_.clients[index];
    if (!is_slo(index)) {
      outcome_.admissions.push_back({.client = index,
                                     .now = now,
                                     .work = work,
                                     .decision = decision,
                                     .view = gate_->view(work, now)});
    }
    std::string text = "launch " + kernel.name;
    if (!is_slo(index)) {
      text += " bound " + microseconds(work.bound_ns);
    }
    text += decision.sms > 0 ? ", on " + std::to_string(decision.sms) + " SMs" : "";
    text += decision.low_priority ? ", low priority" : "";
    text += decision.by_minimum_share ? ", minimum share" : "";
    text += state.held ? ", held " + microseconds(now - state.held_since) : "";
    trace(now, index, text);
    if (state.held) {
      seen.longest_hold = std::max(seen.longest_hold, now - state.held_since);
    }
    state.held = false;
    ++seen.launches;
    seen.last_admitted = now;
    gate_->apply({.kind = EventKind::Submitted,
                  .client = index,
                  .now = now,
                  .work = work,
                  .decision = decision});
    state.launched.push_back({.id = ++launches_, .work = work, .decision = decision});
    device_.launch({.id = launches_,
                    .client = index,
                    .slo = is_slo(index),
                    .true_ns = kernel.true_ns,
                    .bound_ns = work.bound_ns,
                    .sms = work.sms,
                    .sms_limit = decision.sms},
                   now);
    ++state.next_kernel;
    state.wake = now + client(index).host_ns;
  }

  Scenario scenario_;
  std::unique_ptr<Gate> gate_;
  SimulatedDevice device_;
  std::vector<ClientState> states_;
  Outcome outcome_;
  std::uint64_t launches_ = 0;
};

}  // namespace

Outcome simulate(const Scenario& scenario) {
  return Simulation(scenario).run();
}

}  // namespace carpool::interpose::gate
