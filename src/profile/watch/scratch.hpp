// A folder of ours that is gone when we are.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace carpool::profile {

// Removed with all that is in it at its end.
class ScratchFolder {
 public:
  // ROOT/scratch-PID, where ROOT is runtime_folder(); mode 0700, refused when it is not ours. What
  // campaigns that were killed have left there (folders, MPS daemons) is cleared away first.
  [[nodiscard]] static Result<ScratchFolder> make();

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Beside it and as short as can be: the sockets in it have 100 bytes for their names.
  [[nodiscard]] std::filesystem::path mps_folder() const;

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace carpool::profile
