// One line of a file of measured jobs. Internal to estimate/. The functions throw json exceptions
// on a missing key or a wrong type; whoever reads the file catches them.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "estimate/judge/rows.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<TrainingSetup> setup_from_json(const nlohmann::json& cfg);
// Of families that the configuration describes whole: mlp, cnn, hf, llm, totals.
[[nodiscard]] Result<ModelShape> shape_from_json(const nlohmann::json& cfg);
[[nodiscard]] Result<LayerList> layers_from_json(const nlohmann::json& row, Precision precision);

// All that the row says of the job, nothing of what was measured.
[[nodiscard]] Result<DescribedJob> job_from_row(const nlohmann::json& row,
                                                RowView view,
                                                const LayerCatalogue& catalogue);

// The same model at another resolution: what lies on a grid of pixels grows with its area.
[[nodiscard]] LayerList at_resolution(const LayerList& list, double ratio);

}  // namespace carpool::estimate
