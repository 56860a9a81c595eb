#include "app/output/gpu_table.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/output.hpp"
#include "app/output/text_table.hpp"
#include "base/text/memory_size.hpp"
#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;
constexpr std::size_t kGpuColumns = 13;
constexpr std::size_t kCommandWidth = 60;

struct ActivityColumn {
  std::string_view name;  // in JSON and in the list of substitute metrics
  std::string_view words;
  std::optional<double> GpuActivity::* value;
};
constexpr std::array kActivityColumns{
    ActivityColumn{"sm_active", "SM", &GpuActivity::sm_active},
    ActivityColumn{"sm_occupancy", "occ.", &GpuActivity::sm_occupancy},
    ActivityColumn{"dram_active", "DRAM", &GpuActivity::dram_active},
    ActivityColumn{"tensor_active", "tensor", &GpuActivity::tensor_active},
};

std::string whole(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

// A share from 0 to 1 as percent, with a star where a coarser counter replaces it.
std::string activity_cell(const GpuReading& gpu, const ActivityColumn& column) {
  if (!gpu.activity) {
    return "-";
  }
  const std::string text = percent((*gpu.activity).*column.value, 0);
  return is_substituted(*gpu.activity, column.name) ? text + "*" : text;
}

std::vector<std::string> gpu_row(const GpuReading& gpu) {
  std::vector<std::string> cells{std::to_string(gpu.info.index), gpu.info.name};
  if (!gpu.sample) {
    cells.push_back(fmt::format("- / {}", gib_number(gpu.info.memory_bytes)));
    cells.resize(kGpuColumns, "-");
    return cells;
  }
  const GpuSample& sample = *gpu.sample;
  cells.push_back(fmt::format(
      "{} / {}", gib_number(sample.memory_used_bytes), gib_number(gpu.info.memory_bytes)));
  cells.push_back(percent(sample.gpu_utilisation, 0));
  for (const ActivityColumn& column : kActivityColumns) {
    cells.push_back(activity_cell(gpu, column));
  }
  cells.push_back(
      fmt::format("{} / {}", whole(sample.power_watts), whole(gpu.info.power_limit_watts)));
  cells.push_back(whole(sample.temperature_celsius));
  cells.push_back(whole(sample.sm_clock_mhz));
  cells.push_back(throttle_words(sample));
  cells.push_back(std::to_string(gpu.processes.size()));
  return cells;
}

bool has_jobs(const std::vector<GpuReading>& gpus) {
  return std::ranges::any_of(gpus,
                             [](const GpuReading& gpu) { return gpu.jobs && !gpu.jobs->empty(); });
}

std::string mig_note(const GpuInfo& info) {
  if (info.mig.empty()) {
    return "MIG mode is on, but there is no MIG instance: no program can run on this GPU.";
  }
  std::vector<std::string> instances;
  instances.reserve(info.mig.size());
  for (const MigSlice& slice : info.mig) {
    instances.push_back(fmt::format("{} ({})", slice.profile, gib_text(slice.memory_bytes)));
  }
  return fmt::format("divided into MIG instances: {}.", fmt::join(instances, ", "));
}

// The note on "dram_active: memory utilisation"; empty for a value that the table does not show.
std::string substitute_note(const std::string& substitute) {
  const std::size_t colon = std::min(substitute.find(": "), substitute.size());
  for (const ActivityColumn& column : kActivityColumns) {
    if (substitute.substr(0, colon) == column.name) {
      return fmt::format(
          "* {} replaces {}: the share of time in which it was in use at all, not how much of it "
          "was in use.",
          substitute.substr(std::min(colon + 2, substitute.size())),
          column.words);
    }
  }
  return "";
}

std::vector<std::string> notes_of(const GpuReading& gpu) {
  std::vector<std::string> notes{gpu.problem};
  if (gpu.info.mig_enabled) {
    notes.push_back(mig_note(gpu.info));
  }
  if (gpu.sample && !gpu.info.fine_activity) {
    notes.emplace_back(
        "the driver provides no SM counters (GPM) for it; \"-\" marks unknown values.");
  }
  if (gpu.activity) {
    for (const std::string& substitute : gpu.activity->substitute_metrics) {
      notes.push_back(substitute_note(substitute));
    }
  }
  return notes;
}

// `jobs`: with the column of jobs.
std::vector<std::string> process_row(unsigned gpu, const NamedProcess& entry, bool jobs) {
  std::vector<std::string> cells{
      std::to_string(gpu),
      std::to_string(entry.process.pid),
      entry.name.user.empty() ? "-" : entry.name.user,
      percent(entry.sm_active, 0),
      entry.process.memory_bytes ? gib_number(*entry.process.memory_bytes) : "-",
      entry.process.mps_client ? "yes" : "no"};
  if (jobs) {
    cells.push_back(entry.job ? std::to_string(*entry.job) : "-");
  }
  cells.push_back(entry.name.command.empty() ? "-"
                                             : first_columns(entry.name.command, kCommandWidth));
  return cells;
}

}  // namespace

std::string throttle_words(const GpuSample& sample) {
  return sample.throttle_reasons.empty()
             ? "no"
             : fmt::format("{}", fmt::join(sample.throttle_reasons, ", "));
}

bool is_substituted(const GpuActivity& activity, std::string_view value) {
  const std::string start = fmt::format("{}:", value);
  return std::any_of(activity.substitute_metrics.begin(),
                     activity.substitute_metrics.end(),
                     [&](const auto& text) { return text.starts_with(start); });
}

std::string jobs_text(const std::vector<GpuJob>& jobs) {
  std::string text;
  for (const GpuJob& job : jobs) {
    text += fmt::format("{}{}{}{} ({}{})",
                        text.empty() ? "" : ", ",
                        job.id,
                        job.name.empty() ? "" : " ",
                        job.name,
                        job.user,
                        job.paused ? ", paused" : "");
  }
  return text;
}

std::string gpu_table(const std::vector<GpuReading>& gpus,
                      bool colour,
                      std::optional<std::size_t> columns) {
  TextTable table(colour);
  table.add_column("GPU", kRight);
  table.add_column("name", kLeft);
  table.add_column("memory [GiB]", kRight);
  table.add_column("util [%]", kRight);
  for (const ActivityColumn& column : kActivityColumns) {
    table.add_column(fmt::format("{} [%]", column.words), kRight);
  }
  table.add_column("power [W]", kRight);
  table.add_column("[°C]", kRight);
  table.add_column("SM [MHz]", kRight);
  table.add_column("throttled", kLeft);
  table.add_column("procs", kRight);
  const bool jobs = has_jobs(gpus);
  if (jobs) {
    table.add_column("jobs", kLeft, true);
  }
  for (const GpuReading& gpu : gpus) {
    std::vector<std::string> cells = gpu_row(gpu);
    if (jobs) {
      cells.push_back(jobs_text(gpu.jobs.value_or(std::vector<GpuJob>())));
    }
    table.add_row(std::move(cells));
  }
  return table.render(columns);
}

std::string process_table(const std::vector<GpuReading>& gpus, bool colour) {
  TextTable table(colour);
  table.add_column("GPU", kRight);
  table.add_column("pid", kRight);
  table.add_column("user", kLeft);
  table.add_column("SM [%]", kRight);
  table.add_column("memory [GiB]", kRight);
  table.add_column("MPS", kLeft);
  const bool jobs = has_jobs(gpus);
  if (jobs) {
    table.add_column("job", kRight);
  }
  table.add_column("command", kLeft);
  bool any = false;
  for (const GpuReading& gpu : gpus) {
    for (const NamedProcess& entry : gpu.processes) {
      any = true;
      table.add_row(process_row(gpu.info.index, entry, jobs));
    }
  }
  return any ? table.render() : "No process uses GPU memory.\n";
}

std::vector<std::string> gpu_footnotes(const std::vector<GpuReading>& gpus) {
  // GPUs with the same note share it.
  std::vector<std::pair<std::string, std::vector<unsigned>>> grouped;
  for (const GpuReading& gpu : gpus) {
    for (const std::string& note : notes_of(gpu)) {
      const auto same = [&](const auto& entry) { return entry.first == note; };
      auto place = std::find_if(grouped.begin(), grouped.end(), same);
      if (place == grouped.end()) {
        place = grouped.insert(grouped.end(), {note, {}});
      }
      place->second.push_back(gpu.info.index);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [note, indices] : grouped) {
    if (!note.empty()) {
      notes.push_back(fmt::format("GPU {}: {}", fmt::join(indices, ", "), note));
    }
  }
  return notes;
}

}  // namespace carpool::app
