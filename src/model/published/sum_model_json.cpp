#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/stored.hpp"
#include "model/published/published.hpp"
#include "model/published/sum_model.hpp"

namespace carpool::model {

namespace {

constexpr std::string_view kSum = "sum";
constexpr std::string_view kMean = "mean";

nlohmann::json stored_features(const dataset::FeatureSelection& features) {
  nlohmann::json list = nlohmann::json::array();
  for (const dataset::MetricInfo& metric : features.metrics) {
    list.push_back({{"name", metric.name},
                    {"combine", metric.combine == dataset::Combine::Mean ? kMean : kSum},
                    {"group", metric.group}});
  }
  return list;
}

// Throws json::exception where an entry is missing or of another type; load_sum_model catches.
Result<dataset::FeatureSelection> features_from_json(const nlohmann::json& params) {
  dataset::FeatureSelection features{
      .metrics = {}, .exclusive_throughput = params.at("exclusive_throughput").get<bool>()};
  for (const nlohmann::json& metric : params.at("features")) {
    const auto combine = metric.at("combine").get<std::string>();
    if (combine != kMean && combine != kSum) {
      return learn::broken_entry("combine", "sum or mean");
    }
    features.metrics.push_back(
        {.name = metric.at("name").get<std::string>(),
         .combine = combine == kMean ? dataset::Combine::Mean : dataset::Combine::Sum,
         .group = metric.at("group").get<std::string>()});
  }
  return features;
}

Result<SumModelParts> parts_from_json(const nlohmann::json& params) {
  auto features = features_from_json(params);
  if (!features) {
    return tl::unexpected(features.error());
  }
  auto inputs = learn::Standardizer::from_json(params.at("inputs"));
  if (!inputs) {
    return tl::unexpected(inputs.error());
  }
  const auto mean = learn::read_number(params, "target_mean");
  const auto deviation = learn::read_number(params, "target_deviation");
  if (!mean || !deviation || *deviation < 0.0) {
    return learn::broken_entry("target_deviation", "a number of at least 0 beside \"target_mean\"");
  }
  auto regressor = learn::regressor_from_json(params.at("regressor"));
  if (!regressor) {
    return tl::unexpected(regressor.error());
  }
  SumModelParts parts{.features = *std::move(features),
                      .inputs = *std::move(inputs),
                      .target_mean = *mean,
                      .target_deviation = *deviation,
                      .regressor = *std::move(regressor)};
  const auto columns = static_cast<Eigen::Index>(parts.features.size());
  if (columns == 0 || parts.inputs.mean.size() != columns || parts.regressor->inputs() != columns) {
    return learn::broken_entry("features", "as many as \"inputs\" and \"regressor\" need");
  }
  return parts;
}

}  // namespace

nlohmann::json SumModel::params() const {
  return {{"features", stored_features(parts_.features)},
          {"exclusive_throughput", parts_.features.exclusive_throughput},
          {"inputs", parts_.inputs.to_json()},
          {"target_mean", parts_.target_mean},
          {"target_deviation", parts_.target_deviation},
          {"regressor", parts_.regressor->to_json()}};
}

Result<std::unique_ptr<ThroughputModel>> load_sum_model(ModelCard card,
                                                        const nlohmann::json& params) {
  try {
    auto parts = parts_from_json(params);
    if (!parts) {
      return tl::unexpected(parts.error());
    }
    return std::make_unique<SumModel>(std::move(card), *std::move(parts));
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::Corrupt, std::string("model parameters: ") + problem.what());
  }
}

}  // namespace carpool::model
