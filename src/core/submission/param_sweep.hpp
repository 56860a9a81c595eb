// Sweeps: a job for each combination of the values of some parameters. `{name}` in its words stands
// for the value, which the job also finds in its environment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool {

using Params = std::map<std::string, std::string>;
using ParamLists = std::map<std::string, std::vector<std::string>>;

// "lr=1e-3,1e-4" adds a list; the same name twice is an error.
[[nodiscard]] Result<void> add_param(ParamLists& lists, std::string_view text);
// {"lr": ["1e-3", 0.1], "seed": 1}
[[nodiscard]] Result<ParamLists> read_param_lists(const nlohmann::json& object);

// Every combination; that of the last name changes fastest. More than `most` are an error.
[[nodiscard]] Result<std::vector<Params>> combinations(const ParamLists& lists, std::size_t most);

// Each parameter has a place in the job: {name} in the command, its name or its files, or the
// variable in the command.
[[nodiscard]] Result<void> check_params_used(const ParamLists& lists, const JobSpec& spec);

// Puts the values into the words of the job. Braces with other names stay as they are.
void apply_params(JobSpec& spec, Params params);

// "CARPOOL_PARAM_LR"
[[nodiscard]] std::string param_variable(std::string_view name);

}  // namespace carpool
