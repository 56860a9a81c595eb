#include "measure/cell_tables.hpp"

#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/table_text.hpp"

namespace carpool::measure {
namespace {

std::optional<double> of_solo(const MemberResult& member, const SoloRuns& solo) {
  const auto runs = solo.find(member.workload);
  if (runs == solo.end()) {
    return std::nullopt;
  }
  return member.throughput / solo_speed(runs->second);
}

std::string cell_row(const Measurement& run, std::size_t position, const SoloRuns& solo) {
  const MemberResult& member = run.members[position];
  const std::string memory =
      member.memory_bytes ? fmt::format("{}", *member.memory_bytes >> 20U) : std::string();
  std::string out = fmt::format("{},{},{},{},{},{},{},{},{},{},",
                                run.members.size() == 1 ? "alone" : run.table,
                                run.mechanism,
                                run.members.size(),
                                run.repeat,
                                position + 1,
                                member.workload,
                                digits(member.thread_percentage),
                                member.low_priority ? 1 : 0,
                                digits(member.throughput),
                                digits(of_solo(member, solo)));
  out += fmt::format("{},{},{},{},{},{},{},{},",
                     digits(member.steps.p50 * kMilliseconds),
                     digits(member.steps.p95 * kMilliseconds),
                     digits(member.steps.p99 * kMilliseconds),
                     memory,
                     digits(run.seconds),
                     digits(run.spent_seconds),
                     digits(run.power_watts),
                     digits(run.energy_joules));
  out += fmt::format("{},{},{},{},{},{},{},",
                     digits(run.activity.graphics_active),
                     digits(run.activity.sm_active),
                     digits(run.activity.sm_occupancy),
                     digits(run.activity.dram_active),
                     digits(run.activity.tensor_active),
                     digits(run.gpu_utilisation),
                     digits(run.sm_clock_mhz));
  return out + fmt::format("{},{}\n", fmt::join(run.throttle_reasons, " "), run.at);
}

std::string names(const Measurement& run) {
  std::string out;
  for (const MemberResult& member : run.members) {
    out += out.empty() ? "" : " + ";
    out += member.workload;
    out += member.thread_percentage < 100.0 ? fmt::format("@{}", member.thread_percentage) : "";
  }
  return out;
}

}  // namespace

std::string cells_table(std::span<const Measurement> measurements, const SoloRuns& solo) {
  std::string out =
      "table,mechanism,members,repeat,position,workload,mps_pct,low_priority,thr,of_alone,p50_ms,"
      "p95_ms,p99_ms,memory_mib,seconds,spent_seconds,power_w,energy_j,graphics_active,sm_active,"
      "sm_occupancy,"
      "dram_active,tensor_active,gpu_utilisation,sm_clock_mhz,throttling,at\n";
  for (const Measurement& run : measurements) {
    for (std::size_t i = 0; i < run.members.size() && !run.failure; ++i) {
      out += cell_row(run, i, solo);
    }
  }
  return out;
}

std::string failures_table(std::span<const Measurement> measurements) {
  std::map<std::string_view, const Measurement*> last;  // the last attempt of each cell
  for (const Measurement& run : measurements) {
    last[run.key] = &run;
  }
  std::string out = "table,mechanism,repeat,members,reason,message,at\n";
  for (const Measurement& run : measurements) {
    if (run.failure && last[run.key] == &run) {
      out += fmt::format("{},{},{},{},{},{},{}\n",
                         run.members.size() == 1 ? "alone" : run.table,
                         run.mechanism,
                         run.repeat,
                         quoted(names(run)),
                         run.failure->reason,
                         quoted(run.failure->message),
                         run.at);
    }
  }
  return out;
}

}  // namespace carpool::measure
