// Latencies in words.
#pragma once

#include <string>

#include "core/latency.hpp"

namespace carpool {

// "p99", "p99.9"
[[nodiscard]] std::string quantile_name(double quantile);
// "12.4 ms"
[[nodiscard]] std::string ms_words(double ms);
// "p99 13 ms (11 to 16 ms)"
[[nodiscard]] std::string tail_words(const LatencyForecast& forecast, double quantile);
// "from 812 requests alone and what the gate lets in front of a request"
[[nodiscard]] std::string basis_words(const LatencyForecast& forecast);

}  // namespace carpool
