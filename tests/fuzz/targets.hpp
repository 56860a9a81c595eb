// The fuzz targets: each takes any bytes and ends the program if what it tests breaks a promise.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

// One row per file NAME_fuzz.cpp.
#define CARPOOL_FUZZ_TARGETS(ROW) \
  ROW(activity)                   \
  ROW(dataset)                    \
  ROW(estimate)                   \
  ROW(exit_classifier)            \
  ROW(http)                       \
  ROW(job_files)                  \
  ROW(job_request)                \
  ROW(jobs)                       \
  ROW(measure)                    \
  ROW(model_files)                \
  ROW(mps_text)                   \
  ROW(packed_file)                \
  ROW(profile)                    \
  ROW(queries)                    \
  ROW(request_head)               \
  ROW(run_folder)                 \
  ROW(saved_model)                \
  ROW(settings)                   \
  ROW(shim_state)                 \
  ROW(steps)                      \
  ROW(supervisor_order)           \
  ROW(telemetry)                  \
  ROW(trace)                      \
  ROW(units)

namespace carpool::fuzz {

struct Target {
  std::string_view name;
  void (*feed)(std::string_view bytes);
};

#define CARPOOL_DECLARE(NAME) void feed_##NAME(std::string_view bytes);
CARPOOL_FUZZ_TARGETS(CARPOOL_DECLARE)
#undef CARPOOL_DECLARE

// Every target, by name.
[[nodiscard]] const std::vector<Target>& targets();
// Null: there is no such target.
[[nodiscard]] const Target* find_target(std::string_view name);

// A promise that does not hold ends the program, which is how a fuzzer notices.
void require(bool condition);

// An error says what is wrong.
template <class T>
void require_message(const Result<T>& result) {
  require(result.has_value() || !result.error().message.empty());
}

// A folder of this process in the temporary directory, for readers that take a path.
[[nodiscard]] const std::filesystem::path& scratch_folder();
// Replaces the content of a file in that folder.
[[nodiscard]] std::filesystem::path scratch_file(std::string_view name, std::string_view content);

// Splits "a\nb\nc" into lines, without their ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace carpool::fuzz
