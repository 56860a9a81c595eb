#include "app/top/process_names.hpp"

#include <algorithm>
#include <string>
#include <sys/stat.h>

#include "base/process/process_table.hpp"
#include "base/text/printable.hpp"
#include "serve/caller.hpp"

namespace carpool::app {
namespace {

// Blanks in the place of NUL, which separates arguments.
std::string one_line(std::string command) {
  std::ranges::replace(command, '\0', ' ');
  command.erase(command.find_last_not_of(" \n") + 1);
  return printable(command);
}

}  // namespace

ProcessName name_process(std::int64_t pid, const std::filesystem::path& proc) {
  const std::filesystem::path folder = proc / std::to_string(pid);
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) {
    return {};
  }
  return {.user = printable(serve::user_name(status.st_uid)),
          .command = one_line(process_command(pid, proc))};
}

}  // namespace carpool::app
