// How busy the processors of the machine are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace carpool::observe {

// Used by one thread.
class ProcessorLoad {
 public:
  explicit ProcessorLoad(std::filesystem::path file = "/proc/stat") : file_(std::move(file)) {}

  // Share of the time since the last call in which processors had nothing to do, 0 to 1. Empty: the
  // first call, or the file cannot be read.
  [[nodiscard]] std::optional<double> idle();

 private:
  struct Times {
    std::uint64_t all = 0;
    std::uint64_t idle = 0;
  };
  [[nodiscard]] std::optional<Times> read() const;

  std::filesystem::path file_;
  std::optional<Times> last_;
};

}  // namespace carpool::observe
