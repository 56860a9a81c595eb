// How fast simulated jobs really run beside each other. Policies do not see it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/interference_model.hpp"
#include "simulate/simulation_constants.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

// Written pairs, pairs*1.4 (with the contention factor), activity, or as the file of a model.
struct TruthSpec {
  enum class Kind { Pairs, Activity, Model } kind = Kind::Pairs;
  double contention = kTraceContention;  // Pairs
  std::string model{};                   // Model: the file
};

[[nodiscard]] Result<TruthSpec> parse_truth(std::string_view text);

// Of Pairs or Activity, from a folder as data/carma-traces. A workload that the folder does not
// have is as active as the trace says.
[[nodiscard]] Result<std::unique_ptr<InterferenceModel>> make_truth(
    const TruthSpec& spec, const std::filesystem::path& folder, const Trace& trace);

}  // namespace carpool::simulate
