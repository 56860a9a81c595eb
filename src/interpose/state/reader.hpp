// The shared state for the program `carpool`: who is there, what they use, what they may use. It
// reads and writes the file without mapping it, because a user can truncate a file that is mapped,
// and a server must survive that.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "interpose/state/client.hpp"
#include "interpose/state/kernel_log.hpp"
#include "interpose/state/state_file.hpp"

namespace carpool::interpose {

// What the gate did to a client, or for it.
struct GateReport {
  std::uint64_t policy = 0;  // number of the policy, plus 1; 0: the client does not ask the gate
  std::uint64_t slo_ns = 0;
  std::uint64_t quantile_millionths = 0;
  std::uint64_t requests = 0;
  std::uint64_t late_requests = 0;
  std::uint64_t p50_ns = 0;
  std::uint64_t tail_ns = 0;
  std::uint64_t service_ns = 0;
  std::uint64_t service_square_us2 = 0;
  std::array<std::uint64_t, kHoldWords> holds{};  // by gate::HoldReason
  std::array<std::uint64_t, kHoldWords> held_ns{};
};

struct ClientReport {
  ClientId id;
  pid_t pid = 0;  // in its own PID namespace
  std::uint64_t pid_namespace = 0;
  std::uint64_t start_ticks = 0;
  // The process has ended, but a process that it forked still holds its GPU memory.
  bool orphaned = false;
  std::string name;
  std::uint64_t job = 0;
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t launches = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t graph_nodes = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t refusals = 0;
  std::uint64_t last_call_ns = 0;
  std::uint64_t used_bytes = 0;  // allocations
  std::uint64_t peak_bytes = 0;
  std::uint64_t context_bytes = 0;  // what it has beside them, see set_context()
  GateReport gate{};
};

struct JobReport {
  std::uint64_t job = 0;
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t limit_bytes = kUnlimited;
  std::uint64_t guarantee_bytes = 0;
  std::uint64_t used_bytes = 0;  // with contexts
  std::uint64_t refusals = 0;    // of all its processes, those that have ended too
  std::uint32_t clients = 0;
  bool kept = false;  // entered by set_limits(); stays until remove_job()
};

struct StateReport {
  std::uint64_t total_bytes = 0;
  std::uint64_t headroom_bytes = 0;
  std::uint64_t foreign_bytes = 0;
  std::uint64_t used_bytes = 0;  // of all clients, with contexts
  std::vector<ClientReport> clients;
  std::vector<JobReport> jobs;
};

struct JobLimits {
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t limit_bytes = kUnlimited;
  std::uint64_t guarantee_bytes = 0;
};

class StateReader {
 public:
  // The state of this user. `missing` tells whether to make it.
  [[nodiscard]] StateError open(std::string_view folder,
                                std::string_view gpu_uuid,
                                uid_t owner,
                                StateFile::Missing missing = StateFile::Missing::Refuse);

  // Frees the slots of dead clients first, or keeps them for a reader of their logs.
  enum class Dead { Free, Keep };
  [[nodiscard]] StateError read(StateReport& report, Dead dead = Dead::Free);

  // Effective at once, also below what the job uses: then it gets no more until it has freed
  // enough. A new job is entered.
  [[nodiscard]] StateError set_limits(std::uint64_t job, const JobLimits& limits);
  // The job has ended; None if it is not known.
  [[nodiscard]] StateError remove_job(std::uint64_t job);

  [[nodiscard]] StateError set_gpu_memory(std::uint64_t total, std::uint64_t headroom);
  // Of processes that have no slot: it is used, but by none of the jobs.
  [[nodiscard]] StateError set_foreign(std::uint64_t bytes);
  // What a client has beside its allocations counts as used by its job. Nothing if it has gone.
  [[nodiscard]] StateError set_context(ClientId client, std::uint64_t bytes);

  // What clients do beside counting: kWantLog, kWantDurations, for all clients of the GPU.
  [[nodiscard]] StateError want(std::uint64_t wanted);
  // The same for the clients of one job, until it ends. Absent if the job is not known.
  [[nodiscard]] StateError want_of_job(std::uint64_t job, std::uint64_t wanted);
  // Launches of a client since the last call with this follower; none if the client has gone.
  [[nodiscard]] std::vector<LaunchRecord> follow(ClientId client, LogFollower& follower);

  // A copy of what is known of kernels.
  [[nodiscard]] std::vector<std::byte> save_kernels() const;

 private:
  [[nodiscard]] bool get(std::uint64_t offset, void* into, std::size_t count) const;
  [[nodiscard]] StateError put(std::uint64_t offset, std::uint64_t value) const;

  StateFile file_;
};

// Removes a state file that open() refuses, if no process has a lock on it: after an update of
// Carpool, for example. Busy if one has.
[[nodiscard]] StateError remove_unused_state(std::string_view folder,
                                             std::string_view gpu_uuid,
                                             uid_t owner);

}  // namespace carpool::interpose
