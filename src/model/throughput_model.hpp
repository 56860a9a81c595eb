// The interface of all models: measured groups in, forecasts out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "core/group.hpp"
#include "core/profile.hpp"
#include "dataset/dataset.hpp"

namespace carpool::model {

// The origin of a model, as its file records it.
struct ModelCard {
  std::string kind;       // name in the table of models
  std::string data_hash;  // fingerprint of dataset and training rows
  std::string dataset;    // folder name and GPU it was measured on
  std::string throughput_unit;
  std::vector<std::string> features;   // metrics used
  std::vector<std::string> workloads;  // seen in training
  std::size_t training_rows = 0;
  std::uint64_t seed = 0;
  std::optional<double> holdout_mape;  // of the predicted sum; cross-validated on training rows
  std::string date;                    // ISO 8601, UTC
};

enum class ForecastDetail { PointOnly, WithIntervals };

// A model applied to a fixed list of profiles: what depends on one workload is computed once.
// Thread-safe.
class Forecaster {
 public:
  virtual ~Forecaster() = default;

  // One forecast per candidate group, in order. The candidates are given together because the
  // published KACE models normalise a candidate by the set it belongs to.
  [[nodiscard]] virtual std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                            ForecastDetail detail) const = 0;

  // Only their preferences, which is faster where a model need not build forecasts.
  [[nodiscard]] virtual std::vector<double> preferences(std::span<const Group> candidates) const {
    std::vector<double> out;
    out.reserve(candidates.size());
    for (const GroupForecast& forecast : this->forecast(candidates, ForecastDetail::PointOnly)) {
      out.push_back(forecast.preference);
    }
    return out;
  }
};

// A fitted model; immutable, thread-safe.
class ThroughputModel {
 public:
  virtual ~ThroughputModel() = default;

  [[nodiscard]] virtual const ModelCard& card() const = 0;

  // Profiles need not be those of the training; the Forecaster may refer to the model and must not
  // outlive it. Fails when a profile lacks what the model needs.
  [[nodiscard]] virtual Result<std::unique_ptr<Forecaster>> bind(
      std::span<const Profile> profiles) const = 0;

  // The `params` of the model file.
  [[nodiscard]] virtual nlohmann::json params() const = 0;
};

// Everything that a trainer may use.
struct TrainingSet {
  const dataset::Dataset* dataset = nullptr;
  std::vector<dataset::GroupRow> rows;        // fit rows first, then holdout
  std::size_t fit_rows = 0;                   // number of rows that the published procedures fit on
  std::vector<dataset::GroupRow> partitions;  // groups measured under thread limits; may be empty
  std::vector<dataset::LimitedRun> limited_runs;  // solo runs under thread limits; may be empty
  std::string features = "default";               // see select_features()
  std::uint64_t seed = 0;
  double time_budget_s = 60.0;  // kace-automl tries no further regression after this
};

}  // namespace carpool::model
