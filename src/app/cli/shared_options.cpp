#include "app/cli/shared_options.hpp"

#include "app/cli/option_set.hpp"

namespace carpool::app {

void add_socket(OptionSet& options, ServerOptions& server) {
  options.option("--socket",
                 &server.socket,
                 "PATH",
                 "Socket of the server (default: $CARPOOL_SOCKET, your own server, the machine's)");
}

void add_data(OptionSet& options, std::optional<std::string>& data) {
  options.option("--data", &data, "DIR", "Dataset folder (default: the bundled kace-v100)");
}

void add_replay(OptionSet& options, std::optional<std::string>& replay) {
  options.option(
      "--replay", &replay, "FILE", "Recording to show instead of a GPU (see carpool record)");
}

void add_training(OptionSet& options, ModelOptions& model) {
  add_data(options, model.data);
  options.option(
      "--model", &model.model, "NAME", "Model to train (default: share; see carpool models)");
  options.option("--tables",
                 &model.tables,
                 "A,B",
                 "Group tables to train on (default: pairs, and partitions where there is one)",
                 {.commas = true});
  options.option("--features",
                 &model.features,
                 "SET",
                 "Metrics to use: default, kernel, system, none, default+xu");
  options.option("--seed",
                 &model.seed,
                 "N",
                 "Seed of models that draw random numbers (default: 0)",
                 {.check = whole_number()});
}

void add_model(OptionSet& options, ModelOptions& model) {
  add_training(options, model);
  options.option("--model-file",
                 &model.model_file,
                 "FILE",
                 "Trained NAME.model.json to use instead of --model");
}

void add_goal(OptionSet& options, GoalOptions& goal) {
  options.option("--objective",
                 &goal.objective,
                 "NAME",
                 "throughput, normalized, max-min or weighted (default: normalized)");
  options.option("--floor",
                 &goal.floor,
                 "F",
                 "Least share of its solo speed that each member keeps, 0 to 1",
                 {.check = share_of_one()});
  options.option("--weights",
                 &goal.weights,
                 "W,W",
                 "Weight of each member for the objective weighted, the primary member first; the "
                 "last one also counts for all further members (default: 1,0.5)",
                 {.commas = true});
  options.option("--memory",
                 &goal.memory_gib,
                 "GIB",
                 "Memory of one GPU (default: no limit)",
                 {.check = above_zero()});
}

}  // namespace carpool::app
