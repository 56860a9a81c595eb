// Tells the state that the programs of `carpool run` share what the driver knows of their memory,
// and finds processes of the run that escape the library.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/gpu.hpp"
#include "core/telemetry_source.hpp"
#include "interpose/state/memory_accounts.hpp"

namespace carpool::app {

// Used by one thread.
class MemoryWatch {
 public:
  MemoryWatch(std::unique_ptr<TelemetrySource> source,
              GpuInfo gpu,
              std::filesystem::path state_folder);

  // To be called every second or so. One run of a user writes: `writes` tells whether this one.
  // Returns processes of this run that have used the GPU without the library at several looks in a
  // row, each once, in words.
  [[nodiscard]] std::vector<std::string> look(bool writes);

 private:
  std::unique_ptr<TelemetrySource> source_;
  GpuInfo gpu_;
  std::filesystem::path state_folder_;
  interpose::MemoryAccountant accountant_;
  std::map<pid_t, unsigned> slotless_;  // processes of this run; looks in a row
};

}  // namespace carpool::app
