#include "simulate/trace/trace_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace carpool::simulate {
namespace {

constexpr double kSecondsPerMinute = 60.0;
constexpr std::int64_t kMostGpusOfJob = 1024;
constexpr double kLongest = 1e9;  // seconds; thirty years
constexpr double kMostMib = 16.0 * 1024.0 * 1024.0;

std::uint64_t mib(double value) {
  return static_cast<std::uint64_t>(value) * kMebibyte;
}

}  // namespace

Result<void> TraceReader::find_columns() {
  for (const auto& [column, names] :
       {std::pair(&submit_, std::vector<std::string_view>{"submit_s"}),
        std::pair(&workload_, std::vector<std::string_view>{"workload", "task"}),
        std::pair(&time_, std::vector<std::string_view>{"solo_s", "exec_min_best"}),
        std::pair(&peak_, std::vector<std::string_view>{"peak_mem_mib", "gpu_mem_mib"})}) {
    const auto found = std::ranges::find_if(
        names, [&](std::string_view name) { return table_.find(name).has_value(); });
    if (found == names.end()) {
      return invalid_input(
          fmt::format("{}:1: no column {}; a trace needs submit_s, workload or "
                      "task, solo_s or exec_min_best, peak_mem_mib or "
                      "gpu_mem_mib",
                      table_.file,
                      names.front()));
    }
    *column = *table_.find(*found);
  }
  minutes_ = table_.header[time_] == "exec_min_best";
  return {};
}

Result<TraceJob> TraceReader::read(const dataset::CsvRow& row) const {
  TraceJob job{.workload = row.fields[workload_]};
  if (job.workload.empty()) {
    return table_.reject(row, workload_, "is empty; expected the name of a workload");
  }
  const auto submit = within(row, submit_, 0.0, kLongest, "seconds");
  const auto time = within(row,
                           time_,
                           1e-3,
                           minutes_ ? kLongest / kSecondsPerMinute : kLongest,
                           minutes_ ? "a run time in minutes" : "a run time in seconds");
  const auto peak = within(row, peak_, 1.0, kMostMib, "MiB");
  for (const auto* number : {&submit, &time, &peak}) {
    if (!*number) {
      return tl::unexpected(number->error());
    }
  }
  job.submit_s = *submit;
  job.solo_s = *time * (minutes_ ? kSecondsPerMinute : 1.0);
  job.peak_bytes = mib(*peak);
  if (auto rest = read_optional(row, job); !rest) {
    return tl::unexpected(rest.error());
  }
  if (job.early_bytes == 0 || job.early_bytes > job.peak_bytes) {
    job.early_bytes = job.peak_bytes;
  }
  return job;
}

Result<double> TraceReader::within(const dataset::CsvRow& row,
                                   std::size_t column,
                                   double least,
                                   double most,
                                   std::string_view expected) const {
  auto value = table_.number(row, column, expected);
  if (value && !(*value >= least && *value <= most)) {
    return table_.reject(
        row,
        column,
        fmt::format(
            "{} is not from {:.10g} to {:.10g}; expected {}", *value, least, most, expected));
  }
  return value;
}

Result<std::optional<double>> TraceReader::maybe(const dataset::CsvRow& row,
                                                 std::string_view name,
                                                 double most,
                                                 std::string_view expected) const {
  const auto column = table_.find(name);
  if (!column || row.fields[*column].empty()) {
    return std::nullopt;
  }
  const auto value = within(row, *column, 0.0, most, expected);
  if (!value) {
    return tl::unexpected(value.error());
  }
  return std::optional(*value);
}

Result<void> TraceReader::read_optional(const dataset::CsvRow& row, TraceJob& job) const {
  if (const auto column = table_.find("gpus"); column && !row.fields[*column].empty()) {
    const auto gpus = table_.integer(row, *column, "a number of GPUs", 1, kMostGpusOfJob);
    if (!gpus) {
      return tl::unexpected(gpus.error());
    }
    job.gpus = static_cast<unsigned>(*gpus);
  }
  for (const auto& [name, value] : {std::pair("smact", &job.sm_active),
                                    std::pair("smocc", &job.sm_occupancy),
                                    std::pair("drama", &job.dram_active)}) {
    const auto read = maybe(row, name, 1.0, "a ratio");
    if (!read) {
      return tl::unexpected(read.error());
    }
    *value = read->value_or(0.0);
  }
  std::optional<std::uint64_t> early;
  for (const auto& [name, bytes] : {std::pair("est_horus_mib", &job.horus_bytes),
                                    std::pair("est_faketensor_mib", &job.faketensor_bytes),
                                    std::pair("est_gpumemnet_mib", &job.gpumemnet_bytes),
                                    std::pair("early_mem_mib", &early)}) {
    const auto read = maybe(row, name, kMostMib, "MiB");
    if (!read) {
      return tl::unexpected(read.error());
    }
    if (*read) {
      *bytes = mib(**read);
    }
  }
  job.early_bytes = early.value_or(0);
  const auto user = maybe(row, "uid", 4294967295.0, "a user id");
  if (!user) {
    return tl::unexpected(user.error());
  }
  job.uid = static_cast<std::uint32_t>(user->value_or(job.uid));
  return {};
}

}  // namespace carpool::simulate
