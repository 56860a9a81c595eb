// Memory and run time of earlier runs of each user's workloads. What one user's jobs took neither
// shows in nor changes what another user's jobs get.
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

class JobHistory {
 public:
  void learn(std::uint32_t uid, const std::string& key, const PastRun& run);

  // The highest peak of the last runs, with a margin for variation between runs.
  [[nodiscard]] std::optional<std::uint64_t> need_bytes(std::uint32_t uid,
                                                        const std::string& key) const;
  // At solo speed: the median of the last successful runs.
  [[nodiscard]] std::optional<double> runtime_s(std::uint32_t uid, const std::string& key) const;

 private:
  static constexpr std::size_t kRemembered = 8;

  template <class Value>
  struct Last {
    std::array<Value, kRemembered> values{};
    std::size_t seen = 0;

    void add(Value value) { values[seen++ % kRemembered] = value; }
    [[nodiscard]] std::size_t size() const { return seen < kRemembered ? seen : kRemembered; }
  };
  struct Workload {
    Last<std::uint64_t> peaks{};
    Last<double> runtimes{};
  };

  [[nodiscard]] const Workload* find(std::uint32_t uid, const std::string& key) const;

  std::unordered_map<std::uint32_t, std::unordered_map<std::string, Workload>> users_;
};

}  // namespace carpool
