// One line of a file of measured jobs. The functions throw JSON exceptions on a missing key or a
// wrong type, which the reader of the file catches. Internal to estimate/.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "estimate/judge/rows.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<TrainingSetup> setup_from_json(const nlohmann::json& cfg);
// For families that the configuration describes completely: mlp, cnn, hf, llm, totals.
[[nodiscard]] Result<ModelShape> shape_from_json(const nlohmann::json& cfg);
[[nodiscard]] Result<LayerList> layers_from_json(const nlohmann::json& row, Precision precision);

// The job of the row, without what was measured.
[[nodiscard]] Result<DescribedJob> job_from_row(const nlohmann::json& row,
                                                RowView view,
                                                const LayerCatalogue& catalogue);

// The same model at another resolution: extents in pixels are scaled by `ratio`.
[[nodiscard]] LayerList at_resolution(const LayerList& list, double ratio);

}  // namespace carpool::estimate
