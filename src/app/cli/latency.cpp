#include "app/cli/latency.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "app/cli/option_set.hpp"
#include "base/text/names.hpp"
#include "core/latency.hpp"
#include "interpose/gate/policy.hpp"

namespace carpool::app {
namespace {

OptionCheck latency_with_unit() {
  return [](const std::string& text) {
    const auto latency = parse_latency_ms(text);
    return latency ? std::string() : latency.error().message;
  };
}

// People who think in percent write 99 or 99.9.
OptionCheck quantile_of_the_tail() {
  return [](const std::string& text) {
    double value = 0.0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool number = problem == std::errc() && end == text.data() + text.size();
    if (number && can_be_promised(value)) {
      return std::string();
    }
    return number && can_be_promised(value / 100.0)
               ? fmt::format("{} is not between 0 and 1; write {:g}", text, value / 100.0)
               : fmt::format(
                     "\"{}\" is not a number from 0.6 to 0.999 with at most three digits, "
                     "such as 0.99; the median is always shown",
                     text);
  };
}

OptionCheck policy_of_the_gate() {
  return [](const std::string& text) { return problem_of_gate_policy(text); };
}

}  // namespace

std::string problem_of_gate_policy(const std::string& text) {
  if (interpose::gate::choose_policy(text).policy != nullptr) {
    return {};
  }
  const std::string name = text.substr(0, text.find(':'));
  const auto found = find_named(interpose::gate::policies(), "gate policy", name);
  if (!found) {
    return found.error().message;
  }
  return (*found)->takes_limit
             ? fmt::format("\"{}\" has no limit of 1 to 100 percent; write {}:50", text, name)
             : fmt::format("the policy {0} takes no limit; write {0}", name);
}

Result<double> parse_latency_ms(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"us", 1e-3}, {"ms", 1.0}, {"s", 1e3}}};
  double value = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (problem == std::errc() && std::isfinite(value) && value > 0.0) {
    if (unit.empty()) {
      return invalid_input(
          fmt::format("{0} has no unit; write {0}ms for milliseconds or {0}s for seconds", text));
    }
    for (const auto& [name, in_ms] : kUnits) {
      if (unit == name && value * in_ms >= kLeastSloMs && value * in_ms <= kMostSloMs) {
        return value * in_ms;
      }
    }
  }
  return invalid_input(fmt::format(
      "\"{}\" is not a latency in us, ms or s, from 1us to 3600s; write 20ms, 0.5s or 800us",
      text));
}

void add_latency_settings(OptionSet& options, LatencySettings& latency) {
  options.option(
      "--slo",
      &latency.slo,
      "LATENCY",
      "Keep the requests of the program within this latency, 20ms or 0.5s: programs with "
      "--best-effort on the GPU wait for them",
      {.check = latency_with_unit()});
  options.option("--quantile",
                 &latency.quantile,
                 "SHARE",
                 "With --slo: share of the requests that keep it, 0.6 to 0.999 (default: 0.99)",
                 {.check = quantile_of_the_tail(), .needs = "--slo"});
  options.flag("--best-effort",
               latency.best_effort,
               "Let requests of programs with --slo go first: launches wait where they would delay "
               "them",
               {.excludes = "--slo"});
  options.option("--policy",
                 &latency.policy,
                 "POLICY",
                 "With --best-effort: which launches wait, by a policy of the gate: spacetime "
                 "(default), time, or another one that carpool policies lists; hami:50 limits the "
                 "program to 50 percent of the GPU's time",
                 {.check = policy_of_the_gate(),
                  .examples = listed_names(interpose::gate::policies()),
                  .needs = "--best-effort"});
}

}  // namespace carpool::app
