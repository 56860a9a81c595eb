// A job as its owner requested it. The same keys in TOML, JSON and the database (docs/jobs.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/environment.hpp"

namespace carpool {

using JobId = std::int64_t;  // from 1, never used again

enum class JobClass { Slo, Normal, BestEffort };

// Of a process, as setrlimit() sets it.
struct ResourceLimit {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t soft = kUnlimited;
  std::uint64_t hard = kUnlimited;
};

// The GPUs that a job may run on.
struct GpuFilter {
  std::vector<unsigned> indices{};  // empty: any
  std::string type{};               // part of the GPU's name, in any case; empty: any

  [[nodiscard]] bool takes_all() const { return indices.empty() && type.empty(); }
  auto operator<=>(const GpuFilter&) const = default;
};

struct JobSpec {
  std::string name{};
  std::vector<std::string> argv{};  // never a shell string
  std::string cwd{};
  Environment env{};
  unsigned gpus = 1;
  GpuFilter gpu_filter{};
  std::optional<std::uint64_t> mem_bytes{};        // a reservation, on each GPU; empty: not given
  bool mem_auto = false;                           // to be estimated
  std::optional<std::uint64_t> mem_limit_bytes{};  // enforced where a mechanism can
  std::optional<double> time_s{};                  // time limit
  std::optional<double> runtime_s{};  // expected run time at solo speed; empty: unknown
  int priority = 0;                   // higher goes first
  JobClass job_class = JobClass::Normal;
  std::optional<double> slo_ms{};     // class Slo: latency of its requests
  std::optional<double> quantile{};   // share of them that keep it; empty: 0.99
  bool exclusive = false;             // does not share its GPUs
  std::vector<JobId> after{};         // starts when all of these have succeeded,
  std::vector<JobId> after_any{};     // all of these have ended,
  std::vector<JobId> after_not_ok{};  // and all of these have ended without success
  std::optional<double> begin_s{};    // does not start before, by the clock of the server
  std::optional<int> array_index{};
  std::optional<JobId> array_job{};       // the first job of its array; empty: it is that itself
  std::optional<unsigned> array_limit{};  // jobs of the array that run at once, at most
  std::string workload{};  // its name in profiles and history; empty: derived from argv
  std::string progress{};  // "none", "step-file", or a regular expression for lines of its output;
                           // empty: by its steps, else by its launches
  unsigned retries = 0;    // after an ordinary failure; out of memory has its own rules
  std::string output{};    // file for its standard output, see core/submission/own_output.hpp
  std::string error{};     // file for its standard error; empty: as `output`
  std::string notify{};    // shell command that runs when the job has ended; empty: none
  std::map<std::string, std::string> params{};    // its values of a sweep, by name
  std::optional<unsigned> umask{};                // of the process that submitted it
  std::map<std::string, ResourceLimit> limits{};  // of that process, by name: resource_limits.hpp
};

struct JobOwner {
  std::uint32_t uid = 0;
  std::string user{};
};

}  // namespace carpool
