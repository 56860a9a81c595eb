// A measurement plan: the workloads, their groups, and how to measure them (docs/measuring.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::measure {

// How members of a group share the GPU.
enum class Mechanism {
  Mps,          // processes under one MPS server
  TimeSlicing,  // processes without MPS: the driver switches between them
  Streams,      // threads of one process, one stream each
};

[[nodiscard]] std::string_view name_of(Mechanism mechanism);

struct PlannedWorkload {
  std::string name;
  std::string model;
  std::string task;
  std::optional<double> batch;
  std::vector<std::string> command;  // empty: the plan's
};

struct Window {
  double seconds = 1.2;       // minimum length
  double warm_seconds = 0.3;  // all members run this long before the window opens
  std::uint64_t warm_steps = 2;
  std::uint64_t least_steps = 3;  // of each member; the window grows until then
  double longest_seconds = 20.0;  // a group that needs longer fails
};

struct WorkerLimits {
  std::size_t resident = 24;     // processes kept ready at a time
  double start_seconds = 180.0;  // time to become ready
  double end_seconds = 10.0;     // time to end before it is killed
  unsigned cpus_each = 0;        // CPU cores of each member while measured; 0: any
};

// A family of groups, written to one table.
struct PlannedGroups {
  std::string table;  // name of the CSV file; empty: only cells.csv
  Mechanism mechanism = Mechanism::Mps;
  std::vector<std::vector<std::size_t>> members;  // positions in Plan::workloads
  std::vector<std::vector<double>>
      thread_percentages;          // empty: 100 each; else each list for each group
  std::vector<bool> low_priority;  // empty: no member; else by position
  std::size_t repeats = 1;
  double repeated_share = 0.0;  // of the groups, drawn by the seed, measured once more
};

struct Plan {
  std::string name;
  std::string throughput_unit = "samples/s";
  std::string provenance;
  unsigned gpu = 0;
  std::uint32_t seed = 0;
  std::vector<std::string> command;          // {workload} is replaced by the name
  std::vector<std::string> streams_command;  // {workloads} is replaced by one argument per name
  Window window;
  WorkerLimits workers;
  // Solo runs, spread over the campaign so that drift shows: of each workload under MPS without
  // limits, and of each other kind of member.
  std::size_t solo_repeats = 3;
  std::size_t limited_solo_repeats = 1;
  std::vector<PlannedWorkload> workloads;
  std::vector<PlannedGroups> groups;
};

// Unknown keys, wrong types, unknown workloads and impossible values are errors that name file and
// line.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text, const std::string& file);

}  // namespace carpool::measure
