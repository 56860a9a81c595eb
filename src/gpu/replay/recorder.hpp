// Records a telemetry source to a file for ReplayTelemetry.
#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::gpu {

// The caller decides when to read. Used by one thread at a time; the source must outlive it.
class Recorder {
 public:
  // Creates the file or continues a recording of the same GPUs. Fails for any other file, for a
  // recording with an incomplete line, and for one made before the last boot.
  [[nodiscard]] static Result<Recorder> open(TelemetrySource& source,
                                             const std::filesystem::path& path);

  // Appends one reading of each GPU, in one write: concurrent readers see all of it or nothing.
  [[nodiscard]] Result<void> take();

  [[nodiscard]] std::size_t gpus() const { return gpus_; }

 private:
  Recorder(TelemetrySource& source, std::filesystem::path path, Descriptor file, std::size_t gpus)
      : source_(&source), path_(std::move(path)), file_(std::move(file)), gpus_(gpus) {}

  TelemetrySource* source_;
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t gpus_;
};

}  // namespace carpool::gpu
