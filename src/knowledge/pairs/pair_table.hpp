// Interference from a table of measured pairs, extended to other workloads and larger groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "knowledge/pairs/pair_fit.hpp"

namespace carpool::knowledge {

class PairTable final : public InterferenceModel {
 public:
  // A folder as data/carma-traces: aegis_workloads.csv, aegis_estimates.csv (families and CARMA's
  // names of the same workloads), aegis_pairs_a100.csv, aegis_sharing_speed.csv. `contention`
  // multiplies every cost: 1 is as measured.
  [[nodiscard]] static Result<std::unique_ptr<PairTable>> load(const std::filesystem::path& folder,
                                                               double contention);

  // A workload that the table does not have, by its solo SM activity; does nothing for others.
  void add_unmeasured(const std::string& workload, double sm_active);

  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override;
  [[nodiscard]] std::optional<double> sm_active(const std::string& workload) const override;
  [[nodiscard]] bool knows(const std::string& workload) const override;
  [[nodiscard]] std::unique_ptr<BoundInterference> bind(
      std::span<const std::string> workloads) const override;

  [[nodiscard]] const PairEffects& effects() const { return effects_; }
  [[nodiscard]] std::size_t measured_pairs() const { return measured_pairs_; }

  // The effects of one workload, measured or derived.
  struct Workload {
    double sm_active = 0.0;
    double pressure = 0.0;
    double sensitivity = 0.0;
    std::uint32_t measured = kNotMeasured;  // row and column of the measured costs
  };
  static constexpr std::uint32_t kNotMeasured = ~std::uint32_t{0};

  // An unknown workload gets kUnknownActivity, as in ActivityInterference.
  [[nodiscard]] Workload find(const std::string& name) const;
  [[nodiscard]] double cost(const Workload& slowed, const Workload& by) const;

 private:
  PairTable() = default;
  [[nodiscard]] Workload unmeasured(double sm_active) const;

  std::map<std::string, Workload, std::less<>> workloads_;
  PairEffects effects_;
  std::vector<double> measured_;  // square, NaN where no pair was measured
  std::size_t measured_names_ = 0;
  std::size_t measured_pairs_ = 0;
  double contention_ = 1.0;
};

// "vgg16_imagenet_bs64" of "vgg16_imagenet_bs64_1gpu", "resnet18_cifar100_bs32" of
// "resnet18_cifar100_bs32_20e": the name of a workload in tables of pairs.
[[nodiscard]] std::string pair_name(std::string_view workload);

}  // namespace carpool::knowledge
