// The files by which the progress of one attempt is measured. They belong to the user of the job
// and are outside of the folder of the attempt, which only the server can enter:
//
//   window  orders to count launches, and the answers (gpu/cupti/window_file.hpp)
//   steps   of carpool.step() (docs/measuring.md)
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool::run {

// Of a server: where these files are, and the library that counts launches.
struct ProgressPlace {
  std::filesystem::path folder{};   // empty: progress is not measured
  std::filesystem::path library{};  // empty: launches are not counted
};

class ProgressFiles {
 public:
  // "<place>/17.1"
  [[nodiscard]] static ProgressFiles of(const std::filesystem::path& place, RunId run);

  [[nodiscard]] std::filesystem::path window_file() const { return folder_ / "window"; }
  [[nodiscard]] std::filesystem::path step_file() const { return folder_ / "steps"; }

  // Creates what the job wants (JobSpec::progress) and returns the variables that the job needs in
  // addition to `env`.
  [[nodiscard]] Result<std::map<std::string, std::string>> make(
      const ProgressPlace& place,
      const LaunchSpec& spec,
      const std::map<std::string, std::string>& env) const;
  void remove() const;

 private:
  explicit ProgressFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace carpool::run
