// An upper bound from past errors, by family: normalised conformal prediction.
//
// r = log(truth / estimate) of rows with known truth; s: log(most that is conceivable / estimate),
// where there is a reason for more than is expected (spread, 0 for most). For each family g: centre
// mu_g = median(r), drawn to 0 for few rows (n / (n + 10)); with a share t of the spread, width
// sigma_g = (sum of min(|r - mu_g|, |r - mu_g - t s|) + 3 · 0.03) / (n + 3) + 0.004. The scores z =
// (r - mu_g - t s) / sigma_g of all families of a pool together give the quantile q at ⌈c (n + 1)⌉
// for a confidence c. Bound = estimate · exp(max(0, mu_g + t s + q sigma_g)). t is, of five values,
// the one whose bounds of the pool's rows are lowest on average.
//
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

namespace carpool::estimate {

struct LogError {
  std::string family{};
  std::string pool{};   // that the family belongs to
  double value = 0.0;   // log(truth / estimate)
  double spread = 0.0;  // log(most that is conceivable / estimate)
};

class ConformalMargin {
 public:
  ConformalMargin() = default;
  // Shares are chosen for this confidence.
  [[nodiscard]] static ConformalMargin of(const std::vector<LogError>& errors, double confidence);

  // Factor by which estimates of the family are off in the middle; 1 for an unknown one.
  [[nodiscard]] double centre(std::string_view family) const;
  // Factor from the estimate to the bound, at least 1. An unknown family gets the largest of its
  // pool, or of all where that is not known either.
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
