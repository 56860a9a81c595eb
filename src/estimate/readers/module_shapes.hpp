// Output shapes of modules that are called in sequence, from their printed arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/described_job.hpp"

namespace carpool::estimate {

// "kernel_size=(3, 3)" or "kernel_size=3": 3. Nothing: no such argument.
[[nodiscard]] std::optional<std::int64_t> argument(std::string_view arguments,
                                                   std::string_view name);
// The positional argument with this index: 64 at 1 of "3, 64, kernel_size=…".
[[nodiscard]] std::optional<std::int64_t> argument(std::string_view arguments, std::size_t place);

class ModuleShapes {
 public:
  ModuleShapes(std::int64_t resolution, std::int64_t tokens)
      : resolution_(resolution), tokens_(tokens) {}

  // The module as a line of a layer list, for one sample.
  [[nodiscard]] LayerLine next(std::string_view type, std::string_view arguments);

  [[nodiscard]] std::int64_t input_elements() const { return input_; }
  [[nodiscard]] bool images() const { return images_; }

 private:
  [[nodiscard]] std::int64_t convolve(std::string_view type, std::string_view arguments);
  [[nodiscard]] std::int64_t multiply(std::int64_t in, std::int64_t out, bool bias);
  void pool(std::string_view arguments);

  std::int64_t resolution_;
  std::int64_t tokens_;
  std::int64_t input_ = 0;
  bool images_ = false;
  std::vector<std::int64_t> shape_;  // of one sample; empty: no module yet
};

}  // namespace carpool::estimate
