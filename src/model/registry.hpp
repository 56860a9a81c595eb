// The table of models: name, one line, how to train, how to load.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

struct ModelKind {
  std::string_view name;
  std::string_view description;
  bool slow = false;  // left out of evaluate's default list
  Result<std::unique_ptr<ThroughputModel>> (*train)(const TrainingSet& training) = nullptr;
  Result<std::unique_ptr<ThroughputModel>> (*load)(ModelCard card,
                                                   const nlohmann::json& params) = nullptr;
};

inline constexpr std::string_view kDefaultModel = "share";

[[nodiscard]] std::span<const ModelKind> model_kinds();

// Unknown name: an error that lists the known ones.
[[nodiscard]] Result<const ModelKind*> find_model_kind(std::string_view name);

}  // namespace carpool::model
