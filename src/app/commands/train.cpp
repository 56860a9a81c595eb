#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/sources.hpp"
#include "model/model_file.hpp"

namespace carpool::app {
namespace {

struct TrainOptions {
  ModelOptions model;
  std::string output;
};

void add_train_options(OptionSet& options, TrainOptions& train) {
  add_training(options, train.model);
  options.option(
      "-o,--output", &train.output, "FILE", "File to write, NAME.model.json", {.required = true});
}

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
          ? fmt::format("; error of the sum on held-out rows: {} %", percent(card.holdout_mape))
          : ""));
  return {};
}

}  // namespace

CommandSpec train_command() {
  return make_command(add_train_options,
                      run_train,
                      {"carpool train -o v100.model.json",
                       "carpool train --data my-gpu --tables pairs,triples -o my-gpu.model.json"});
}

}  // namespace carpool::app
