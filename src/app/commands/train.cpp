#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/sources.hpp"
#include "model/model_file.hpp"

namespace carpool::app {

Result<void> run_train(const TrainOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto dataset = open_dataset(options.model.data, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  const auto model =
      obtain_model(options.model, *dataset, context.config, context.output.progress());
  if (!model) {
    return tl::unexpected(model.error());
  }
  if (auto saved = model::save_model(**model, options.output); !saved) {
    return saved;
  }
  const model::ModelCard& card = (*model)->card();
  if (output.json()) {
    output.print_json(
        {{"file", options.output},
         {"kind", card.kind},
         {"training_rows", card.training_rows},
         {"workloads", card.workloads.size()},
         {"features", card.features},
         {"data_hash", card.data_hash},
         {"holdout_mape", card.holdout_mape ? nlohmann::json(*card.holdout_mape) : nullptr}});
    return {};
  }
  output.print(fmt::format(
      "{}: {} trained on {} rows of {} workloads{}\n",
      options.output,
      card.kind,
      card.training_rows,
      card.workloads.size(),
      card.holdout_mape
          ? fmt::format("; error of the sum on rows left out: {} %", percent(card.holdout_mape))
          : ""));
  return {};
}

}  // namespace carpool::app
