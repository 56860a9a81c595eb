#include "core/latency_words.hpp"

#include <fmt/format.h>

namespace carpool {
namespace {

// Three digits, as many as mean something.
std::string digits(double ms) {
  constexpr double kWhole = 100.0;
  return ms < kWhole ? fmt::format("{:.3g}", ms) : fmt::format("{:.0f}", ms);
}

}  // namespace

std::string quantile_name(double quantile) {
  constexpr double kPercent = 100.0;
  return fmt::format("p{:g}", kPercent * quantile);
}

std::string ms_words(double ms) {
  return digits(ms) + " ms";
}

std::string tail_words(const LatencyForecast& forecast, double quantile) {
  return fmt::format("{} {} ({} to {})",
                     quantile_name(quantile),
                     ms_words(forecast.tail_ms),
                     digits(forecast.tail90.low),
                     ms_words(forecast.tail90.high));
}

std::string basis_words(const LatencyForecast& forecast) {
  const std::string solo = fmt::format("from {} requests alone and ", forecast.requests);
  switch (forecast.basis) {
    case LatencyForecast::Basis::Gate:
      return solo + "what the gate lets in front of a request";
    case LatencyForecast::Basis::Interference:
      return solo + "the predicted slowdown";
    case LatencyForecast::Basis::Slices:
      return solo + "slices of time";
    case LatencyForecast::Basis::Measured:
      break;
  }
  return fmt::format("measured over {} requests", forecast.requests);
}

}  // namespace carpool
