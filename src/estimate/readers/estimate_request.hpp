// A request for the memory of one job: a file that describes the model, options, and the command.
// Options override flags of the command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimate/judge/rows.hpp"
#include "estimate/readers/described.hpp"
#include "estimate/readers/job_settings.hpp"

namespace carpool::estimate {

struct EstimateRequest {
  std::optional<std::string> source{};
  std::optional<std::string> weights{};
  JobSettings overrides{};             // from options
  std::vector<std::string> command{};  // program and arguments; empty: none
};

// `catalogue` is called only where the command names a model that is not a file.
[[nodiscard]] Result<RequestedJob> resolve_request(
    const EstimateRequest& request, const std::function<Result<LayerCatalogue>()>& catalogue);

}  // namespace carpool::estimate
