// Readings of GPUs as a table with footnotes, and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/top/gpu_watch.hpp"

namespace carpool::app {

// "139.8" from bytes, in GiB.
[[nodiscard]] std::string gib(std::uint64_t bytes);

// "power-cap, thermal"; "no" when nothing holds the clocks down.
[[nodiscard]] std::string throttle_words(const GpuSample& sample);

// Whether a coarser counter stands in for that value ("dram_active").
[[nodiscard]] bool stands_in(const GpuActivity& activity, std::string_view value);

// One row a GPU.
[[nodiscard]] std::string gpu_table(const std::vector<GpuReading>& gpus, bool colour);

// One row a process and GPU; one sentence where there is none.
[[nodiscard]] std::string process_table(const std::vector<GpuReading>& gpus, bool colour);

// What a reader of the table has to know: stand-ins, absent counters, MIG, GPUs that do not answer.
[[nodiscard]] std::vector<std::string> gpu_footnotes(const std::vector<GpuReading>& gpus);

// An array, one object a GPU: what stays the same, then "sample", "activity" and "processes" as in
// a recording. Absent values are absent keys; "problem" is there when the GPU does not answer.
[[nodiscard]] nlohmann::json gpus_to_json(const std::vector<GpuReading>& gpus);

}  // namespace carpool::app
