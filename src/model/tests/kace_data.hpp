// The bundled KACE measurements and what their published procedure computes from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.hpp"
#include "dataset/dataset.hpp"
#include "dataset/splits.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message);
  }
  return *std::move(result);
}

inline std::filesystem::path kace_folder() {
  return std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/kace-v100";
}

struct KaceData {
  dataset::Dataset dataset = value_or_throw(dataset::load_dataset(kace_folder()));
  dataset::GroupTable pairs = value_or_throw(dataset::load_group_table(dataset, "pairs"));
};

inline const KaceData& kace_data() {
  static const KaceData data;
  return data;
}

inline constexpr std::array<std::uint32_t, 5> kPublishedSeeds = {10, 20, 30, 40, 50};

inline TrainingSet training_of(const dataset::Split& split) {
  TrainingSet training;
  training.dataset = &kace_data().dataset;
  for (const std::size_t position : split.training()) {
    training.rows.push_back(kace_data().pairs.rows[position]);
  }
  training.fit_rows = split.fit.size();
  return training;
}

// The test rows that a target chooses from.
struct Choice {
  std::vector<const dataset::GroupRow*> rows;
  std::vector<Group> candidates;

  // The first of the most preferred.
  [[nodiscard]] const dataset::GroupRow& chosen(const std::vector<double>& preferences) const {
    return *rows[static_cast<std::size_t>(std::max_element(preferences.begin(), preferences.end()) -
                                          preferences.begin())];
  }
  // Its sum over the best sum.
  [[nodiscard]] double score(const std::vector<double>& preferences) const {
    double best = 0.0;
    for (const dataset::GroupRow* row : rows) {
      best = std::max(best, row->sum());
    }
    return chosen(preferences).sum() / best;
  }
};

// By workload. The published procedure drops targets with a single candidate.
inline std::map<std::string, Choice> choices_of(const dataset::Split& split) {
  std::map<std::string, Choice> choices;
  const KaceData& data = kace_data();
  for (std::size_t target = 0; target < data.dataset.profiles.size(); ++target) {
    Choice choice;
    for (const std::size_t position : split.test) {
      const dataset::GroupRow& row = data.pairs.rows[position];
      if (row.contains(target)) {
        choice.rows.push_back(&row);
        choice.candidates.push_back(row.members);
      }
    }
    if (choice.rows.size() > 1) {
      choices[data.dataset.profiles[target].workload] = std::move(choice);
    }
  }
  return choices;
}

inline std::vector<double> preferences_of(const Forecaster& forecaster, const Choice& choice) {
  std::vector<double> preferences;
  for (const GroupForecast& forecast :
       forecaster.forecast(choice.candidates, ForecastDetail::PointOnly)) {
    preferences.push_back(forecast.preference);
  }
  return preferences;
}

// Mean over the targets.
inline double published_score(const ThroughputModel& model, const dataset::Split& split) {
  const auto forecaster = value_or_throw(model.bind(kace_data().dataset.profiles));
  double sum = 0.0;
  const auto choices = choices_of(split);
  for (const auto& [target, choice] : choices) {
    sum += choice.score(preferences_of(*forecaster, choice));
  }
  return sum / static_cast<double>(choices.size());
}

// Rows of a table of expected values without quotes, header included.
inline std::vector<std::vector<std::string>> read_expected(std::string_view file) {
  std::istringstream text(value_or_throw(read_file(kace_folder() / file)));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) {
      rows.back().push_back(field);
    }
  }
  return rows;
}

}  // namespace carpool::model
