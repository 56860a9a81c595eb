#include "store/state_files.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace carpool::store {
namespace {

// Of "17.1"; 0 for any other name.
JobId job_of_folder(const std::string& name) {
  JobId job = 0;
  unsigned attempt = 0;
  const char* end = name.data() + name.size();
  const auto [dot, bad_job] = std::from_chars(name.data(), end, job);
  if (bad_job != std::errc() || dot == end || *dot != '.' || job < 1) {
    return 0;
  }
  const auto [rest, bad_attempt] = std::from_chars(dot + 1, end, attempt);
  return bad_attempt == std::errc() && rest == end ? job : 0;
}

}  // namespace

JobId highest_run(const std::filesystem::path& state) {
  JobId highest = 0;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(runs_folder(state), missing)) {
    highest = std::max(highest, job_of_folder(entry.path().filename().string()));
  }
  return highest;
}

}  // namespace carpool::store
