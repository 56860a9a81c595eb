#include "estimate/bound/margin.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/statistics.hpp"
#include "learn/stored.hpp"

namespace carpool::estimate {
namespace {

constexpr double kFewRows = 10.0;   // shrink the centre to 0
constexpr double kPriorRows = 3.0;  // of the width
constexpr double kPriorWidth = 0.03;
constexpr double kLeastWidth = 0.004;
constexpr std::array<double, 5> kShares = {0.0, 0.25, 0.5, 0.75, 1.0};

}  // namespace

double ConformalMargin::Pool::quantile(double confidence) const {
  if (scores.empty()) {
    return 0.0;
  }
  return scores[conformal_index(scores.size(), confidence)];
}

// Fills in the families of the errors.
ConformalMargin::Pool ConformalMargin::fit_pool(const Errors& errors,
                                                double share,
                                                Families& families) {
  std::map<std::string, Errors, std::less<>> by_family;
  for (const LogError* error : errors) {
    by_family[error->family].push_back(error);
  }
  Pool pool{.share = share};
  for (const auto& [name, members] : by_family) {
    const auto count = static_cast<double>(members.size());
    std::vector<double> values;
    std::ranges::transform(members, std::back_inserter(values), &LogError::value);
    const double centre = median(values) * count / (count + kFewRows);
    double sum = kPriorRows * kPriorWidth;
    for (const LogError* error : members) {
      const double off = error->value - centre;
      sum += std::min(std::abs(off), std::abs(off - share * error->spread));
    }
    const double width = sum / (count + kPriorRows) + kLeastWidth;
    for (const LogError* error : members) {
      pool.scores.push_back((error->value - centre - share * error->spread) / width);
    }
    families[name] = {.centre = centre, .width = width, .pool = members.front()->pool};
  }
  std::ranges::sort(pool.scores);
  return pool;
}

ConformalMargin ConformalMargin::of(const std::vector<LogError>& errors, double confidence) {
  std::map<std::string, Errors, std::less<>> by_pool;
  for (const LogError& error : errors) {
    by_pool[error.pool].push_back(&error);
  }
  ConformalMargin margin;
  for (const auto& [name, members] : by_pool) {
    double least = std::numeric_limits<double>::infinity();
    for (const double share : kShares) {
      Families families;
      const Pool pool = fit_pool(members, share, families);
      const double quantile = pool.quantile(confidence);
      double waste = 0.0;
      for (const LogError* error : members) {
        const Family& own = families.at(error->family);
        const double bound = own.centre + share * error->spread + quantile * own.width;
        waste += std::exp(std::max(0.0, bound) - error->value);
      }
      if (waste < least) {
        least = waste;
        margin.pools_[name] = pool;
        for (auto& [family, own] : families) {
          margin.families_[family] = own;
        }
      }
    }
  }
  return margin;
}

double ConformalMargin::centre(std::string_view family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? 1.0 : std::exp(found->second.centre);
}

double ConformalMargin::factor(std::string_view family,
                               double confidence,
                               double spread,
                               std::string_view pool) const {
  const auto own = families_.find(family);
  const bool pool_known = pools_.contains(pool);
  double most = 0.0;
  for (const auto& [name, other] : families_) {
    const bool requested =
        own != families_.end() ? name == family : !pool_known || other.pool == pool;
    if (requested) {
      const Pool& its = pools_.at(other.pool);
      most = std::max(most,
                      other.centre + its.share * spread + its.quantile(confidence) * other.width);
    }
  }
  return std::exp(most);
}

nlohmann::json ConformalMargin::to_json() const {
  nlohmann::json families = nlohmann::json::object();
  for (const auto& [name, own] : families_) {
    families[name] = {{"centre", own.centre}, {"width", own.width}, {"pool", own.pool}};
  }
  nlohmann::json pools = nlohmann::json::object();
  for (const auto& [name, pool] : pools_) {
    pools[name] = {{"share", pool.share}, {"scores", pool.scores}};
  }
  return {{"families", families}, {"pools", pools}};
}

Result<ConformalMargin> ConformalMargin::from_json(const nlohmann::json& stored) {
  ConformalMargin margin;
  try {
    for (const auto& [name, own] : stored.at("families").items()) {
      margin.families_[name] = {.centre = own.at("centre").get<double>(),
                                .width = own.at("width").get<double>(),
                                .pool = own.at("pool").get<std::string>()};
    }
    for (const auto& [name, pool] : stored.at("pools").items()) {
      margin.pools_[name] = {.share = pool.at("share").get<double>(),
                             .scores = pool.at("scores").get<std::vector<double>>()};
    }
  } catch (const nlohmann::json::exception&) {
    return learn::broken_entry("margin", "families and pools");
  }
  const bool sound = std::ranges::all_of(margin.families_, [&margin](const auto& entry) {
    const Family& own = entry.second;
    return std::isfinite(own.centre) && own.width > 0.0 && margin.pools_.contains(own.pool);
  });
  const bool ordered = std::ranges::all_of(margin.pools_, [](const auto& entry) {
    return std::isfinite(entry.second.share) && std::ranges::is_sorted(entry.second.scores);
  });
  if (!sound || !ordered) {
    return learn::broken_entry("margin", "finite numbers and sorted scores");
  }
  return margin;
}

}  // namespace carpool::estimate
