// Output shapes of modules that are called one after the other, from their printed arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/described_job.hpp"

namespace carpool::estimate {

// "kernel_size=(3, 3)" or "kernel_size=3": the first number; nothing: no such argument.
[[nodiscard]] std::optional<std::int64_t> argument(std::string_view arguments,
                                                   std::string_view name);
// The argument at this place of those without a name: 64 of "3, 64, kernel_size=…" at 1.
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
  std::vector<std::int64_t> shape_;  // of one sample; empty: nothing was called yet
};

}  // namespace carpool::estimate
