// The shared state for the program `carpool`: who is there, what they use, what they may use. It
// reads and writes the file without mapping it, because a user can truncate a file that is mapped,
// and a server must survive that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "interpose/state/client.hpp"
#include "interpose/state/kernel_log.hpp"
#include "interpose/state/state_file.hpp"

namespace carpool::interpose {

struct ClientReport {
  ClientId id;
  pid_t pid = 0;  // in its own PID namespace
  std::uint64_t pid_namespace = 0;
  std::uint64_t start_ticks = 0;
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
  std::uint64_t used_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

struct JobReport {
  std::uint64_t job = 0;
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t limit_bytes = kUnlimited;
  std::uint64_t guarantee_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint32_t clients = 0;
};

struct StateReport {
  std::uint64_t total_bytes = 0;
  std::uint64_t headroom_bytes = 0;
  std::uint64_t foreign_bytes = 0;
  std::uint64_t used_bytes = 0;  // of all clients
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

  // Frees the slots of dead clients first.
  [[nodiscard]] StateError read(StateReport& report);

  // Effective at once, also below what the job uses: then it gets no more until it has freed
  // enough. A new job is entered.
  [[nodiscard]] StateError set_limits(std::uint64_t job, const JobLimits& limits);
  // The job has ended; None if it is not known.
  [[nodiscard]] StateError remove_job(std::uint64_t job);

  [[nodiscard]] StateError set_gpu_memory(std::uint64_t total, std::uint64_t headroom);
  [[nodiscard]] StateError set_foreign(std::uint64_t bytes);

  // Whether clients write kernel logs; they cost about 20 ns a launch.
  [[nodiscard]] StateError want_log(bool wanted);

 private:
  StateFile file_;
};

}  // namespace carpool::interpose
