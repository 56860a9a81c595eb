// What to measure: workloads, which of them together, and how (docs/measuring.md).
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
  TimeSlicing,  // processes without it: the driver lets them take turns
  Streams,      // threads of one process, each with a stream of its own
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
  double seconds = 1.2;       // measured at least so long
  double warm_seconds = 0.3;  // all members running before the window opens
  std::uint64_t warm_steps = 2;
  std::uint64_t least_steps = 3;  // of every member inside the window, which grows until then
  double longest_seconds = 20.0;  // a group that needs longer fails
};

struct WorkerLimits {
  std::size_t resident = 24;     // processes kept ready at a time
  double start_seconds = 180.0;  // a worker that is not ready by then fails
  double end_seconds = 10.0;     // one told to end that is there longer is killed
  unsigned cpus_each = 0;        // cores a member runs on while it is measured; 0: wherever
};

// A family of groups, written to one table.
struct PlannedGroups {
  std::string table;  // name of the CSV file; empty: cells.csv alone
  Mechanism mechanism = Mechanism::Mps;
  std::vector<std::vector<std::size_t>> members;  // positions in Plan::workloads
  std::vector<std::vector<double>>
      thread_percentages;          // empty: 100 each; else every one for every group
  std::vector<bool> low_priority;  // empty: nobody; else by position
  std::size_t repeats = 1;
  double repeated_share = 0.0;  // of the groups, drawn by the seed, measured once more
};

struct Plan {
  std::string name;
  std::string throughput_unit = "samples/s";
  std::string provenance;
  unsigned gpu = 0;
  std::uint32_t seed = 0;
  std::vector<std::string> command;          // {workload} stands for a name
  std::vector<std::string> streams_command;  // {workloads} stands for one argument a name
  Window window;
  WorkerLimits workers;
  // Runs alone, spread over the whole run so that drift shows: of every workload under MPS without
  // a limit, and of every other kind of seat.
  std::size_t alone_repeats = 3;
  std::size_t limited_alone_repeats = 1;
  std::vector<PlannedWorkload> workloads;
  std::vector<PlannedGroups> groups;
};

// Unknown keys, wrong types, unknown workloads and impossible values are errors that name file and
// line.
[[nodiscard]] Result<Plan> parse_plan(std::string_view text, const std::string& file);

}  // namespace carpool::measure
