// `share` in a model file: the trained profiles, the two fits, the posterior covariance and the
// pair interactions (key "company") as base64 of little-endian doubles, the turns of larger groups
// (key "rounds"), and the thread limits. Files of earlier versions have no "rounds"; what they may
// have under "turns" belongs to another law and is not read.
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"
#include "model/share/prior.hpp"
#include "model/share/share_model.hpp"

namespace carpool::model {
namespace {

using nlohmann::json;

json profile_to_json(const Profile& profile) {
  json out = {{"workload", profile.workload},
              {"model", profile.model},
              {"task", profile.task},
              {"exclusive_thr", profile.exclusive_throughput},
              {"metrics", profile.metrics}};
  if (profile.batch) {
    out["batch"] = *profile.batch;
  }
  return out;
}

Profile profile_from_json(const json& in) {
  Profile profile{.workload = in.at("workload").get<std::string>(),
                  .model = in.at("model").get<std::string>(),
                  .task = in.at("task").get<std::string>(),
                  .batch = std::nullopt,
                  .exclusive_throughput = in.at("exclusive_thr").get<double>(),
                  .metrics = {}};
  for (const auto& [name, value] : in.at("metrics").items()) {
    profile.metrics.emplace(name, value.get<double>());
  }
  if (in.contains("batch")) {
    profile.batch = in.at("batch").get<double>();
  }
  return profile;
}

json vector_to_json(const Eigen::VectorXd& values) {
  return std::vector<double>(values.begin(), values.end());
}

Eigen::VectorXd vector_from_json(const json& in) {
  const auto values = in.get<std::vector<double>>();
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::string matrix_to_text(const Eigen::MatrixXd& matrix) {
  return base64_encode({reinterpret_cast<const char*>(matrix.data()),
                        static_cast<std::size_t>(matrix.size()) * sizeof(double)});
}

// A square one.
Result<Eigen::MatrixXd> matrix_from_json(const json& params, const char* key, Eigen::Index size) {
  const auto bytes = base64_decode(params.at(key).get<std::string>());
  if (!bytes || bytes->size() != static_cast<std::size_t>(size * size) * sizeof(double)) {
    return fail(ErrorCode::Corrupt, fmt::format("model file: the {} has the wrong size", key));
  }
  Eigen::MatrixXd matrix(size, size);
  std::memcpy(matrix.data(), bytes->data(), bytes->size());
  return matrix;
}

// Sizes and values that the forecaster relies on.
Result<void> check(const ShareFit& fit) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  const bool sizes = workloads > 0 && fit.given.size() == 3 * workloads &&
                     fit.hierarchical.size() == 4 * workloads && !fit.sizes.empty() &&
                     fit.variances.size() == hierarchical_effects().size();
  bool values = sizes && fit.given.allFinite() && fit.hierarchical.allFinite() &&
                fit.covariance.allFinite() && fit.pair_interaction.allFinite() &&
                std::isfinite(fit.level);
  for (const double positive : {fit.noise, fit.noise_solo, fit.inflation}) {
    values = values && std::isfinite(positive) && positive > 0.0;
  }
  for (const double variance : fit.variances) {
    values = values && std::isfinite(variance) && variance > 0.0;
  }
  for (const Profile& profile : fit.trained) {
    values =
        values && std::isfinite(profile.exclusive_throughput) && profile.exclusive_throughput > 0.0;
  }
  if (!values) {
    return fail(ErrorCode::Corrupt, "model file: parameters of share are missing or out of range");
  }
  return {};
}

json turns_to_json(const TurnFit& turns) {
  return {{"latents", vector_to_json(turns.latents)},
          {"variances", turns.variances},
          {"covariance", matrix_to_text(turns.covariance)},
          {"noise", turns.noise},
          {"inflation", turns.inflation}};
}

Result<TurnFit> turns_from_json(const json& in, Eigen::Index workloads) {
  const Eigen::Index unknowns = static_cast<Eigen::Index>(kBlocks) * workloads;
  auto covariance = matrix_from_json(in, "covariance", unknowns);
  if (!covariance) {
    return tl::unexpected(covariance.error());
  }
  TurnFit turns{.latents = vector_from_json(in.at("latents")),
                .variances = in.at("variances").get<std::vector<double>>(),
                .covariance = std::move(*covariance),
                .noise = in.at("noise").get<double>(),
                .inflation = in.at("inflation").get<double>()};
  bool values = turns.latents.size() == unknowns && turns.latents.allFinite() &&
                turns.covariance.allFinite() && turns.variances.size() == turn_effects().size();
  for (const double variance : turns.variances) {
    values = values && std::isfinite(variance) && variance > 0.0;
  }
  for (const double positive : {turns.noise, turns.inflation}) {
    values = values && std::isfinite(positive) && positive > 0.0;
  }
  if (!values) {
    return fail(ErrorCode::Corrupt, "model file: the turns of share are missing or out of range");
  }
  return turns;
}

ShareFit fit_from_json(const json& params) {
  ShareFit fit;
  for (const json& profile : params.at("profiles")) {
    fit.trained.push_back(profile_from_json(profile));
  }
  for (const json& metric : params.at("metrics")) {
    fit.selection.metrics.push_back({metric.get<std::string>(), dataset::Combine::Sum, {}});
  }
  fit.sizes = params.at("group_sizes").get<std::vector<std::size_t>>();
  fit.given = vector_from_json(params.at("given"));
  fit.hierarchical = vector_from_json(params.at("hierarchical"));
  fit.level = params.at("level").get<double>();
  fit.variances = params.at("variances").get<std::vector<double>>();
  fit.noise = params.at("noise").get<double>();
  fit.noise_solo = params.at("noise_alone").get<double>();
  fit.inflation = params.at("inflation").get<double>();
  fit.holdout_error = params.at("holdout_error").get<double>();
  return fit;
}

}  // namespace

json ShareModel::params() const {
  json out = {{"profiles", json::array()},
              {"metrics", json::array()},
              {"group_sizes", fit_.sizes},
              {"given", vector_to_json(fit_.given)},
              {"hierarchical", vector_to_json(fit_.hierarchical)},
              {"level", fit_.level},
              {"variances", fit_.variances},
              {"covariance", matrix_to_text(fit_.covariance)},
              {"company", matrix_to_text(fit_.pair_interaction)},
              {"noise", fit_.noise},
              {"noise_alone", fit_.noise_solo},
              {"inflation", fit_.inflation},
              {"holdout_error", fit_.holdout_error},
              {"limited", limited_},
              {"limits", limits_.to_json()}};
  if (fit_.turns) {
    out["rounds"] = turns_to_json(*fit_.turns);
  }
  for (const Profile& profile : fit_.trained) {
    out["profiles"].push_back(profile_to_json(profile));
  }
  for (const dataset::MetricInfo& metric : fit_.selection.metrics) {
    out["metrics"].push_back(metric.name);
  }
  return out;
}

Result<std::unique_ptr<ThroughputModel>> load_share(ModelCard card, const json& params) {
  try {
    ShareFit fit = fit_from_json(params);
    const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
    auto covariance = matrix_from_json(params, "covariance", 4 * workloads);
    auto interaction = matrix_from_json(params, "company", workloads);
    if (!covariance || !interaction) {
      return tl::unexpected(covariance ? interaction.error() : covariance.error());
    }
    fit.covariance = std::move(*covariance);
    fit.pair_interaction = std::move(*interaction);
    if (auto checked = check(fit); !checked) {
      return tl::unexpected(checked.error());
    }
    if (params.contains("rounds")) {
      auto turns = turns_from_json(params.at("rounds"), workloads);
      if (!turns) {
        return tl::unexpected(turns.error());
      }
      fit.turns = std::move(*turns);
    }
    auto limited = params.at("limited").get<std::vector<std::string>>();
    auto limits = ThreadLimitModel::from_json(params.at("limits"), limited.size());
    if (!limits) {
      return tl::unexpected(limits.error());
    }
    return std::make_unique<ShareModel>(
        std::move(card), std::move(fit), std::move(*limits), std::move(limited));
  } catch (const json::exception& problem) {
    return fail(ErrorCode::Corrupt, fmt::format("model file: {}", problem.what()));
  }
}

}  // namespace carpool::model
