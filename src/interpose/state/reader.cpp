#include "interpose/state/reader.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/guard/checked_word.hpp"
#include "interpose/guard/owned_amount.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/state/process_facts.hpp"
#include "interpose/state/state_folder.hpp"
#include "interpose/state/tables.hpp"

namespace carpool::interpose {
namespace {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using PageCopy = std::unique_ptr<T, Freed>;

template <class T>
PageCopy<T> room_for() {
  const std::size_t pages = (sizeof(T) + kPage - 1) / kPage;
  return PageCopy<T>(static_cast<T*>(std::aligned_alloc(kPage, pages * kPage)));
}

using Jobs = decltype(SharedState::jobs);
using Clients = decltype(SharedState::clients);
using Kernels = decltype(SharedState::kernels);

bool is_orphaned(const ClientReport& client) {
  return client.pid_namespace == own_pid_namespace() &&
         start_ticks_of(client.pid) != client.start_ticks;
}

GateReport report_of(const ClientGate& gate) {
  GateReport report{.policy = gate.policy.load(),
                    .slo_ns = gate.slo_ns.load(),
                    .quantile_millionths = gate.quantile_millionths.load(),
                    .requests = gate.requests.load(),
                    .late_requests = gate.late_requests.load(),
                    .p50_ns = gate.p50_ns.load(),
                    .tail_ns = gate.tail_ns.load(),
                    .service_ns = gate.service_ns.load(),
                    .service_square_us2 = gate.service_square_us2.load()};
  for (std::size_t reason = 0; reason < kHoldWords; ++reason) {
    report.holds[reason] = gate.holds[reason].load();
    report.held_ns[reason] = gate.held_ns[reason].load();
  }
  return report;
}

ClientReport report_of(const ClientSlot& slot, std::uint32_t index) {
  const ClientCounters& counters = slot.counters;
  ClientReport report;
  report.id = {.slot = index, .generation = static_cast<std::uint16_t>(slot.generation.load())};
  report.pid = static_cast<pid_t>(slot.pid.load());
  report.pid_namespace = slot.pid_namespace.load();
  report.start_ticks = slot.start_ticks.load();
  report.orphaned = is_orphaned(report);
  report.name.assign(slot.name.data(), ::strnlen(slot.name.data(), slot.name.size()));
  report.job = slot.job.load();
  report.job_class = static_cast<JobClass>(slot.job_class.load() & 1U);
  report.launches = counters.launches.load();
  report.graph_launches = counters.graph_launches.load();
  report.graph_nodes = counters.graph_nodes.load();
  report.copies = counters.copies.load();
  report.copied_bytes = counters.copied_bytes.load();
  report.allocations = counters.allocations.load();
  report.refusals = counters.refusals.load();
  report.last_call_ns = counters.last_call_ns.load();
  report.used_bytes = amount_of(slot.memory.used.load());
  report.peak_bytes = slot.memory.peak.load();
  report.context_bytes = read_context(slot.memory.context, report.id.generation);
  report.gate = report_of(slot.gate);
  return report;
}

JobReport report_of(const JobEntry& entry) {
  return {.job = entry.job.load(),
          .job_class = static_cast<JobClass>(entry.job_class.load() & 1U),
          .limit_bytes = bytes_of(entry.limit_bytes.load(), kUnlimited),
          .guarantee_bytes = bytes_of(entry.guarantee_bytes.load(), 0),
          .refusals = entry.refusals.load(),
          .kept = entry.kept.load() != 0};
}

void add_reports(const LiveSlots& live,
                 const Jobs& jobs,
                 const Clients& clients,
                 StateReport& report) {
  for (const JobEntry& entry : jobs) {
    if (entry.job.load() != 0) {
      report.jobs.push_back(report_of(entry));
    }
  }
  for (std::uint32_t slot = 0; slot < kClientSlots; ++slot) {
    if (!live.has(slot)) {
      continue;
    }
    const ClientReport& client = report.clients.emplace_back(report_of(clients.at(slot), slot));
    const std::uint64_t used = client.used_bytes + client.context_bytes;
    report.used_bytes += used;
    for (JobReport& job : report.jobs) {
      if (job.job == client.job) {
        job.used_bytes += used;
        job.refusals += client.refusals;
        ++job.clients;
      }
    }
  }
}

constexpr std::uint64_t in_gpu(std::size_t member) {
  return offsetof(SharedState, gpu) + member;
}

}  // namespace

StateError StateReader::open(std::string_view folder,
                             std::string_view gpu_uuid,
                             uid_t owner,
                             StateFile::Missing missing) {
  return file_.open(folder, gpu_uuid, owner, missing);
}

bool StateReader::get(std::uint64_t offset, void* into, std::size_t count) const {
  return ::pread(file_.descriptor(), into, count, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(count);
}

StateError StateReader::put(std::uint64_t offset, std::uint64_t value) const {
  return ::pwrite(file_.descriptor(), &value, sizeof value, static_cast<off_t>(offset)) ==
                 sizeof value
             ? StateError::None
             : StateError::System;
}

StateError StateReader::read(StateReport& report, Dead dead) {
  report = {};
  if (dead == Dead::Free) {
    // A stopped process may hold the lock; what is there can be told without it.
    Tables tables;
    if (tables.lock(file_) == StateError::None) {
      tables.reclaim_dead();
    }
  }
  const auto gpu = room_for<GpuBlock>();
  const auto jobs = room_for<Jobs>();
  const auto clients = room_for<Clients>();
  if (gpu == nullptr || jobs == nullptr || clients == nullptr ||
      !get(offsetof(SharedState, gpu), gpu.get(), sizeof(GpuBlock)) ||
      !get(offsetof(SharedState, jobs), jobs.get(), sizeof(Jobs)) ||
      !get(offsetof(SharedState, clients), clients.get(), sizeof(Clients))) {
    return StateError::Corrupt;
  }
  report.total_bytes = bytes_of(gpu->total_bytes.load(), 0);
  report.headroom_bytes = bytes_of(gpu->headroom_bytes.load(), 0);
  report.foreign_bytes = bytes_of(gpu->foreign_bytes.load(), 0);
  const LiveSlots live{.low = gpu->live_slots_low.load(), .high = gpu->live_slots_high.load()};
  add_reports(live, *jobs, *clients, report);
  return StateError::None;
}

StateError StateReader::set_limits(std::uint64_t job, const JobLimits& limits) {
  Tables tables;
  if (const StateError error = tables.lock(file_); error != StateError::None) {
    return error;
  }
  const JobTerms terms{.job = job,
                       .job_class = limits.job_class,
                       .limit_bytes = limits.limit_bytes,
                       .guarantee_bytes = limits.guarantee_bytes,
                       .kept = true};
  std::uint32_t index = tables.find_job(job);
  if (index == kJobSlots) {
    return tables.add_job(terms, index);
  }
  tables.set_terms(index, terms);
  return StateError::None;
}

StateError StateReader::remove_job(std::uint64_t job) {
  Tables tables;
  if (const StateError error = tables.lock(file_); error != StateError::None) {
    return error;
  }
  const std::uint32_t index = tables.find_job(job);
  if (index < kJobSlots) {
    // Processes that outlive the job keep its limit until the last of them has ended.
    tables.release_job(index);
    tables.reclaim_dead();
    tables.drop_unused_jobs();
  }
  return StateError::None;
}

StateError StateReader::set_gpu_memory(std::uint64_t total, std::uint64_t headroom) {
  const StateError error = put(in_gpu(offsetof(GpuBlock, total_bytes)), checked_word(total));
  return error != StateError::None
             ? error
             : put(in_gpu(offsetof(GpuBlock, headroom_bytes)), checked_word(headroom));
}

StateError StateReader::set_foreign(std::uint64_t bytes) {
  return put(in_gpu(offsetof(GpuBlock, foreign_bytes)), checked_word(bytes));
}

StateError StateReader::set_context(ClientId client, std::uint64_t bytes) {
  if (!client.valid()) {
    return StateError::Absent;
  }
  // A slot that has a new owner by now does not take the word for its own.
  return put(
      slot_offset(client.slot) + offsetof(ClientSlot, memory) + offsetof(ClientMemory, context),
      context_word(client.generation, bytes));
}

StateError StateReader::want(std::uint64_t wanted) {
  return put(in_gpu(offsetof(GpuBlock, wanted)), wanted);
}

StateError StateReader::want_of_job(std::uint64_t job, std::uint64_t wanted) {
  Tables tables;
  if (const StateError error = tables.lock(file_); error != StateError::None) {
    return error;
  }
  const std::uint32_t index = tables.find_job(job);
  return index == kJobSlots ? StateError::Absent
                            : put(job_offset(index) + offsetof(JobEntry, wanted), wanted);
}

std::vector<LaunchRecord> StateReader::follow(ClientId client, LogFollower& follower) {
  std::vector<LaunchRecord> records;
  if (!client.valid()) {
    return records;
  }
  const std::uint64_t slot = slot_offset(client.slot);
  std::uint64_t head = 0;
  std::uint64_t generation = 0;
  const auto ring = room_for<KernelLogRing>();
  const auto later = room_for<KernelLogRing>();
  if (ring == nullptr || later == nullptr ||
      !get(slot + offsetof(ClientSlot, log_head), &head, sizeof head) ||
      !get(log_offset(client.slot), ring.get(), sizeof(KernelLogRing)) ||
      !get(log_offset(client.slot), later.get(), sizeof(KernelLogRing)) ||
      !get(slot + offsetof(ClientSlot, generation), &generation, sizeof generation) ||
      static_cast<std::uint16_t>(generation) != client.generation) {
    return records;
  }
  // A record that changed while it was copied has another number in the second copy.
  for (std::uint32_t index = 0; index < kLogRecords; ++index) {
    SharedWord& sequence = ring->records.at(index).sequence;
    if (sequence.load() != later->records.at(index).sequence.load()) {
      sequence.store(0);
    }
  }
  records.resize(kLogRecords);
  const SharedWord end(head);
  records.resize(follower.read(end, *ring, records));
  return records;
}

std::vector<std::byte> StateReader::save_kernels() const {
  const auto entries = room_for<Kernels>();
  if (entries == nullptr || !get(offsetof(SharedState, kernels), entries.get(), sizeof(Kernels))) {
    return {};
  }
  const KernelTable table(*entries);
  std::vector<std::byte> file(table.file_bytes());
  file.resize(table.save(file));
  return file;
}

StateError remove_unused_state(std::string_view folder, std::string_view gpu_uuid, uid_t owner) {
  PathBuffer path{};
  StateFileName name{};
  if (!state_folder(folder, path) || !state_file_name(gpu_uuid, name)) {
    return StateError::Absent;
  }
  const int opened = ::open(path.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int file =
      opened < 0 ? -1 : ::openat(opened, name.data(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  StateError error = StateError::Absent;
  struct stat found{};
  if (file >= 0 && ::fstat(file, &found) == 0) {
    struct flock any{};  // all bytes
    any.l_type = F_WRLCK;
    const bool ours = S_ISREG(found.st_mode) && found.st_uid == owner;
    const bool unused = ::fcntl(file, F_OFD_SETLK, &any) == 0;
    error = !ours                                     ? StateError::Foreign
            : !unused                                 ? StateError::Busy
            : ::unlinkat(opened, name.data(), 0) == 0 ? StateError::None
                                                      : StateError::System;
  }
  for (const int descriptor : {file, opened}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  return error;
}

}  // namespace carpool::interpose
