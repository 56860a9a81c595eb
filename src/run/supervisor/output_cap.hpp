// The most disk space that each output of a job may hold. A job writes to its output files itself,
// so nothing can refuse a write: the supervisor gives the space of the oldest part back to the file
// system. The rest of the file keeps its offsets, and readers skip what is gone.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "run/run_folder.hpp"

namespace carpool::run {

class OutputCap {
 public:
  // 0: no cap.
  OutputCap(const RunFolder& folder, std::uint64_t most_bytes)
      : most_bytes_(most_bytes),
        outputs_{Output{.file = folder.stdout_file()}, Output{.file = folder.stderr_file()}} {}

  // To be called about once a second.
  void look();

 private:
  struct Output {
    std::filesystem::path file{};
    std::optional<std::uint64_t> told_at{};  // where the line is that says so
  };
  void look_at(Output& output) const;
  void cut(Output& output, int descriptor, std::uint64_t size) const;

  std::uint64_t most_bytes_;
  std::array<Output, 2> outputs_;
};

}  // namespace carpool::run
