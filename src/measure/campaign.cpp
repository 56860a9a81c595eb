#include "measure/campaign.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "measure/cell_run.hpp"
#include "measure/tables.hpp"
#include "measure/worker_pool.hpp"

namespace carpool::measure {
namespace {

Result<GpuInfo> find_gpu(TelemetrySource& telemetry, unsigned index) {
  auto gpus = telemetry.list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  const auto found = std::ranges::find(*gpus, index, &GpuInfo::index);
  if (found == gpus->end()) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("the plan names gpu = {}, but this machine has {} GPUs (see `carpool gpus`)",
                    index,
                    gpus->size()));
  }
  return *found;
}

// Whether the last attempt of each cell failed, by key.
std::map<std::string, bool> outcomes(std::span<const Measurement> measurements) {
  std::map<std::string, bool> failed;
  for (const Measurement& measurement : measurements) {
    failed[measurement.key] = measurement.failure.has_value();
  }
  return failed;
}

// Removes the cells of the batch; the others keep their order.
void remove_cells(const Batch& batch, const Plan& plan, std::vector<Cell>& cells) {
  std::set<std::string> taken;
  for (const Cell& cell : batch.cells) {
    taken.insert(key_of(cell, plan));
  }
  std::erase_if(cells, [&](const Cell& cell) { return taken.contains(key_of(cell, plan)); });
}

// Share of the GPU's memory that resident workers may hold: a step may need more for a moment.
constexpr double kResidentShare = 0.85;

class Campaign {
 public:
  Campaign(const Plan& plan,
           const CampaignOptions& options,
           TelemetrySource& telemetry,
           const CampaignEvents& events,
           Journal& journal,
           const GpuInfo& gpu)
      : plan_(plan),
        options_(options),
        telemetry_(telemetry),
        events_(events),
        journal_(journal),
        pool_(plan,
              {.gpu_uuid = gpu.uuid,
               .scratch = options.scratch,
               .mps_folder = options.mps_folder,
               .stop = [this] { return out_of_time(); }}) {
    memory_.limit =
        static_cast<std::uint64_t>(kResidentShare * static_cast<double>(gpu.memory_bytes));
    for (const Measurement& measurement : journal_.measurements()) {
      learn_memory(measurement);
    }
  }

  Result<void> run() {
    auto cells = remaining(plan_, journal_.measurements(), options_.retry_failed);
    events_.planned(cells.size());
    // One batch at a time: each shows how much memory its workers hold.
    while (!cells.empty()) {
      if (stopped_ = stopped_ || out_of_time(); stopped_) {
        break;
      }
      const Batch batch = into_batches(cells, plan_, memory_).front();
      remove_cells(batch, plan_, cells);
      events_.starting(fmt::format(
          "{} workers ({})", batch.members.size(), name_of(batch.members.front().mechanism)));
      if (auto prepared = pool_.prepare(batch); !prepared) {
        return prepared;
      }
      if (auto done = measure(batch); !done) {
        return done;
      }
    }
    return {};
  }

  [[nodiscard]] std::size_t measured() const { return measured_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  [[nodiscard]] bool out_of_time() const {
    return events_.stop() ||
           (options_.limit_seconds && spent_.seconds() >= *options_.limit_seconds);
  }

  void learn_memory(const Measurement& measurement) {
    for (const MemberResult& member : measurement.members) {
      const auto known =
          std::ranges::find(plan_.workloads, member.workload, &PlannedWorkload::name);
      if (known != plan_.workloads.end() && member.memory_bytes) {
        auto& most = memory_.of_workload[static_cast<std::size_t>(
            std::distance(plan_.workloads.begin(), known))];
        most = std::max(most, *member.memory_bytes);
      }
    }
  }

  Result<void> measure(const Batch& batch) {
    for (const Cell& cell : batch.cells) {
      if (stopped_ = out_of_time(); stopped_) {
        return {};
      }
      auto measurement = run_cell(cell, plan_, pool_, telemetry_, events_.stop);
      if (!measurement) {
        return tl::unexpected(measurement.error());
      }
      if (measurement->failure && measurement->failure->reason == kStopped) {
        stopped_ = true;
        return {};
      }
      ++measured_;
      learn_memory(*measurement);
      events_.measured(*measurement);
      if (auto written = journal_.append(std::move(*measurement)); !written) {
        return written;
      }
    }
    return {};
  }

  const Plan& plan_;
  const CampaignOptions& options_;
  TelemetrySource& telemetry_;
  const CampaignEvents& events_;
  Journal& journal_;
  Stopwatch spent_;
  WorkerPool pool_;
  WorkerMemory memory_;
  std::size_t measured_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::vector<Cell> remaining(const Plan& plan,
                            std::span<const Measurement> measurements,
                            bool retry_failed) {
  const std::map<std::string, bool> known = outcomes(measurements);
  std::vector<Cell> cells = expand(plan);
  std::erase_if(cells, [&](const Cell& cell) {
    const auto found = known.find(key_of(cell, plan));
    return found != known.end() && !(retry_failed && found->second);
  });
  return cells;
}

Result<CampaignOutcome> run_campaign(const Plan& plan,
                                     const CampaignOptions& options,
                                     TelemetrySource& telemetry,
                                     const CampaignEvents& events) {
  const auto gpu = find_gpu(telemetry, plan.gpu);
  if (!gpu) {
    return tl::unexpected(gpu.error());
  }
  auto journal = Journal::open(options.folder / kJournalName,
                               {.plan = plan.name,
                                .gpu = gpu->name,
                                .driver = gpu->driver,
                                .throughput_unit = plan.throughput_unit});
  if (!journal) {
    return tl::unexpected(journal.error());
  }
  CampaignOutcome outcome;
  {
    Campaign campaign(plan, options, telemetry, events, *journal, *gpu);
    auto ran = campaign.run();
    outcome.measured = campaign.measured();
    outcome.stopped = campaign.stopped();
    if (!ran) {
      // Measurements taken before the error are kept, tables included.
      static_cast<void>(
          write_tables(options.folder, {journal->origin(), journal->measurements()}, plan));
      return tl::unexpected(ran.error());
    }
  }
  const std::size_t missing = remaining(plan, journal->measurements(), false).size();
  outcome.planned = expand(plan).size();
  outcome.done = outcome.planned - missing;
  outcome.failed = remaining(plan, journal->measurements(), true).size() - missing;
  if (auto written =
          write_tables(options.folder, {journal->origin(), journal->measurements()}, plan);
      !written) {
    return tl::unexpected(written.error());
  }
  return outcome;
}

}  // namespace carpool::measure
