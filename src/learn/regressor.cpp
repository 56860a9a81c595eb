#include "learn/regressor.hpp"

#include <array>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/gaussian_process.hpp"
#include "learn/linear.hpp"
#include "learn/mlp.hpp"
#include "learn/stored.hpp"
#include "learn/tree_ensemble.hpp"

namespace carpool::learn {

Result<std::unique_ptr<Regressor>> regressor_from_json(const nlohmann::json& stored) {
  const auto kind = stored.is_object() ? stored.find("kind") : stored.end();
  if (kind == stored.end() || !kind->is_string()) {
    return broken_entry("kind", "the name of a regressor");
  }
  const auto& name = kind->get_ref<const std::string&>();
  using Read = Result<std::unique_ptr<Regressor>> (*)(const nlohmann::json&);
  constexpr std::array<std::pair<std::string_view, Read>, 4> kKinds = {{
      {LinearRegressor::kKind, LinearRegressor::from_json},
      {TreeEnsemble::kKind, TreeEnsemble::from_json},
      {MlpRegressor::kKind, MlpRegressor::from_json},
      {GaussianProcess::kKind, GaussianProcess::from_json},
  }};
  for (const auto& [known, read] : kKinds) {
    if (name == known) {
      return read(stored);
    }
  }
  return broken_entry("kind", "a known regressor");
}

}  // namespace carpool::learn
