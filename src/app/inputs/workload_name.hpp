// What a workload is called in its profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace carpool::app {

// `given`, or where that is empty a name from the command: "train" of `python3 -u train.py`. An
// error when it will not do as the name of a file.
[[nodiscard]] Result<std::string> workload_name(const std::string& given,
                                                const std::vector<std::string>& command);

}  // namespace carpool::app
