#include "app/server/shim/gate_tally.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "interpose/gate/decision.hpp"
#include "interpose/gate/policy.hpp"

namespace carpool::app {
namespace {

using interpose::GateReport;

constexpr double kNsOfMs = 1e6;
constexpr double kNsOfSecond = 1e9;
constexpr double kSquareUsOfSquareMs = 1e6;
constexpr auto kKey = [](const auto& item) -> const GateTally::Key& { return item.first; };

void add_counts(GateReport& sum, const GateReport& part) {
  sum.requests += part.requests;
  sum.late_requests += part.late_requests;
  for (std::size_t i = 0; i < sum.holds.size(); ++i) {
    sum.holds[i] += part.holds[i];
    sum.held_ns[i] += part.held_ns[i];
  }
  if (takes_part(part)) {
    sum.policy = part.policy;
    sum.slo_ns = part.slo_ns;
    sum.quantile_millionths = part.quantile_millionths;
  }
}

std::optional<double> known_ms(std::uint64_t nanoseconds) {
  return nanoseconds > 0 ? std::optional(static_cast<double>(nanoseconds) / kNsOfMs) : std::nullopt;
}

// A newer library may have policies and reasons that this program does not know.
std::string policy_name(std::uint64_t number) {
  const auto known = interpose::gate::policies();
  return number == 0             ? std::string()
         : number > known.size() ? std::to_string(number - 1)
                                 : std::string(known[number - 1].name);
}

}  // namespace

bool takes_part(const GateReport& report) {
  return report.policy != 0 || report.slo_ns != 0;
}

void GateTally::look(std::map<Key, GateReport> clients) {
  for (const auto& [key, report] : clients_) {
    if (!clients.contains(key)) {
      add_counts(ended_, report);
    }
  }
  const bool same_processes = std::ranges::equal(clients_, clients, {}, kKey, kKey);
  clients_ = std::move(clients);
  if (!same_processes) {
    requests_then_.clear();
    for (const auto& [key, report] : clients_) {
      requests_then_[key] = report.requests;
    }
  }
}

std::uint64_t GateTally::lately(const Key& key, const GateReport& report) const {
  const std::uint64_t then = requests_then_.at(key);
  return report.requests - std::min(then, report.requests);
}

std::vector<const GateReport*> GateTally::serving() const {
  std::uint64_t most = 0;
  for (const auto& [key, report] : clients_) {
    most = std::max(most, lately(key, report));
  }
  constexpr std::uint64_t kIdle = 100;  // times fewer than the busiest
  std::vector<const GateReport*> made;
  for (const auto& [key, report] : clients_) {
    if (report.requests > 0 && lately(key, report) * kIdle >= most) {
      made.push_back(&report);
    }
  }
  return made;
}

GateReport GateTally::total() const {
  GateReport sum = ended_;
  for (const auto& [key, report] : clients_) {
    add_counts(sum, report);
  }
  for (const GateReport* report : serving()) {
    sum.p50_ns = std::max(sum.p50_ns, report->p50_ns);
    sum.tail_ns = std::max(sum.tail_ns, report->tail_ns);
    if (report->service_ns > sum.service_ns) {
      sum.service_ns = report->service_ns;
      sum.service_square_us2 = report->service_square_us2;
    }
  }
  return sum;
}

std::optional<MeasuredLatency> GateTally::latency() const {
  const GateReport sum = total();
  const serve::JobGate gate = gate_of(sum);
  MeasuredLatency made{.quantile = gate.quantile, .requests = sum.requests, .processes = 0};
  for (const GateReport* report : serving()) {
    if (report->slo_ns > 0) {
      made.fewest =
          made.processes == 0 ? report->requests : std::min(made.fewest, report->requests);
      ++made.processes;
    }
  }
  if (made.processes == 0 || !gate.p50_ms || !gate.tail_ms) {
    return std::nullopt;
  }
  made.p50_ms = *gate.p50_ms;
  made.tail_ms = *gate.tail_ms;
  made.service_ms = known_ms(sum.service_ns).value_or(0.0);
  made.service_square_ms2 = static_cast<double>(sum.service_square_us2) / kSquareUsOfSquareMs;
  return made;
}

serve::JobGate gate_of(const GateReport& report) {
  serve::JobGate gate{.policy = policy_name(report.policy),
                      .slo_ms = known_ms(report.slo_ns),
                      .quantile = static_cast<double>(report.quantile_millionths) / 1e6,
                      .requests = report.requests,
                      .late_requests = std::min(report.late_requests, report.requests),
                      .p50_ms = known_ms(report.p50_ns),
                      .tail_ms = known_ms(report.tail_ns)};
  for (std::uint32_t i = 1; i < report.holds.size(); ++i) {
    if (report.holds[i] == 0 && report.held_ns[i] == 0) {
      continue;
    }
    const bool known = i < interpose::gate::kHoldReasons;
    const auto reason = static_cast<interpose::gate::HoldReason>(i);
    gate.holds.push_back(
        {.reason = known ? std::string(name_of(reason)) : std::to_string(i),
         .words = known ? std::string(words_for(reason)) : "a reason of a newer library",
         .launches = report.holds[i],
         .seconds = static_cast<double>(report.held_ns[i]) / kNsOfSecond});
  }
  std::ranges::sort(gate.holds, [](const serve::JobGate::Hold& a, const serve::JobGate::Hold& b) {
    return std::tie(b.seconds, a.reason) < std::tie(a.seconds, b.reason);
  });
  return gate;
}

}  // namespace carpool::app
