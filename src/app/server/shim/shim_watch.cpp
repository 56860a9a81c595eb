#include "app/server/shim/shim_watch.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/launch/process_memory.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::app {
namespace {

interpose::StateReport shared_report(const std::string& folder,
                                     const std::string& uuid,
                                     uid_t uid) {
  interpose::StateReader state;
  interpose::StateReport report;
  if (state.open(folder, uuid, uid) != interpose::StateError::None ||
      state.read(report) != interpose::StateError::None) {
    return {};
  }
  return report;
}

std::string how_it_escapes(const std::vector<std::string>& processes) {
  return fmt::format(
      "{} of it {} the GPU without the library in front of the driver (setuid, linked statically, "
      "or started with a cleared environment); what NVML measures is reserved for the job",
      processes.empty() ? "a process" : fmt::format("{}", fmt::join(processes, ", ")),
      processes.size() > 1 ? "use" : "uses");
}

}  // namespace

std::vector<ShimTarget> shim_targets(const schedule::Scheduler& scheduler) {
  std::vector<ShimTarget> targets;
  for (const GpuView& gpu : scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      const JobRecord* record = scheduler.find(resident.job);
      if (record != nullptr && resident.mechanism != ShareMechanism::None) {
        targets.push_back({.job = resident.job,
                           .uid = user_of(record->owner),
                           .gpu = gpu.index,
                           .uuid = gpu.uuid});
      }
    }
  }
  return targets;
}

void ShimWatch::look(const std::vector<ShimTarget>& targets) {
  seen_.clear();
  std::erase_if(strange_, [&](const auto& entry) {
    return std::ranges::find(targets, entry.first.first, &ShimTarget::job) == targets.end();
  });
  std::erase_if(tallies_, [&](const auto& entry) {
    return std::ranges::find(targets, entry.first, &ShimTarget::job) == targets.end();
  });
  std::map<JobId, std::map<GateTally::Key, interpose::GateReport>> gates;
  std::map<std::pair<uid_t, std::string>, Shared> shared;
  for (const ShimTarget& target : targets) {
    const std::pair key{target.uid, target.uuid};
    const auto [place, is_new] = shared.try_emplace(key);
    if (is_new) {
      place->second.gpu = target.gpu;
      place->second.accountant = std::move(shared_[key].accountant);
      place->second.report =
          shared_report(place_.state_of(target.uid).string(), target.uuid, target.uid);
    }
    const interpose::StateReport& report = place->second.report;
    const auto number = static_cast<std::uint64_t>(target.job);
    if (std::ranges::find(report.jobs, number, &interpose::JobReport::job) == report.jobs.end()) {
      continue;
    }
    Seen& seen = seen_[{target.job, target.gpu}];
    for (const interpose::ClientReport& client : report.clients) {
      if (client.job == number) {
        ++seen.clients;
        seen.launches += client.launches + client.graph_launches;
        gates[target.job][{target.gpu, client.id.slot, client.id.generation}] = client.gate;
      }
    }
  }
  shared_ = std::move(shared);
  for (const ShimTarget& target : targets) {
    if (gates.contains(target.job) || tallies_.contains(target.job)) {
      tallies_[target.job].look(gates[target.job]);
    }
  }
}

std::vector<serve::JobGate> ShimWatch::gates() const {
  std::vector<serve::JobGate> out;
  for (const auto& [job, tally] : tallies_) {
    if (const interpose::GateReport total = tally.total(); takes_part(total)) {
      out.push_back(gate_of(total));
      out.back().job = job;
    }
  }
  return out;
}

void ShimWatch::measure(std::vector<GpuObservation>& seen) const {
  for (GpuObservation& gpu : seen) {
    for (GpuObservation::JobSeen& job : gpu.jobs) {
      if (const auto tally = tallies_.find(job.job); tally != tallies_.end()) {
        job.latency = tally->second.latency();
      }
    }
  }
}

void ShimWatch::account(const observe::SeenProcesses& processes) {
  slotless_.clear();
  for (auto& [key, shared] : shared_) {
    const auto& [uid, uuid] = key;
    interpose::StateReader state;
    interpose::StateReport after;
    if (shared.gpu >= processes.size() || !processes[shared.gpu] ||
        state.open(place_.state_of(uid).string(), uuid, uid) != interpose::StateError::None ||
        state.read(after) != interpose::StateError::None) {
      continue;
    }
    std::vector<interpose::ProcessMemory> memory;
    for (const observe::SeenProcess& seen : *processes[shared.gpu]) {
      memory.push_back(memory_of(seen.process));
    }
    const interpose::MemoryAccounts accounts = shared.accountant.add(shared.report, memory, after);
    // What cannot be written is written at the next look.
    static_cast<void>(interpose::write_accounts(state, accounts));
    remember_slotless(shared.gpu, accounts, *processes[shared.gpu]);
  }
}

// A job is of one user: the states of others do not tell of its processes.
void ShimWatch::remember_slotless(unsigned gpu,
                                  const interpose::MemoryAccounts& accounts,
                                  const std::vector<observe::SeenProcess>& processes) {
  for (const interpose::ProcessMemory& process : accounts.slotless) {
    const auto seen =
        std::ranges::find(processes, process.pid, [](const observe::SeenProcess& other) {
          return other.process.pid;
        });
    const std::pair key{seen->owner.job, gpu};
    if (seen->owner.kind == observe::ProcessOwner::Kind::Job && seen_.contains(key)) {
      Slotless& slotless = slotless_[key];
      if (holds_memory(process)) {
        slotless.told.push_back(process_text(process));
      } else {
        ++slotless.empty;
      }
    }
  }
}

std::vector<ShimEscape> ShimWatch::escaped(const std::vector<GpuObservation>& seen) {
  // A process that has just begun, or ended, is not yet, or still, known to one of the two.
  constexpr unsigned kLooks = 3;
  std::vector<ShimEscape> out;
  for (const GpuObservation& gpu : seen) {
    for (const GpuObservation::JobSeen& job : gpu.jobs) {
      const std::pair<JobId, unsigned> key{job.job, gpu.gpu};
      const auto known = seen_.find(key);
      const Slotless& slotless = slotless_[key];
      if (known == seen_.end() || job.processes <= known->second.clients + slotless.empty) {
        strange_.erase(key);
      } else if (++strange_[key] >= kLooks) {
        out.push_back({.job = job.job, .how = how_it_escapes(slotless.told)});
      }
    }
  }
  return out;
}

std::optional<std::uint64_t> ShimWatch::launches(JobId job) const {
  std::uint64_t sum = 0;
  unsigned clients = 0;
  for (auto place = seen_.lower_bound({job, 0}); place != seen_.end() && place->first.first == job;
       ++place) {
    sum += place->second.launches;
    clients += place->second.clients;
  }
  return clients > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace carpool::app
