// Readings of GPUs as a table with footnotes, and as JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/top/gpu_watch.hpp"

namespace carpool::app {

// "power-cap, thermal"; "no" if the clocks are not throttled.
[[nodiscard]] std::string throttle_words(const GpuSample& sample);

// Whether a coarser counter replaces the value ("dram_active").
[[nodiscard]] bool is_substituted(const GpuActivity& activity, std::string_view value);

// "7 train.py (ada), 9 (bob, paused)".
[[nodiscard]] std::string jobs_text(const std::vector<GpuJob>& jobs);

// One row per GPU, with its jobs where there are any. `columns`: of the terminal; empty: no cell is
// cut.
[[nodiscard]] std::string gpu_table(const std::vector<GpuReading>& gpus,
                                    bool colour,
                                    std::optional<std::size_t> columns = std::nullopt);

// One row per process and GPU; a sentence if there is no process.
[[nodiscard]] std::string process_table(const std::vector<GpuReading>& gpus, bool colour);

// Notes under the table: substitute metrics, missing counters, MIG, GPUs that do not respond.
[[nodiscard]] std::vector<std::string> gpu_footnotes(const std::vector<GpuReading>& gpus);

// An array with one object per GPU: its constant properties, then "sample", "activity" and
// "processes" as in a recording, "jobs" of the server, and "clients" of the library in front of the
// driver. An unknown value has no key; "problem" is present if the GPU does not respond.
[[nodiscard]] nlohmann::json gpus_to_json(const std::vector<GpuReading>& gpus);

}  // namespace carpool::app
