#include "simulate/trace/trace.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "dataset/csv.hpp"
#include "simulate/csv_field.hpp"
#include "simulate/draws.hpp"
#include "simulate/trace/trace_estimates.hpp"
#include "simulate/trace/trace_reader.hpp"

namespace carpool::simulate {

Result<Trace> parse_trace(std::string_view text, const std::string& file) {
  const auto table = dataset::parse_csv(text, file);
  if (!table) {
    return tl::unexpected(table.error());
  }
  TraceReader reader(*table);
  if (auto found = reader.find_columns(); !found) {
    return tl::unexpected(found.error());
  }
  Trace trace{.name = std::filesystem::path(file).stem().string()};
  for (const dataset::CsvRow& row : table->rows) {
    auto job = reader.read(row);
    if (!job) {
      return tl::unexpected(job.error());
    }
    trace.jobs.push_back(std::move(*job));
  }
  if (trace.jobs.empty()) {
    return invalid_input(fmt::format("{}: the trace has no jobs", table->file));
  }
  sort_by_submission(trace);
  return trace;
}

Result<Trace> read_trace(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto trace = parse_trace(*text, path.string());
  if (!trace) {
    return trace;
  }
  if (auto added = add_trace_estimates(path.parent_path(), *trace); !added) {
    return tl::unexpected(added.error());
  }
  return trace;
}

void sort_by_submission(Trace& trace) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(trace.jobs.size());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    order.emplace_back(trace.jobs[i].submit_s, i);
  }
  std::ranges::sort(order);
  std::vector<TraceJob> sorted;
  sorted.reserve(order.size());
  for (const auto& [at, index] : order) {
    sorted.push_back(std::move(trace.jobs[index]));
  }
  trace.jobs = std::move(sorted);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + '"';
}

std::string trace_csv(const Trace& trace) {
  std::string text =
      "submit_s,workload,gpus,solo_s,peak_mem_mib,early_mem_mib,smact,smocc,drama,"
      "est_horus_mib,est_faketensor_mib,est_gpumemnet_mib,uid\n";
  const auto mib = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? fmt::format("{}", *bytes / kMebibyte) : std::string();
  };
  // Tenths of a second, and never 0, which is not a run time.
  const auto run_time = [](double seconds) {
    return seconds < 1.0 ? fmt::format("{:g}", seconds) : fmt::format("{:.1f}", seconds);
  };
  for (const TraceJob& job : trace.jobs) {
    text += fmt::format("{:.1f},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{},{},{},{}\n",
                        job.submit_s,
                        csv_field(job.workload),
                        job.gpus,
                        run_time(job.solo_s),
                        job.peak_bytes / kMebibyte,
                        job.early_bytes / kMebibyte,
                        job.sm_active,
                        job.sm_occupancy,
                        job.dram_active,
                        mib(job.horus_bytes),
                        mib(job.faketensor_bytes),
                        mib(job.gpumemnet_bytes),
                        job.uid);
  }
  return text;
}

Trace shuffled(const Trace& trace, std::uint64_t seed) {
  Trace other = trace;
  for (std::size_t i = other.jobs.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(draw_uniform(seed, i, 0) * static_cast<double>(i));
    std::swap(other.jobs[i - 1], other.jobs[std::min(j, i - 1)]);
  }
  for (std::size_t i = 0; i < other.jobs.size(); ++i) {
    other.jobs[i].submit_s = trace.jobs[i].submit_s;
  }
  return other;
}

}  // namespace carpool::simulate
