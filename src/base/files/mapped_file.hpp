// A large file of which little is looked at, without reading it whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace carpool {

// Its bytes stay where they are; a file that somebody cuts off meanwhile ends the program, so this
// is for commands of the file's own user, not for a daemon.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;  // none: an empty file
  std::size_t size_ = 0;
};

}  // namespace carpool
