// The state of the beliefs: workloads, pairs and users, numbered, with bounds on their number.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/interference_model.hpp"
#include "knowledge/belief_settings.hpp"
#include "knowledge/believed.hpp"
#include "knowledge/group_memory.hpp"
#include "knowledge/latency/latency_memory.hpp"

namespace carpool::knowledge {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
inline constexpr std::size_t kProgressSources = 3;
// Of intervals before any was tested. Speeds of light jobs on an H200 differ by twice what the
// deviations of the parts explain: their processors are shared too.
inline constexpr double kFirstWidth = 2.0;

// How often a measured progress fell inside the 90 % interval predicted before.
struct Coverage {
  std::size_t inside = 0;
  std::size_t all = 0;
  bool operator==(const Coverage&) const = default;
};

// The width of 90 % intervals after one of them was tested. Misses widen nine times as much as hits
// narrow: balanced at 90 %.
inline void follow_outcome(double& width, bool inside) {
  constexpr double kStep = 0.2;
  constexpr double kNarrowest = 0.25;
  constexpr double kWidest = 6.0;
  width = std::clamp(width * std::exp(inside ? -0.1 * kStep : 0.9 * kStep), kNarrowest, kWidest);
}

// What the jobs of one user taught about all of them.
struct UserBelief {
  std::string scope{};        // "uid:1000/"; empty: names without a user
  Believed log_contention{};  // ln K
  Believed tilt{};
  Coverage coverage{};
  // Factors of the widths of 90 % intervals, which follow how often these were right.
  double law_width = kFirstWidth;
  double measured_width = kFirstWidth;
  GroupMemory groups{};
  // The same of latencies: by the law, and of groups that were measured.
  Coverage latency_coverage{};
  double latency_width = 1.0;
  double measured_latency_width = 1.0;
  LatencyMemory latencies{};
  std::size_t workloads = 0;
  std::size_t pairs = 0;
};

// What the law needs of a member.
struct LawMember {
  std::uint32_t slot = kNone;  // kNone: never seen
  std::uint32_t user = kNone;
  double activity = 0.0;
  double trust = 0.0;  // 0: the activity is assumed; 1: measured
  double push = 0.0;   // activity^2 * pressure
  double sensitivity = 1.0;
  bool profiled = false;  // the prior model knows it
  bool paired = false;    // it has pair factors
};

struct SoloRate {
  Believed log_rate{};
  bool alone = false;  // measured without neighbours, at least once
  bool operator==(const SoloRate&) const = default;
};

// What the kernels of a workload told, once.
struct WindowSeen {
  Believed activity{};  // solo
  double over_s = 0.0;
  bool alone = false;           // no other job computed on the GPU meanwhile
  double long_kernel_ms = 0.0;  // 90 % of its kernels are shorter; 0: not known
  bool operator==(const WindowSeen&) const = default;
};

struct WorkloadState {
  std::string name{};
  Believed activity{};
  double assumed_activity = 0.0;  // before anything was measured
  std::optional<WindowSeen> window{};
  double measured_s = 0.0;
  bool alone = false;
  Believed log_sensitivity{};
  Believed log_pressure{};
  std::array<std::optional<SoloRate>, kProgressSources> solo{};  // by ProgressSource
  std::optional<double> runtime_s{};                             // at solo speed
  std::optional<double> startup_s{};
  std::optional<std::uint64_t> peak_bytes{};
  unsigned processes = 1;  // most at once on one GPU, in the last run
  std::size_t runs = 0;    // that succeeded
  double seen_at_s = 0.0;
  LawMember member{};  // follows from the above: refresh()
};

class BeliefStore {
 public:
  BeliefStore(const BeliefSettings& settings, const InterferenceModel* prior)
      : settings_(settings), prior_(prior) {}

  [[nodiscard]] const BeliefSettings& settings() const { return settings_; }
  [[nodiscard]] const InterferenceModel* prior() const { return prior_; }

  [[nodiscard]] std::uint32_t find(const std::string& workload) const;  // kNone: never seen
  // Adds it where it is new. Others keep their numbers until make_room().
  [[nodiscard]] std::uint32_t find_or_add(const std::string& workload, double at_s);
  [[nodiscard]] std::uint32_t find_user(std::string_view workload) const;
  [[nodiscard]] std::uint32_t add_user(std::string_view scope);
  // What the law assumes of a workload that was never seen.
  [[nodiscard]] LawMember assumed(const std::string& workload) const;
  void refresh(std::uint32_t slot);

  [[nodiscard]] std::vector<WorkloadState>& workloads() { return workloads_; }
  [[nodiscard]] const std::vector<WorkloadState>& workloads() const { return workloads_; }
  [[nodiscard]] std::vector<UserBelief>& users() { return users_; }
  [[nodiscard]] const std::vector<UserBelief>& users() const { return users_; }
  [[nodiscard]] const UserBelief& user(std::uint32_t index) const {
    return index == kNone ? usual_ : users_[index];
  }

  using Pairs = std::unordered_map<std::uint64_t, Believed>;
  [[nodiscard]] static std::uint64_t pair_key(std::uint32_t slowed, std::uint32_t by) {
    return (std::uint64_t{slowed} << 32U) | by;
  }
  // ln of the factor by which `by` slows `slowed` more than their activities tell.
  [[nodiscard]] const Believed* pair(std::uint32_t slowed, std::uint32_t by) const;
  [[nodiscard]] Believed& add_pair(std::uint32_t slowed, std::uint32_t by, double at_s);
  [[nodiscard]] const Pairs& pairs() const { return pairs_; }

  // Drops what was seen least recently where there is too much; then epoch() changes, and so do the
  // numbers of workloads.
  bool make_room();
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  // Differs whenever what the law says may differ.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  void changed() { ++version_; }

  // Time of the last event.
  [[nodiscard]] double now_s() const { return now_s_; }
  void set_now(double at_s) { now_s_ = std::max(now_s_, at_s); }
  // Evidence counts only `weight` of what it did: another GPU or driver.
  void weaken(double weight);
  [[nodiscard]] double activity_variance(const WorkloadState& workload) const;

 private:
  [[nodiscard]] UserBelief new_user(std::string scope) const;
  [[nodiscard]] std::vector<bool> too_many() const;
  void drop_pairs(std::uint32_t user);
  void drop(const std::vector<bool>& dropped);

  BeliefSettings settings_;
  const InterferenceModel* prior_;
  std::vector<WorkloadState> workloads_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<UserBelief> users_;
  UserBelief usual_ = new_user({});
  Pairs pairs_;
  std::uint64_t epoch_ = 0;
  std::uint64_t version_ = 0;
  double now_s_ = 0.0;
};

}  // namespace carpool::knowledge
