// Memory and run time of earlier runs of each user's workloads. What one user's jobs took neither
// shows in nor changes what another user's workloads are known to need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/run.hpp"

namespace carpool {

// One attempt that ended.
struct PastRun {
  RunEnd end = RunEnd::Succeeded;
  double run_s = 0.0;
  double progress = 1.0;                      // predicted share of its solo speed
  std::optional<std::uint64_t> peak_bytes{};  // on one GPU
};

// What earlier runs of a workload say about the memory of the next one.
struct PastNeed {
  std::uint64_t bytes = 0;       // with a margin
  std::uint64_t peak_bytes = 0;  // the highest peak that it rests on
  bool finished = false;         // of runs that succeeded; else of others, which may have grown
};

class JobHistory {
 public:
  void learn(std::uint32_t uid, const std::string& key, const PastRun& run);

  [[nodiscard]] std::optional<PastNeed> need(std::uint32_t uid, const std::string& key) const;
  // At solo speed: the median of the last successful runs.
  [[nodiscard]] std::optional<double> runtime_s(std::uint32_t uid, const std::string& key) const;
  // What a workload that never ran is likely to take: the median of the first runs of this user's
  // latest workloads, else of those of all users.
  [[nodiscard]] std::optional<double> usual_runtime_s(std::uint32_t uid) const;

 private:
  static constexpr std::size_t kRemembered = 8;  // runs of a workload
  static constexpr std::size_t kWorkloads = 64;  // of a user, or of all

  template <class Value, std::size_t Most>
  struct Last {
    std::array<Value, Most> values{};
    std::size_t seen = 0;

    void add(Value value) { values[seen++ % Most] = value; }
    [[nodiscard]] std::size_t size() const { return seen < Most ? seen : Most; }
  };
  // A run that did not succeed.
  struct Unfinished {
    std::uint64_t peak_bytes = 0;
    bool too_little = false;          // it needed more than it had
    std::size_t finished_before = 0;  // runs
  };
  struct Workload {
    Last<std::uint64_t, kRemembered> peaks{};  // of successful runs
    Last<Unfinished, kRemembered> unfinished{};
    Last<double, kRemembered> runtimes{};
  };
  struct User {
    std::unordered_map<std::string, Workload> workloads{};
    Last<double, kWorkloads> first_runtimes{};
  };

  template <std::size_t Most>
  [[nodiscard]] static std::optional<double> median(Last<double, Most> values);
  [[nodiscard]] const Workload* find(std::uint32_t uid, const std::string& key) const;

  std::unordered_map<std::uint32_t, User> users_;
  Last<double, kWorkloads> first_runtimes_;  // of all users
};

}  // namespace carpool
