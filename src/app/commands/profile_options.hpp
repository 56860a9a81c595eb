// Options of `carpool profile`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/option_set.hpp"

namespace carpool::app {

struct ProfileOptions {
  std::vector<std::string> command;
  std::string name;          // empty: from the command
  std::string folder = ".";  // of the profile
  unsigned gpu = 0;
  double steps = 20.0;
  double seconds = 3.0;
  double longest_seconds = 10.0;
  double start_seconds = 300.0;
  double after_seconds = 0.0;
  bool no_activity = false;
  bool counters = false;
  bool ncu = false;
  double ncu_seconds = 300.0;
  std::string nvtx;
  std::string step_regex;
  std::optional<std::string> from_ncu;  // export to read instead of running the program
};
void add_profile_options(OptionSet& options, ProfileOptions& profile);

}  // namespace carpool::app
