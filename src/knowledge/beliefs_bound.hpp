// Beliefs bound to workloads that are named by index.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/interference_model.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

class BoundBeliefs final : public BoundInterference {
 public:
  BoundBeliefs(const BeliefStore& store,
               std::shared_mutex& mutex,
               std::span<const std::string> workloads);

  void add(const std::string& workload) override;
  void progress(std::span<const std::uint32_t> group, std::span<double> out) override;

 private:
  struct Named {
    std::string workload{};
    std::uint32_t slot = kNone;
    LawMember assumed{};  // where it was never seen
  };
  void resolve(Named& named) const;
  // Takes over workloads that were seen since.
  void catch_up();
  void list_unseen();
  [[nodiscard]] double cost(std::uint32_t slowed, std::uint32_t by);
  void law(std::span<const std::uint32_t> group, std::span<double> out);

  const BeliefStore& store_;
  std::shared_mutex& mutex_;
  std::unique_ptr<BoundInterference> prior_;
  std::vector<Named> named_;
  // Indices of workloads never seen; listed when the first new one is seen.
  std::unordered_multimap<std::string, std::uint32_t> unseen_;
  bool unseen_listed_ = false;
  std::uint64_t epoch_ = 0;
  std::size_t workloads_ = 0;  // of the store, when last looked at
  std::size_t users_ = 0;
  // Costs of pairs by a part of their indices: policies ask for the same pairs many times.
  struct KnownCost {
    std::uint64_t pair = ~std::uint64_t{0};
    double cost = 0.0;
  };
  std::vector<KnownCost> costs_;
  unsigned cost_bits_ = 0;
  std::uint64_t costs_version_ = 0;
  std::vector<const LawMember*> group_;
  std::vector<double> told_;
  std::vector<std::uint32_t> key_;
};

}  // namespace carpool::knowledge
