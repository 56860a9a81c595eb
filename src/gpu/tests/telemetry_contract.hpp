// What holds for every TelemetrySource. A test program that wants the suite compiles
// telemetry_contract.cpp and says over which sources it runs.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "core/telemetry_source.hpp"

namespace carpool::gpu {

struct TelemetryCase {
  std::string name;
  std::function<Result<std::unique_ptr<TelemetrySource>>()> open;
  // Lets this much time pass for the source that was opened.
  std::function<void(TelemetrySource&, std::chrono::milliseconds)> pass;
  std::string skip_because{};  // not empty: the case is skipped
  bool keeps_time = true;      // not a replay, whose spans are those of the recording
};

// For GoogleTest, which prints a case as its bytes otherwise.
std::ostream& operator<<(std::ostream& out, const TelemetryCase& telemetry);

// Defined by each test program.
[[nodiscard]] std::vector<TelemetryCase> telemetry_cases();

}  // namespace carpool::gpu
