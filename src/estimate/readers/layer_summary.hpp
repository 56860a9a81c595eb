// Text summaries of a model: the tables of torchsummary and torchinfo, which contain the shape of
// every output, and print(module), which does not. There the shapes follow from the arguments of
// the layers in the order of the text, with a wider bound.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// print(module) needs the resolution or sequence length of the settings.
[[nodiscard]] Result<ReadModel> parse_layer_summary(std::string_view text,
                                                    std::string_view name,
                                                    const JobSettings& settings);

// print(module) of PyTorch: modules with their arguments, no shapes.
[[nodiscard]] Result<ReadModel> parse_module_print(std::string_view text,
                                                   std::string_view name,
                                                   const JobSettings& settings);

}  // namespace carpool::estimate
