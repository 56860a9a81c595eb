#include "base/files/proc_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "base/process/descriptor.hpp"

namespace carpool {

std::string read_proc_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while (file.valid() && ((got = ::read(file.get(), part.data(), part.size())) > 0 ||
                          (got < 0 && errno == EINTR))) {
    text.append(part.data(), static_cast<std::size_t>(got > 0 ? got : 0));
  }
  return text;
}

}  // namespace carpool
