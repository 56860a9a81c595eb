// Protocols: from a dataset folder to train/test splits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/repeats.hpp"

namespace carpool::evaluate {

// One training set and its test rows.
struct Trial {
  std::string label;
  std::vector<dataset::GroupRow> training;  // rows that the published procedure fits on come first
  std::size_t fit_rows = 0;
  std::vector<dataset::GroupRow> test;
  std::vector<std::size_t> targets;  // profiles that choose a group among the test rows
};

struct EvaluationPlan {
  std::string protocol;     // as requested
  std::string description;  // one sentence for the reader
  std::size_t group_size = 0;
  std::vector<Trial> trials;
  std::optional<Noise> noise;  // of the table, from groups measured more than once
};

struct PlanRequest {
  std::string protocol = "pairs-n-occur";
  std::string table = "pairs";
  std::string train_table = "pairs";  // protocol transfer
  std::optional<int> n_occur;
  std::optional<double> train_fraction;  // protocol random; protocol triples-ratio
  std::vector<std::uint32_t> seeds;      // empty: the published ones, or the protocol's default
  std::filesystem::path splits_file;     // protocol file
  std::vector<std::string> targets;      // names or globs; empty: the protocol's own; "all": every
};

struct ProtocolKind {
  std::string_view name;
  std::string_view description;
};

[[nodiscard]] std::span<const ProtocolKind> protocol_kinds();

[[nodiscard]] Result<EvaluationPlan> make_plan(const dataset::Dataset& dataset,
                                               const PlanRequest& request);

}  // namespace carpool::evaluate
