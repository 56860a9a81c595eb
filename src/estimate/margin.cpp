#include "estimate/margin.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "estimate/median.hpp"
#include "learn/stored.hpp"

namespace carpool {
namespace {

constexpr double kFewRows = 10.0;   // draw the centre to 0
constexpr double kPriorRows = 3.0;  // of the width
constexpr double kPriorWidth = 0.03;
constexpr double kLeastWidth = 0.004;

}  // namespace

ConformalMargin ConformalMargin::of(const std::vector<LogError>& errors) {
  std::map<std::string, std::vector<double>, std::less<>> by_family;
  for (const LogError& error : errors) {
    by_family[error.family].push_back(error.value);
  }
  ConformalMargin margin;
  for (const auto& [name, values] : by_family) {
    const auto count = static_cast<double>(values.size());
    const double centre = median_of(values) * count / (count + kFewRows);
    double spread = kPriorRows * kPriorWidth;
    for (const double value : values) {
      spread += std::abs(value - centre);
    }
    margin.families_[name] = {.centre = centre,
                              .width = spread / (count + kPriorRows) + kLeastWidth};
  }
  for (const LogError& error : errors) {
    const Family& family = margin.families_.at(error.family);
    margin.scores_.push_back((error.value - family.centre) / family.width);
  }
  std::ranges::sort(margin.scores_);
  return margin;
}

double ConformalMargin::quantile(double confidence) const {
  if (scores_.empty()) {
    return 0.0;
  }
  const auto count = static_cast<double>(scores_.size());
  const double rank = std::clamp(std::ceil(confidence * (count + 1.0)), 1.0, count);
  return scores_[static_cast<std::size_t>(rank) - 1];
}

double ConformalMargin::centre(std::string_view family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? 1.0 : std::exp(found->second.centre);
}

double ConformalMargin::factor(std::string_view family, double confidence) const {
  const double score = quantile(confidence);
  double most = 0.0;
  for (const auto& [name, own] : families_) {
    const double here = own.centre + score * own.width;
    if (name == family) {
      return std::exp(std::max(0.0, here));
    }
    most = std::max(most, here);
  }
  return std::exp(most);
}

nlohmann::json ConformalMargin::to_json() const {
  nlohmann::json families = nlohmann::json::object();
  for (const auto& [name, own] : families_) {
    families[name] = {{"centre", own.centre}, {"width", own.width}};
  }
  return {{"families", families}, {"scores", scores_}};
}

Result<ConformalMargin> ConformalMargin::from_json(const nlohmann::json& stored) {
  ConformalMargin margin;
  try {
    for (const auto& [name, own] : stored.at("families").items()) {
      margin.families_[name] = {.centre = own.at("centre").get<double>(),
                                .width = own.at("width").get<double>()};
    }
    margin.scores_ = stored.at("scores").get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    return broken_entry("margin", "families and scores");
  }
  const bool sound = std::ranges::all_of(margin.families_, [](const auto& entry) {
    return std::isfinite(entry.second.centre) && entry.second.width > 0.0;
  });
  if (!sound || !std::ranges::is_sorted(margin.scores_)) {
    return broken_entry("margin", "finite numbers, scores in order");
  }
  return margin;
}

}  // namespace carpool
