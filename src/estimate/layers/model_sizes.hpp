// The numbers that published formulas use of a model: parameters, and outputs of layers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/described_job.hpp"

namespace carpool::estimate {

struct ModelSizes {
  std::int64_t parameters = 0;
  std::int64_t largest_layer = 0;       // its parameters
  std::vector<std::int64_t> outputs{};  // elements of each layer's output, of one sample
  std::int64_t input_elements = 0;      // of one sample

  [[nodiscard]] std::int64_t activations() const;  // all outputs of one sample
};

// The job must have passed check_job().
[[nodiscard]] ModelSizes sizes_of_model(const DescribedJob& job);

}  // namespace carpool::estimate
