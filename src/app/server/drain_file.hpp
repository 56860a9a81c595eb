// The mark in the state folder that the server is drained. It survives a restart, so that a machine
// that was emptied for maintenance stays empty.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace carpool::app {

class DrainFile {
 public:
  explicit DrainFile(const std::filesystem::path& state) : file_(state / "drained") {}

  // Since when and by whom, for people; empty: not drained. A mark that cannot be read counts.
  [[nodiscard]] std::optional<std::string> read() const;
  // On disk when it returns; returns what read() will. `at_s`: as the server shows times.
  [[nodiscard]] Result<std::string> set(const std::string& by, double at_s) const;
  [[nodiscard]] Result<void> clear() const;

 private:
  std::filesystem::path file_;
};

}  // namespace carpool::app
