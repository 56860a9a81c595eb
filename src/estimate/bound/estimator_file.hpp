// A fitted memory estimator as NAME.model.json, in the common envelope of model files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

// What it was fitted on, for readers of the file.
struct EstimatorCard {
  std::string data{};               // the file of rows
  std::string data_hash{};          // SHA-256 of it
  std::size_t rows = 0;             // finished jobs
  std::string convolutions{};       // the file of measured convolutions; empty: none
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
