#include "interpose/state/state_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {
namespace {

bool append(PathBuffer& path, std::size_t& length, std::string_view text) {
  if (text.size() >= path.size() - length) {
    return false;
  }
  text.copy(path.data() + length, text.size());
  length += text.size();
  path[length] = '\0';
  return true;
}

bool append_number(PathBuffer& path, std::size_t& length, std::uint64_t number) {
  std::array<char, 20> digits{};
  std::size_t first = digits.size();
  do {
    digits[--first] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return append(path, length, {digits.data() + first, digits.size() - first});
}

bool is_file_character(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z') || character == '-';
}

}  // namespace

bool default_state_folder(PathBuffer& path) {
  std::size_t length = 0;
  const char* named = std::getenv("CARPOOL_STATE_DIR");
  if (named != nullptr && *named == '/') {
    return append(path, length, named);
  }
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && ::access(runtime, W_OK) == 0) {
    return append(path, length, runtime) && append(path, length, "/carpool/state");
  }
  const char* temporary = std::getenv("TMPDIR");
  const bool usable = temporary != nullptr && *temporary == '/';
  return append(path, length, usable ? temporary : "/tmp") && append(path, length, "/carpool-") &&
         append_number(path, length, ::geteuid()) && append(path, length, "/state");
}

bool state_folder(std::string_view given, PathBuffer& path) {
  std::size_t length = 0;
  return given.empty() ? default_state_folder(path) : append(path, length, given);
}

bool state_file_name(std::string_view gpu_uuid, StateFileName& name) {
  constexpr std::string_view kSuffix = ".state";
  name = {};
  if (gpu_uuid.empty() || gpu_uuid.size() + kSuffix.size() >= name.size() ||
      gpu_uuid.size() >= sizeof(StateHeader::gpu_uuid) ||
      !std::ranges::all_of(gpu_uuid, is_file_character)) {
    return false;
  }
  gpu_uuid.copy(name.data(), gpu_uuid.size());
  kSuffix.copy(name.data() + gpu_uuid.size(), kSuffix.size());
  return true;
}

void make_state_folder(PathBuffer& path, uid_t owner) {
  const std::size_t length = std::strlen(path.data());
  const std::size_t slash = std::string_view(path.data(), length).rfind('/');
  if (slash != std::string_view::npos && slash > 0) {
    path[slash] = '\0';
    ::mkdir(path.data(), 0700);
    path[slash] = '/';
  }
  if (::mkdir(path.data(), 0700) == 0 && owner != ::geteuid()) {
    // Of the server for a user.
    if (::lchown(path.data(), owner, static_cast<gid_t>(-1)) != 0) {
      ::rmdir(path.data());
    }
  }
}

}  // namespace carpool::interpose
