// How fast jobs run beside each other; used by policies and by the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/group.hpp"

namespace carpool {

// SM activity assumed for a workload whose activity is unknown.
inline constexpr double kUnknownActivity = 0.7;

struct InterferenceMember {
  std::string workload{};  // unknown ones get a conservative answer
  double thread_limit = kAllThreads;
};

// A model bound to given workloads, which are named by index: for inner loops. For one thread.
class BoundInterference {
 public:
  BoundInterference() = default;
  BoundInterference(const BoundInterference&) = delete;
  BoundInterference& operator=(const BoundInterference&) = delete;
  virtual ~BoundInterference() = default;

  // Adds a workload with the next index.
  virtual void add(const std::string& workload) = 0;
  // As InterferenceModel::progress without thread limits; `out` is as long as `group`.
  virtual void progress(std::span<const std::uint32_t> group, std::span<double> out) = 0;
};

class InterferenceModel {
 public:
  InterferenceModel() = default;
  InterferenceModel(const InterferenceModel&) = delete;
  InterferenceModel& operator=(const InterferenceModel&) = delete;
  virtual ~InterferenceModel() = default;

  // Each member's share of its solo speed, in order; 1 for a group of one. Thread-safe.
  [[nodiscard]] virtual std::vector<double> progress(
      std::span<const InterferenceMember> group) const = 0;
  // SM activity solo, 0 to 1; empty: unknown.
  [[nodiscard]] virtual std::optional<double> sm_active(const std::string& workload) const = 0;
  [[nodiscard]] virtual bool knows(const std::string& workload) const = 0;

  // Whether a thread limit changes the answer.
  [[nodiscard]] virtual bool knows_limits() const { return false; }
  // The model must outlive it; the names need not.
  [[nodiscard]] virtual std::unique_ptr<BoundInterference> bind(
      std::span<const std::string> workloads) const;
};

}  // namespace carpool
