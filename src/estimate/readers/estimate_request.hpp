// The one job that a user asks about: a file that describes the model, options, and the command
// itself, the stronger before the weaker.
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
  JobSettings overrides{};             // by options; goes before the command's flags
  std::vector<std::string> command{};  // the program and its arguments; empty: none
};

// `catalogue` is asked only where a command names a network by name.
[[nodiscard]] Result<RequestedJob> resolve_request(
    const EstimateRequest& request, const std::function<Result<LayerCatalogue>()>& catalogue);

}  // namespace carpool::estimate
