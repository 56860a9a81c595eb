#include "app/output/gate_text.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

// Near 100 % the difference from it tells, elsewhere three digits. Rounded down: a share that
// misses its goal, which has a digit behind the point at most, is not printed as the goal.
std::string percent_of_requests(double share) {
  constexpr double kNearAll = 99.0;
  constexpr double kTwoDigits = 10.0;
  constexpr double kRounding = 1e-9;
  const double percent = 100.0 * share;
  if (percent < kTwoDigits) {
    return fmt::format("{:.3g}", percent);
  }
  const double parts = percent >= kNearAll ? 1000.0 : 10.0;
  return fmt::format("{:g}", std::floor(percent * parts * (1.0 + kRounding)) / parts);
}

}  // namespace

std::string promise_text(const json& gate) {
  if (!gate.contains("slo_ms")) {
    return {};
  }
  const double slo_ms = gate.at("slo_ms").get<double>();
  const double goal = 100.0 * gate.value("quantile", 0.0);
  if (!gate.contains("attainment")) {
    return fmt::format("{:g} % of the requests within {:g} ms; none has ended yet", goal, slo_ms);
  }
  std::string text = fmt::format("{} % of {} requests within {:g} ms (goal {:g} %)",
                                 percent_of_requests(gate.at("attainment").get<double>()),
                                 gate.value("requests", std::uint64_t{0}),
                                 slo_ms,
                                 goal);
  if (gate.contains("p50_ms")) {
    text += fmt::format("; p50 {:.3g} ms", gate.at("p50_ms").get<double>());
  }
  if (gate.contains("tail_ms")) {
    text += fmt::format(", p{:g} {:.3g} ms", goal, gate.at("tail_ms").get<double>());
  }
  return text;
}

std::string held_text(const json& gate) {
  if (!gate.contains("policy") && gate.at("holds").empty()) {
    return {};
  }
  if (gate.at("holds").empty()) {
    return "0 s: no launch has waited";
  }
  const auto waits = gate.value("held_launches", std::uint64_t{0});
  return fmt::format("{:.3g} s in {} {}, most: {}",
                     gate.value("held_s", 0.0),
                     waits,
                     waits == 1 ? "wait" : "waits",
                     gate.at("holds").front().value("text", ""));
}

std::string holds_text(std::string_view who, const json& gate) {
  std::string text;
  const std::string name = printable(who);
  if (const std::string promise = promise_text(gate); !promise.empty()) {
    text += fmt::format("{}: {}\n", name, promise);
  }
  if (const std::string held = held_text(gate); !held.empty()) {
    const std::string policy = gate.value("policy", "");
    text += fmt::format(
        "{}: held {}{}\n", name, held, policy.empty() ? "" : fmt::format(" (policy {})", policy));
  }
  for (const json& hold : gate.at("holds")) {
    text += fmt::format("  {:>9.3f} s  {:>9} x  {} ({})\n",
                        hold.value("held_s", 0.0),
                        hold.value("launches", std::uint64_t{0}),
                        hold.value("text", ""),
                        hold.value("reason", ""));
  }
  return text;
}

std::string job_holds_text(const json& job) {
  const std::string who = fmt::format("Job {}", job.at("id").get<std::int64_t>());
  if (job.contains("gate")) {
    return holds_text(who, job.at("gate"));
  }
  const std::string job_class = job.value("class", "");
  return job_class == "normal"
             ? fmt::format("{} is of class normal: its launches do not wait, and it has no SLO\n",
                           who)
             : fmt::format(
                   "{} of class {} reports nothing: the server runs without the library in front "
                   "of "
                   "the driver, the job has a GPU to itself, or no process of it has used a GPU "
                   "yet\n",
                   who,
                   job_class);
}

}  // namespace carpool::app
