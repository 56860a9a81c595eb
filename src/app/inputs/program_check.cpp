#include "app/inputs/program_check.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace carpool::app {
namespace {

bool is_program(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

bool in_search_path(const std::string& word) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!folders.empty()) {
    const std::size_t colon = std::min(folders.find(':'), folders.size());
    if (is_program(std::filesystem::path(folders.substr(0, colon)) / word)) {
      return true;
    }
    folders.remove_prefix(std::min(colon + 1, folders.size()));
  }
  return false;
}

bool names_a_script(const std::string& word) {
  static constexpr std::array<std::string_view, 4> kEndings = {".toml", ".rad", ".py", ".sh"};
  return std::ranges::any_of(kEndings,
                             [&](std::string_view ending) { return word.ends_with(ending); });
}

std::string how_to_run(const std::string& word) {
  if (word.ends_with(".py")) {
    return fmt::format("write `carpool submit -- python {}`", word);
  }
  if (word.ends_with(".sh")) {
    return fmt::format("write `carpool submit -- bash {}`", word);
  }
  return fmt::format("name its interpreter before it, or make it executable: `chmod +x {}`", word);
}

}  // namespace

Result<void> check_program(const std::string& word, const std::filesystem::path& folder) {
  const bool has_folder = word.find('/') != std::string::npos;
  if (word.empty() || (!has_folder && in_search_path(word))) {
    return {};
  }
  const std::filesystem::path file = folder / word;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    return invalid_input(fmt::format("{} is a folder; name the program to run", word));
  }
  if (!std::filesystem::exists(file, ignored)) {
    return names_a_script(word)
               ? invalid_input(fmt::format("{}: no such file in {}; correct its name, or give its "
                                           "folder",
                                           word,
                                           folder.string()))
               : Result<void>();
  }
  if (!is_program(file)) {
    return invalid_input(fmt::format("{} is not executable; {}", word, how_to_run(word)));
  }
  if (!has_folder) {
    return invalid_input(
        fmt::format("{0} is not in a folder of PATH; write `carpool submit -- ./{0}`", word));
  }
  return {};
}

}  // namespace carpool::app
