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
  ConformalMargin margin;
  for (const LogError& error : errors) {
    by_family[error.family].push_back(error.value);
    margin.families_[error.family].pool = error.pool;
  }
  for (const auto& [name, values] : by_family) {
    const auto count = static_cast<double>(values.size());
    Family& family = margin.families_.at(name);
    family.centre = median_of(values) * count / (count + kFewRows);
    double spread = kPriorRows * kPriorWidth;
    for (const double value : values) {
      spread += std::abs(value - family.centre);
    }
    family.width = spread / (count + kPriorRows) + kLeastWidth;
  }
  for (const LogError& error : errors) {
    const Family& family = margin.families_.at(error.family);
    margin.scores_[family.pool].push_back((error.value - family.centre) / family.width);
  }
  for (auto& [pool, scores] : margin.scores_) {
    std::ranges::sort(scores);
  }
  return margin;
}

double ConformalMargin::quantile(const std::string& pool, double confidence) const {
  const auto found = scores_.find(pool);
  if (found == scores_.end() || found->second.empty()) {
    return 0.0;
  }
  const Scores& scores = found->second;
  const auto count = static_cast<double>(scores.size());
  const double rank = std::clamp(std::ceil(confidence * (count + 1.0)), 1.0, count);
  return scores[static_cast<std::size_t>(rank) - 1];
}

double ConformalMargin::centre(std::string_view family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? 1.0 : std::exp(found->second.centre);
}

double ConformalMargin::factor(std::string_view family, double confidence) const {
  double most = 0.0;
  for (const auto& [name, own] : families_) {
    const double here = own.centre + quantile(own.pool, confidence) * own.width;
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
    families[name] = {{"centre", own.centre}, {"width", own.width}, {"pool", own.pool}};
  }
  return {{"families", families}, {"scores", scores_}};
}

Result<ConformalMargin> ConformalMargin::from_json(const nlohmann::json& stored) {
  ConformalMargin margin;
  try {
    for (const auto& [name, own] : stored.at("families").items()) {
      margin.families_[name] = {.centre = own.at("centre").get<double>(),
                                .width = own.at("width").get<double>(),
                                .pool = own.at("pool").get<std::string>()};
    }
    for (const auto& [pool, scores] : stored.at("scores").items()) {
      margin.scores_[pool] = scores.get<Scores>();
    }
  } catch (const nlohmann::json::exception&) {
    return broken_entry("margin", "families and scores");
  }
  const bool sound = std::ranges::all_of(margin.families_, [](const auto& entry) {
    return std::isfinite(entry.second.centre) && entry.second.width > 0.0;
  });
  const bool ordered = std::ranges::all_of(
      margin.scores_, [](const auto& entry) { return std::ranges::is_sorted(entry.second); });
  if (!sound || !ordered) {
    return broken_entry("margin", "finite numbers, scores in order");
  }
  return margin;
}

}  // namespace carpool
