// Writes what a telemetry source tells to a file that a ReplayTelemetry reads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::gpu {

// The caller says when to read, and waits in between. Used by one thread at a time; the source must
// outlive it.
class Recorder {
 public:
  // Begins the file, or goes on with a recording of the same GPUs. Anything else under that name is
  // refused, as is a recording with a line cut off, and one from before the machine's last start.
  [[nodiscard]] static Result<Recorder> open(TelemetrySource& source,
                                             const std::filesystem::path& path);

  // One reading of every GPU, in the file when this returns. Its lines are written whole, in one
  // piece: who reads meanwhile sees all of it or nothing.
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
