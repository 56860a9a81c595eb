// Contract tests of TelemetrySource. A test program compiles telemetry_contract.cpp and defines the
// sources to test.
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
  // Lets time pass for the source.
  std::function<void(TelemetrySource&, std::chrono::milliseconds)> pass;
  std::string skip_because{};  // not empty: the case is skipped
  bool keeps_time = true;      // false for a replay, whose spans are recorded
};

// For GoogleTest, which would print a case as bytes.
std::ostream& operator<<(std::ostream& out, const TelemetryCase& telemetry);

// Defined by each test program.
[[nodiscard]] std::vector<TelemetryCase> telemetry_cases();

}  // namespace carpool::gpu
