#include "simulate/trace/trace_estimates.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "dataset/csv.hpp"

namespace carpool::simulate {
namespace {

// A row of aegis_estimates.csv.
struct Facts {
  std::optional<std::uint64_t> horus, faketensor, gpumemnet, early;
};

Facts facts_of(const dataset::CsvTable& table, const dataset::CsvRow& row) {
  Facts facts;
  for (const auto& [name, value] : {std::pair("est_horus_mib", &facts.horus),
                                    std::pair("est_faketensor_mib", &facts.faketensor),
                                    std::pair("est_gpumemnet_mib", &facts.gpumemnet),
                                    std::pair("early_mem_mib", &facts.early)}) {
    const auto column = table.find(name);
    const auto number = column ? dataset::parse_number(row.fields[*column]) : std::nullopt;
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

}  // namespace

Result<void> add_trace_estimates(const std::filesystem::path& folder, Trace& trace) {
  const std::filesystem::path path = folder / "aegis_estimates.csv";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {};
  }
  const auto table = dataset::read_csv(path);
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto name = table->require("workload");
  if (!name) {
    return tl::unexpected(name.error());
  }
  std::map<std::string, Facts> known;
  for (const dataset::CsvRow& row : table->rows) {
    known.insert_or_assign(row.fields[*name], facts_of(*table, row));
  }
  for (TraceJob& job : trace.jobs) {
    if (const auto found = known.find(job.workload); found != known.end()) {
      fill_in(found->second, job);
    }
  }
  return {};
}

}  // namespace carpool::simulate
