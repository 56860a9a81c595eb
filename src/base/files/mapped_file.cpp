#include "base/files/mapped_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const auto failure = [&](std::string_view what) {
    const int code = errno;
    return fail(
        code == ENOENT ? ErrorCode::NotFound : ErrorCode::Internal,
        fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code)));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return failure("open");
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    return failure("inspect");
  }
  if (!S_ISREG(status.st_mode)) {
    return invalid_input(fmt::format("{} is not a regular file", path.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    return MappedFile(nullptr, 0);
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) {
    return failure("map");
  }
  return MappedFile(data, size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace carpool
