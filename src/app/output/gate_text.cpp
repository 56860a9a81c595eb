#include "app/output/gate_text.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"
#include "core/latency.hpp"

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

namespace {

// Of a job that gives way or has an SLO.
std::string why_no_report(const json& job, const json& status) {
  const bool has_begun = !job.value("attempts", json::array()).empty();
  const std::string state = job.value("state", "");
  if (status.value("mode", "") == "simulated") {
    return "the server simulates its GPUs, and runs no program";
  }
  if (job.value("class", "") == "slo" && !job.contains("slo_ms")) {
    return "it states no latency, as --slo does";
  }
  if (state == "queued" || state == "held") {
    return has_begun ? "it waits to start again" : "it has not started yet";
  }
  if (state != "running" && state != "stopping") {
    return has_begun ? "it has ended, and reported none or the server keeps its report no longer"
                     : "it ended before it started";
  }
  if (!status.value("library", false)) {
    return "the server runs without the library in front of the driver";
  }
  if (has_begun && job.at("attempts").back().value("mechanism", "") == "none") {
    return "it has its GPUs to itself, and so runs without the library in front of the driver";
  }
  return accepts_shim(job.value("env", Environment::Map()))
             ? "no process of it has used a GPU with the library in front of the driver yet"
             : "its environment keeps the library in front of the driver out";
}

}  // namespace

std::string job_holds_text(const json& job, const json& status) {
  const std::string who = fmt::format("Job {}", job.at("id").get<std::int64_t>());
  if (job.contains("gate")) {
    return holds_text(who, job.at("gate"));
  }
  const std::string job_class = job.value("class", "");
  if (job_class == "normal") {
    return fmt::format("{} is of class normal: its launches do not wait, and it has no SLO\n", who);
  }
  return fmt::format("{} of class {} has no report of its {}: {}\n",
                     who,
                     job_class,
                     job_class == "slo" ? "requests" : "waits",
                     why_no_report(job, status));
}

}  // namespace carpool::app
