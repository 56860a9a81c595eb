// A folder for temporary files.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace carpool::profile {

// The destructor removes the folder and its content.
class ScratchFolder {
 public:
  // ROOT/scratch-PID, where ROOT is runtime_folder(); mode 0700, owned by this user. Removes
  // folders and MPS daemons that killed campaigns left there.
  [[nodiscard]] static Result<ScratchFolder> make();

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // A short path beside it: socket paths are limited to 100 bytes.
  [[nodiscard]] std::filesystem::path mps_folder() const;

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace carpool::profile
