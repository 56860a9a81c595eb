// How an attempt ended whose supervisor has ended.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

struct EndedRun {
  RunFolder folder;
  std::string journal{};  // named by the claim
  bool same_boot = true;  // the machine was not restarted since the claim
};

// Read from the exit file, whose time is converted to that of `clock`. Without an exit file the
// attempt is lost: processes that are left of it are killed first, because another attempt may
// follow at once. An error says nothing about the attempt: ask again later.
[[nodiscard]] Result<RunExit> conclude(const EndedRun& run, const std::function<double()>& clock);

}  // namespace carpool::run
