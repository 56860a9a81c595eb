// The watcher's side of a step file, memory shared with a workload. The workload writes the end of
// each step and pauses while the order is Hold. The workload's side is `carpool.step()` in
// python/carpool and workloads/cuda/step_file.h; docs/measuring.md describes the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"

namespace carpool::profile {

enum class StepOrder : std::uint32_t { Hold = 0, Run = 1, End = 2 };
enum class StepState : std::uint32_t { Starting = 0, Held = 1, Running = 2, Ended = 3 };

// Used by one thread at a time.
class StepFile {
 public:
  // Creates the file (mode 0600; it must not exist) with the order Hold.
  [[nodiscard]] static Result<StepFile> create(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void give(StepOrder order);
  // Cores 0 to 63 that the workload may use while it runs; 0: any.
  void set_cores(std::uint64_t mask);

  [[nodiscard]] StepState state() const;
  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] double units_per_step() const;
  [[nodiscard]] std::optional<std::int64_t> pid() const;

  // End times of steps first … last (counted from 0), nanoseconds of monotonic_ns(); nothing if the
  // file no longer holds all of them.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ends(std::uint64_t first,
                                                              std::uint64_t last) const;

 private:
  struct Unmap {
    void operator()(void* memory) const;
  };
  StepFile(std::filesystem::path path, void* memory) : path_(std::move(path)), memory_(memory) {}

  template <class Word>
  [[nodiscard]] Word& at(std::size_t offset) const;

  std::filesystem::path path_;
  std::unique_ptr<void, Unmap> memory_;
};

}  // namespace carpool::profile
