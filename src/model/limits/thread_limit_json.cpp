#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "learn/stored.hpp"
#include "model/limits/limit_layout.hpp"
#include "model/limits/thread_limit_model.hpp"

namespace carpool::model {
namespace {

struct Column {
  const char* name;
  double LimitParameters::* value;
};
constexpr std::array<Column, WorkloadAt::kCount> kColumns{{
    {"log_parallelism", &LimitParameters::log_parallelism},
    {"log_sensitivity", &LimitParameters::log_sensitivity},
    {"log_pressure", &LimitParameters::log_pressure},
    {"sharing_gain", &LimitParameters::sharing_gain},
}};

Result<Eigen::VectorXd> read_list(const nlohmann::json& stored, const char* key, std::size_t size) {
  auto list = learn::read_vector(stored, key);
  if (list && static_cast<std::size_t>(list->size()) != size) {
    return learn::broken_entry(key, fmt::format("a list of {} numbers", size));
  }
  return list;
}

}  // namespace

nlohmann::json ThreadLimitModel::to_json() const {
  Eigen::VectorXd population(PopulationAt::kCount);
  LimitLayout::store(population_, population);
  nlohmann::json stored = {
      {"centre", {population_.centre.weight, population_.centre.headroom}},
      {"population", learn::stored_vector(population)},
  };
  for (const Column& column : kColumns) {
    nlohmann::json& list = stored[column.name] = nlohmann::json::array();
    for (const LimitParameters& workload : workloads_) {
      list.push_back(workload.*column.value);
    }
  }
  return stored;
}

Result<ThreadLimitModel> ThreadLimitModel::from_json(const nlohmann::json& stored,
                                                     std::size_t workloads) {
  const auto centre = read_list(stored, "centre", 2);
  if (!centre) {
    return tl::unexpected(centre.error());
  }
  const auto population = read_list(stored, "population", PopulationAt::kCount);
  if (!population) {
    return tl::unexpected(population.error());
  }
  std::vector<LimitParameters> parameters(workloads);
  for (const Column& column : kColumns) {
    const auto values = read_list(stored, column.name, workloads);
    if (!values) {
      return tl::unexpected(values.error());
    }
    for (std::size_t i = 0; i < workloads; ++i) {
      parameters[i].*column.value = (*values)[static_cast<Eigen::Index>(i)];
    }
  }
  const ShareSlopes around{.weight = (*centre)[0], .headroom = (*centre)[1]};
  return ThreadLimitModel(LimitLayout::population(*population, around), std::move(parameters));
}

}  // namespace carpool::model
