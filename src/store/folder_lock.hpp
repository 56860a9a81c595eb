// At most one server per folder. The kernel releases the lock however the process ends.
#pragma once

#include <filesystem>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::store {

class FolderLock {
 public:
  [[nodiscard]] static Result<FolderLock> take(const std::filesystem::path& folder);
  // Whether a process holds it now.
  [[nodiscard]] static bool is_held(const std::filesystem::path& folder);

 private:
  explicit FolderLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace carpool::store
