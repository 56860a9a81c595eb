// A fitted memory estimator as NAME.model.json, in the envelope of all model files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

// What it was fitted on, for those who read the file.
struct EstimatorCard {
  std::string data{};               // the file of rows
  std::string data_hash{};          // SHA-256 of it
  std::size_t rows = 0;             // finished ones
  std::string convolutions{};       // the file of single ones; empty: none
  std::string convolutions_hash{};  // SHA-256 of it, unpacked
  std::string date{};
};

[[nodiscard]] std::string serialize_estimator(const CarpoolEstimator& estimator,
                                              const EstimatorCard& card);
[[nodiscard]] Result<std::unique_ptr<CarpoolEstimator>> parse_estimator(std::string_view text,
                                                                        std::string_view name);
[[nodiscard]] Result<std::unique_ptr<CarpoolEstimator>> load_estimator(
    const std::filesystem::path& path);

}  // namespace carpool::estimate
