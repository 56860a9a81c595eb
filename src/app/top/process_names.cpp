#include "app/top/process_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <pwd.h>
#include <string_view>
#include <sys/stat.h>

#include "base/process/process_table.hpp"
#include "base/text/utf8.hpp"

namespace carpool::app {
namespace {

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  // The second set of control characters is two bytes long.
  const bool second_set =
      character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || second_set;
}

// Removes control characters: a program name could move the cursor of the terminal.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    out += length == 0 ? "?" : is_control(character) ? " " : character;
    text.remove_prefix(character.size());
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::to_string(uid);
  }
  return found->pw_name;
}

}  // namespace

ProcessName name_process(std::int64_t pid, const std::filesystem::path& proc) {
  const std::filesystem::path folder = proc / std::to_string(pid);
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) {
    return {};
  }
  return {.user = user_name(status.st_uid), .command = printable(process_command(pid, proc))};
}

}  // namespace carpool::app
