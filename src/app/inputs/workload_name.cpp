#include "app/inputs/workload_name.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "profile/workload_profile.hpp"

namespace carpool::app {
namespace {

bool is_interpreter(const std::string& word) {
  const std::string name = std::filesystem::path(word).filename().string();
  return name.starts_with("python") || name == "bash" || name == "sh" || name == "env";
}

// "train" of `python3 -u train.py --epochs 3`.
std::string name_from(const std::vector<std::string>& command) {
  std::string name;
  for (const std::string& word : command) {
    if (!is_interpreter(word) && !word.starts_with("-")) {
      name = std::filesystem::path(word).stem().string();
      break;
    }
  }
  if (name.empty() && !command.empty()) {
    name = std::filesystem::path(command.front()).filename().string();
  }
  std::erase_if(name,
                [](char letter) { return !profile::is_profile_name(std::string{'a', letter}); });
  name.resize(std::min<std::size_t>(name.size(), 100));
  return name;
}

}  // namespace

Result<std::string> workload_name(const std::string& given,
                                  const std::vector<std::string>& command) {
  std::string name = given.empty() ? name_from(command) : given;
  if (!profile::is_profile_name(name)) {
    return invalid_input(
        fmt::format("\"{}\" is not a workload name: use at most 100 letters, digits, '.', '_' or "
                    "'-', and set one with --name",
                    name));
  }
  return name;
}

}  // namespace carpool::app
