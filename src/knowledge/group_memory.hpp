// What groups of workloads measured when they ran together: the newest of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/gpu_observation.hpp"
#include "knowledge/believed.hpp"

namespace carpool::knowledge {

class GroupMemory {
 public:
  static constexpr std::size_t kMostGroups = 1024;

  // Numbers of the members' workloads in ascending order; copies appear as often as they ran.
  using Key = std::vector<std::uint32_t>;
  // The speed of one workload in the group.
  struct Speed {
    std::uint32_t workload = 0;
    ProgressSource source = ProgressSource::Steps;
    Believed log_rate{};
    bool operator==(const Speed&) const = default;
  };
  struct Entry {
    std::vector<Speed> speeds{};
    double at_s = 0.0;
    bool operator==(const Entry&) const = default;
  };

  void saw(const Key& group, const Speed& measured);
  [[nodiscard]] const Entry* find(const Key& group) const;
  [[nodiscard]] static const Speed* speed(const Entry& entry, std::uint32_t workload);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
  void put(Key group, Entry entry) {
    entries_.insert_or_assign(std::move(group), std::move(entry));
  }

  // Workload i becomes numbers[i]; groups with a workload that has none (kNone) are dropped.
  void renumber(std::span<const std::uint32_t> numbers);
  void weaken(double weight);

 private:
  void make_room();

  std::map<Key, Entry> entries_;
};

}  // namespace carpool::knowledge
