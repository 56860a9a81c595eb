// The text that summary tools print of a model: the tables of torchsummary and torchinfo, which
// tell the shape of every output, and print(module), which does not: there the shapes follow from
// the layers' arguments in the order of the text, with a wider bound.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// Of what the user says, print(module) needs resolution or sequence.
[[nodiscard]] Result<ReadModel> parse_layer_summary(std::string_view text,
                                                    std::string_view name,
                                                    const JobSettings& settings);

// print(module) of PyTorch: modules with their arguments, no shapes.
[[nodiscard]] Result<ReadModel> parse_module_print(std::string_view text,
                                                   std::string_view name,
                                                   const JobSettings& settings);

}  // namespace carpool::estimate
