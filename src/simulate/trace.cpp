#include "simulate/trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/file.hpp"
#include "dataset/csv.hpp"
#include "simulate/draws.hpp"

namespace carpool {
namespace {

constexpr double kSecondsPerMinute = 60.0;
constexpr std::int64_t kMostGpus = 1024;
constexpr double kLongest = 1e9;  // seconds; thirty years
constexpr double kMostMib = 16.0 * 1024.0 * 1024.0;

// What aegis_estimates.csv beside the trace says of a workload.
struct Facts {
  std::optional<std::uint64_t> horus, faketensor, gpumemnet, early;
};

class TraceReader {
 public:
  explicit TraceReader(const CsvTable& table) : table_(table) {}

  Result<void> find_columns() {
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

  [[nodiscard]] Result<TraceJob> read(const CsvRow& row) const {
    TraceJob job{.workload = row.fields[workload_]};
    if (job.workload.empty()) {
      return table_.reject(row, workload_, "is empty; expected the name of a workload");
    }
    const auto submit = within(row, submit_, 0.0, kLongest, "seconds, 0 or more");
    const auto time = within(row, time_, 1e-3, kLongest, "a run time above 0");
    const auto peak = within(row, peak_, 1.0, kMostMib, "MiB, 1 or more");
    for (const auto* number : {&submit, &time, &peak}) {
      if (!*number) {
        return tl::unexpected(number->error());
      }
    }
    job.submit_s = *submit;
    job.alone_s = *time * (minutes_ ? kSecondsPerMinute : 1.0);
    job.peak_bytes = mib(*peak);
    if (auto rest = read_optional(row, job); !rest) {
      return tl::unexpected(rest.error());
    }
    if (job.early_bytes == 0 || job.early_bytes > job.peak_bytes) {
      job.early_bytes = job.peak_bytes;
    }
    return job;
  }

 private:
  static std::uint64_t mib(double value) { return static_cast<std::uint64_t>(value) * kMebibyte; }

  [[nodiscard]] Result<double> within(const CsvRow& row,
                                      std::size_t column,
                                      double least,
                                      double most,
                                      std::string_view expected) const {
    auto value = table_.number(row, column, expected);
    if (value && !(*value >= least && *value <= most)) {
      return table_.reject(
          row, column, fmt::format("{} is out of range; expected {}", *value, expected));
    }
    return value;
  }

  // Empty fields and missing columns are not said.
  [[nodiscard]] Result<std::optional<double>> maybe(const CsvRow& row,
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

  [[nodiscard]] Result<void> read_optional(const CsvRow& row, TraceJob& job) const {
    if (const auto column = table_.find("gpus"); column && !row.fields[*column].empty()) {
      const auto gpus = table_.integer(row, *column, "a number of GPUs", 1, kMostGpus);
      if (!gpus) {
        return tl::unexpected(gpus.error());
      }
      job.gpus = static_cast<unsigned>(*gpus);
    }
    for (const auto& [name, value] : {std::pair("smact", &job.sm_active),
                                      std::pair("smocc", &job.sm_occupancy),
                                      std::pair("drama", &job.dram_active)}) {
      const auto read = maybe(row, name, 1.0, "a ratio of 0 to 1");
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

  const CsvTable& table_;
  std::size_t submit_ = 0;
  std::size_t workload_ = 0;
  std::size_t time_ = 0;
  std::size_t peak_ = 0;
  bool minutes_ = false;
};

Facts facts_of(const CsvTable& table, const CsvRow& row) {
  Facts facts;
  for (const auto& [name, value] : {std::pair("est_horus_mib", &facts.horus),
                                    std::pair("est_faketensor_mib", &facts.faketensor),
                                    std::pair("est_gpumemnet_mib", &facts.gpumemnet),
                                    std::pair("early_mem_mib", &facts.early)}) {
    const auto column = table.find(name);
    const auto number = column ? parse_number(row.fields[*column]) : std::nullopt;
    if (number && *number > 0.0) {
      *value = static_cast<std::uint64_t>(*number) * kMebibyte;
    }
  }
  return facts;
}

void fill_in(const Facts& facts, TraceJob& job) {
  job.horus_bytes = job.horus_bytes ? job.horus_bytes : facts.horus;
  job.faketensor_bytes = job.faketensor_bytes ? job.faketensor_bytes : facts.faketensor;
  job.gpumemnet_bytes = job.gpumemnet_bytes ? job.gpumemnet_bytes : facts.gpumemnet;
  if (facts.early && job.early_bytes == job.peak_bytes) {
    job.early_bytes = std::min(*facts.early, job.peak_bytes);
  }
}

// AEGIS's trace names workloads of which the estimates stand in a file of their own.
Result<void> add_estimates(const std::filesystem::path& folder, Trace& trace) {
  const std::filesystem::path path = folder / "aegis_estimates.csv";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {};
  }
  const auto table = read_csv(path);
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto name = table->require("workload");
  if (!name) {
    return tl::unexpected(name.error());
  }
  std::map<std::string, Facts> known;
  for (const CsvRow& row : table->rows) {
    known.insert_or_assign(row.fields[*name], facts_of(*table, row));
  }
  for (TraceJob& job : trace.jobs) {
    if (const auto found = known.find(job.workload); found != known.end()) {
      fill_in(found->second, job);
    }
  }
  return {};
}

}  // namespace

Result<Trace> parse_trace(std::string_view text, const std::string& file) {
  const auto table = parse_csv(text, file);
  if (!table) {
    return tl::unexpected(table.error());
  }
  TraceReader reader(*table);
  if (auto found = reader.find_columns(); !found) {
    return tl::unexpected(found.error());
  }
  Trace trace{.name = std::filesystem::path(file).stem().string()};
  for (const CsvRow& row : table->rows) {
    auto job = reader.read(row);
    if (!job) {
      return tl::unexpected(job.error());
    }
    trace.jobs.push_back(std::move(*job));
  }
  if (trace.jobs.empty()) {
    return invalid_input(fmt::format("{}: a trace without jobs", table->file));
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
  if (auto added = add_estimates(path.parent_path(), *trace); !added) {
    return tl::unexpected(added.error());
  }
  return trace;
}

// Of equals the first stays the first.
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

std::string trace_csv(const Trace& trace) {
  std::string text =
      "submit_s,workload,gpus,solo_s,peak_mem_mib,early_mem_mib,smact,smocc,drama,"
      "est_horus_mib,est_faketensor_mib,est_gpumemnet_mib,uid\n";
  const auto mib = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? fmt::format("{}", *bytes / kMebibyte) : std::string();
  };
  for (const TraceJob& job : trace.jobs) {
    text += fmt::format("{:.1f},{},{},{:.1f},{},{},{:.4f},{:.4f},{:.4f},{},{},{},{}\n",
                        job.submit_s,
                        job.workload,
                        job.gpus,
                        job.alone_s,
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

}  // namespace carpool
