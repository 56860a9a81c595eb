// The name of a workload in its profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace carpool::app {

// `given`, or if empty a name from the command: "train" of `python3 -u train.py`. Fails if the name
// cannot be a file name.
[[nodiscard]] Result<std::string> workload_name(const std::string& given,
                                                const std::vector<std::string>& command);

}  // namespace carpool::app
