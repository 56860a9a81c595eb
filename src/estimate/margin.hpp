// An upper bound from past errors, by family: normalised conformal prediction.
//
// r = log(truth / estimate) of rows with known truth. For each family g: centre mu_g = median(r),
// drawn to 0 for few rows (n / (n + 10)); width sigma_g = (sum |r - mu_g| + 3 · 0.03) / (n + 3) +
// 0.004. The scores z = (r - mu_g) / sigma_g of all families of a pool together give the quantile q
// at ⌈c (n + 1)⌉ for a confidence c. Bound = estimate · exp(max(0, mu_g + q sigma_g)).
// A pool holds jobs whose errors have tails of one kind: where cuDNN chooses workspaces they are
// long, and jobs without any shall not pay for that.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool {

struct LogError {
  std::string family{};
  std::string pool{};  // that the family belongs to
  double value = 0.0;  // log(truth / estimate)
};

class ConformalMargin {
 public:
  ConformalMargin() = default;
  [[nodiscard]] static ConformalMargin of(const std::vector<LogError>& errors);

  // Factor by which estimates of the family are off in the middle; 1 for an unknown one.
  [[nodiscard]] double centre(std::string_view family) const;
  // Factor from the estimate to the bound, at least 1. An unknown family gets the largest.
  [[nodiscard]] double factor(std::string_view family, double confidence) const;
  [[nodiscard]] bool knows(std::string_view family) const { return families_.contains(family); }

  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static Result<ConformalMargin> from_json(const nlohmann::json& stored);

 private:
  struct Family {
    double centre = 0.0;
    double width = 0.0;
    std::string pool{};
  };
  using Scores = std::vector<double>;  // sorted
  [[nodiscard]] double quantile(const std::string& pool, double confidence) const;

  std::map<std::string, Family, std::less<>> families_;
  std::map<std::string, Scores, std::less<>> scores_;  // by pool
};

}  // namespace carpool
