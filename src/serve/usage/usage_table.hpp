// GPU time, memory and energy of jobs, added up by user or by job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/job_record.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

enum class UsageBy { User, Job };

// Attempts count as far as they are within it.
struct UsageSpan {
  double from_s = 0.0;
  double until_s = 0.0;
};

struct UsageAmounts {
  std::size_t jobs = 0;
  std::size_t attempts = 0;
  double held_s = 0.0;       // time on GPUs, with pauses, times GPUs
  double delivered_s = 0.0;  // the same without pauses, at solo speed, where the speed is known
  double unknown_s = 0.0;    // part of held_s for which the speed is not known
  double reserved_byte_s = 0.0;
  std::optional<std::uint64_t> peak_bytes{};  // highest on one GPU
  std::optional<double> energy_joules{};      // where it is known
  double energy_unknown_s = 0.0;              // part of held_s for which it is not

  void add(const UsageAmounts& more);
  // Part of the energy of an attempt with this much GPU time.
  void add_energy(const std::optional<double>& joules, double part, double gpu_s);
};

// What the running attempt of a job has used so far, where it is known.
struct RunningUsage {
  std::optional<double> energy_joules{};
  std::optional<std::uint64_t> peak_bytes{};
};

// Without attempts in the span, `jobs` is 0.
[[nodiscard]] UsageAmounts usage_of(const JobRecord& job,
                                    const UsageSpan& span,
                                    const RunningUsage& running = {});

// For one caller: of other users' jobs only their sum is kept, unless the caller is an operator.
class UsageTable {
 public:
  static constexpr std::size_t kMostRows = 1000;  // those that held the most

  UsageTable(UsageBy by, Caller caller) : by_(by), caller_(std::move(caller)) {}

  // Each job once.
  void add(const JobRecord& job, const UsageAmounts& amounts);

  // "rows", the largest first; "others", "left_out" and "total".
  [[nodiscard]] nlohmann::json view();

 private:
  struct Row {
    JobId job = 0;  // 0: of a user
    std::string user{};
    std::string name{};
    UsageAmounts amounts{};
  };
  void keep_largest();

  UsageBy by_;
  Caller caller_;
  std::map<std::uint32_t, Row> users_;
  std::vector<Row> jobs_;
  std::set<std::uint32_t> other_users_;
  UsageAmounts others_;
  std::size_t left_out_rows_ = 0;
  UsageAmounts left_out_;
  UsageAmounts total_;
};

}  // namespace carpool::serve
