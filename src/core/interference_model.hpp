// How fast jobs run beside each other: what policies ask, and what the simulator lives by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/group.hpp"

namespace carpool {

// SM activity that is assumed of a workload of which none is known.
inline constexpr double kUnknownActivity = 0.7;

struct InterferenceMember {
  std::string workload{};  // unknown ones get a careful answer
  double thread_limit = kAllThreads;
};

// A model bound to the workloads at hand, which are named by index: for inner loops. One thread.
class BoundInterference {
 public:
  BoundInterference() = default;
  BoundInterference(const BoundInterference&) = delete;
  BoundInterference& operator=(const BoundInterference&) = delete;
  virtual ~BoundInterference() = default;

  // One more workload; its index is the number of those before it.
  virtual void add(const std::string& workload) = 0;
  // As InterferenceModel::progress with nobody limited; `out` is as long as `group`.
  virtual void progress(std::span<const std::uint32_t> group, std::span<double> out) = 0;
};

class InterferenceModel {
 public:
  InterferenceModel() = default;
  InterferenceModel(const InterferenceModel&) = delete;
  InterferenceModel& operator=(const InterferenceModel&) = delete;
  virtual ~InterferenceModel() = default;

  // Each member's share of its speed alone, in order; 1 for a group of one. Thread-safe.
  [[nodiscard]] virtual std::vector<double> progress(
      std::span<const InterferenceMember> group) const = 0;
  // Of the SMs, alone, 0 to 1; empty: unknown.
  [[nodiscard]] virtual std::optional<double> sm_active(const std::string& workload) const = 0;
  [[nodiscard]] virtual bool knows(const std::string& workload) const = 0;

  // Whether a thread limit changes the answer.
  [[nodiscard]] virtual bool knows_limits() const { return false; }
  // The model must outlive it; the names need not.
  [[nodiscard]] virtual std::unique_ptr<BoundInterference> bind(
      std::span<const std::string> workloads) const;
};

}  // namespace carpool
