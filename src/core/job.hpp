// A job as its owner asked for it. The same keys in TOML, JSON and the database (docs/jobs.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace carpool {

using JobId = std::int64_t;  // from 1, never used again

enum class JobClass { Slo, Normal, BestEffort };

struct JobSpec {
  std::string name{};
  std::vector<std::string> argv{};  // never a shell string
  std::string cwd{};
  std::map<std::string, std::string> env{};
  unsigned gpus = 1;
  std::optional<std::uint64_t> mem_bytes{};        // a reservation, on each GPU; empty: not said
  bool mem_auto = false;                           // to be estimated
  std::optional<std::uint64_t> mem_limit_bytes{};  // enforced where a mechanism can
  std::optional<double> time_s{};                  // ended after that
  std::optional<double> runtime_s{};  // how long it will run, alone, as far as anybody knows
  int priority = 0;                   // higher goes first
  JobClass job_class = JobClass::Normal;
  std::optional<double> slo_ms{};
  std::optional<double> quantile{};
  bool exclusive = false;      // shares its GPUs with nobody
  std::vector<JobId> after{};  // starts when all of these have succeeded
  std::optional<int> array_index{};
  std::string workload{};  // what it is known by in profiles and history; empty: by its argv
  std::string progress{};  // how its steps are found: "step-file", a regular expression, …
  unsigned retries = 0;    // after an ordinary failure; out of memory has rules of its own
};

struct JobOwner {
  std::uint32_t uid = 0;
  std::string user{};
};

}  // namespace carpool
