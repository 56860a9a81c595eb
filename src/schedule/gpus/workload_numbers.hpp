// Small numbers for the workloads of jobs that run: Resident::workload_number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace carpool::schedule {

class WorkloadNumbers {
 public:
  // From 1. Equal names get equal numbers until each has been given back as often as it was taken.
  [[nodiscard]] std::uint32_t take(const std::string& workload) {
    Numbered& numbered = numbers_[workload];
    if (numbered.taken++ == 0) {
      if (vacant_.empty()) {
        vacant_.push_back(static_cast<std::uint32_t>(numbers_.size()));
      }
      numbered.number = vacant_.back();
      vacant_.pop_back();
    }
    return numbered.number;
  }
  void give_back(const std::string& workload) {
    const auto found = numbers_.find(workload);
    if (found != numbers_.end() && --found->second.taken == 0) {
      vacant_.push_back(found->second.number);
      numbers_.erase(found);
    }
  }

 private:
  struct Numbered {
    std::uint32_t number = 0;
    std::size_t taken = 0;
  };
  std::unordered_map<std::string, Numbered> numbers_;
  std::vector<std::uint32_t> vacant_;
};

}  // namespace carpool::schedule
