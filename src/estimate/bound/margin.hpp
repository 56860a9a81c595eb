// An upper bound from past errors, by family: normalised conformal prediction.
//
// A measured job has the error r = log(truth / estimate) and the spread s = log(largest conceivable
// value / estimate), which is 0 for most jobs. A family g of n jobs has
//   centre  mu_g = median(r) · n / (n + 10): for few jobs it is shrunk to 0
//   width   sigma_g = (sum of min(|r - mu_g|, |r - mu_g - t s|) + 3 · 0.03) / (n + 3) + 0.004
// The scores z = (r - mu_g - t s) / sigma_g of all n jobs of a pool give q, the ⌈c (n + 1)⌉-th
// smallest score, for a confidence c. Bound = estimate · exp(max(0, mu_g + t s + q sigma_g)).
//
// The share t of the spread is the one of five values that gives the lowest bounds on average.
//
// A pool contains families whose errors have similar tails: those of jobs for which cuDNN chooses
// workspaces are long, and must not widen the bounds of other jobs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::estimate {

struct LogError {
  std::string family{};
  std::string pool{};   // of the family
  double value = 0.0;   // log(truth / estimate)
  double spread = 0.0;  // log(largest conceivable / estimate)
};

class ConformalMargin {
 public:
  ConformalMargin() = default;
  // The shares t are chosen for this confidence.
  [[nodiscard]] static ConformalMargin of(const std::vector<LogError>& errors, double confidence);

  // exp(centre): median factor from the estimate to the truth; 1 for an unknown family.
  [[nodiscard]] double centre(std::string_view family) const;
  // Factor from the estimate to the bound, at least 1. For an unknown family, the largest factor of
  // its pool, or of all families where the pool is unknown too.
  [[nodiscard]] double factor(std::string_view family,
                              double confidence,
                              double spread = 0.0,
                              std::string_view pool = {}) const;
  [[nodiscard]] bool knows(std::string_view family) const { return families_.contains(family); }

  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static Result<ConformalMargin> from_json(const nlohmann::json& stored);

 private:
  struct Family {
    double centre = 0.0;
    double width = 0.0;
    std::string pool{};
  };
  struct Pool {
    double share = 0.0;            // t
    std::vector<double> scores{};  // sorted
    [[nodiscard]] double quantile(double confidence) const;
  };
  using Errors = std::vector<const LogError*>;
  using Families = std::map<std::string, Family, std::less<>>;

  [[nodiscard]] static Pool fit_pool(const Errors& errors, double share, Families& families);

  Families families_;
  std::map<std::string, Pool, std::less<>> pools_;
};

}  // namespace carpool::estimate
