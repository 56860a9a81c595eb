// Reads the count of a job that calls carpool.step(), from its step file.
#pragma once

#include <filesystem>
#include <optional>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "observe/progress_rate.hpp"

namespace carpool::observe {

// Never maps the file, which belongs to the user of the job and may shrink.
class StepCount {
 public:
  [[nodiscard]] static Result<StepCount> open(const std::filesystem::path& path);

  // Empty: no step was reported yet, or the file is none of a step file.
  [[nodiscard]] std::optional<CountSeen> read(double now_s) const;

 private:
  explicit StepCount(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace carpool::observe
