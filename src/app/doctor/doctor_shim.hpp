// What `carpool doctor` finds out about the library in front of the driver (docs/shim.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu.hpp"
#include "interpose/launch/coverage.hpp"

namespace carpool::app {

struct DoctorCheck;

struct ShimFacts {
  std::filesystem::path library{};
  std::string library_problem{};        // why there is none; empty: there is one
  std::optional<std::string> driver{};  // the real libcuda.so.1; absent: the loader finds none
  std::string check_problem{};          // why the library could not be tried; empty: it was
  interpose::Coverage coverage{};       // if it was tried
  std::filesystem::path state_folder{};
  std::string state_problem{};  // why programs cannot share their state; empty: they can
  std::size_t clients = 0;      // programs of this user that have the library
  // Processes on GPUs with such clients that do not have it, in words.
  std::vector<std::string> escaped{};  // of this user
  std::vector<std::string> foreign{};  // of others
};

// `processes` are those of each GPU.
[[nodiscard]] ShimFacts look_at_shim(const std::vector<GpuInfo>& gpus,
                                     const std::vector<std::vector<GpuProcess>>& processes);
[[nodiscard]] std::vector<DoctorCheck> doctor_shim_checks(const ShimFacts& facts);

}  // namespace carpool::app
