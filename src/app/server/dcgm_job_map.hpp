// The folder from which dcgm-exporter (--hpc-job-mapping-dir) learns which jobs are on each GPU: a
// file for each GPU, named by the driver's index, with one job id in a line.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/job.hpp"

namespace carpool::app {

// Used by one thread. Its files are removed with it; those of a server that was killed, by the next
// one.
class DcgmJobMap {
 public:
  // Writes an empty file for each GPU: while dcgm-exporter reads, no file disappears.
  [[nodiscard]] static Result<std::unique_ptr<DcgmJobMap>> open(std::filesystem::path folder,
                                                                std::span<const GpuInfo> gpus);
  DcgmJobMap(const DcgmJobMap&) = delete;
  DcgmJobMap& operator=(const DcgmJobMap&) = delete;
  ~DcgmJobMap();

  // Jobs by the scheduler's index of their GPU, which is its place in the list of open(). Writes
  // only what changed; a failure is logged once and tried again.
  void follow(const std::map<unsigned, std::vector<JobId>>& residents);

 private:
  DcgmJobMap(std::filesystem::path folder, std::span<const GpuInfo> gpus);
  [[nodiscard]] Result<void> write(std::size_t place, const std::string& jobs);

  std::filesystem::path folder_;
  std::vector<std::string> names_;                   // of the files, by place
  std::vector<std::optional<std::string>> written_;  // empty: not known
  bool complained_ = false;
};

// Null without a folder.
[[nodiscard]] Result<std::unique_ptr<DcgmJobMap>> open_job_map(
    const std::optional<std::string>& folder, std::span<const GpuInfo> gpus);

}  // namespace carpool::app
