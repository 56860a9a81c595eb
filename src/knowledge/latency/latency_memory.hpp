// The latencies that were measured of requests: of workloads alone and in groups, the newest of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/latency.hpp"
#include "knowledge/believed.hpp"

namespace carpool::knowledge {

class LatencyMemory {
 public:
  static constexpr std::size_t kMostEntries = 1024;

  struct Neighbour {
    std::uint32_t workload = 0;
    bool gated = false;  // its launches wait for requests
    auto operator<=>(const Neighbour&) const = default;
  };
  struct Key {
    std::uint32_t workload = 0;
    bool mps = false;                 // false alone
    std::vector<Neighbour> beside{};  // in ascending order
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    LatencyGoal goal{};          // under which it was measured
    std::uint64_t requests = 0;  // in all
    Believed log_p50_ms{};
    Believed log_tail_ms{};
    Believed log_rate{};  // requests a second of one process
    // Of a request without its time in a queue: the mean, and the mean of the square.
    Believed log_service_ms{};
    Believed log_service_square_ms2{};
    bool operator==(const Entry&) const = default;
  };

  // What a number of requests told; the variances are those of this measurement.
  void saw(const Key& key, const Entry& measured);
  // What was measured with the nearest SLO. Null: nothing, only with other goals, or so long ago
  // that it says little. What the gate lets in front of a request follows from the SLO, so the
  // latency in a group with a quite different one tells nothing.
  [[nodiscard]] const Entry* find(const Key& key, const LatencyGoal& goal, double now_s) const;
  // Those of one key differ in their goals.
  [[nodiscard]] const std::multimap<Key, Entry>& entries() const { return entries_; }
  void put(Key key, const Entry& entry);

  // Workload i becomes numbers[i]; entries with a workload that has none (kNone) are dropped.
  void renumber(std::span<const std::uint32_t> numbers);
  void weaken(double weight);

 private:
  void make_room();

  std::multimap<Key, Entry> entries_;
};

// Of ln(latency) when all evidence is forgotten.
inline constexpr double kForgottenLatencyVariance = 1.0;

}  // namespace carpool::knowledge
