// The commands that make a model or ask one: which workloads go well together.
#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {
namespace {

void add_model(CLI::App& command, ModelOptions& options) {
  add_data(command, options.data);
  command
      .add_option("--model", options.model, "Model to train (default: share; see carpool models)")
      ->type_name("NAME");
  command
      .add_option("--tables",
                  options.tables,
                  "Group tables to train on (default: pairs and, where "
                  "there is one, partitions)")
      ->delimiter(',')
      ->type_name("A,B");
  command
      .add_option("--features",
                  options.features,
                  "Metrics to use: default, kernel, system, none, default+xu")
      ->type_name("SET");
  command.add_option("--seed", options.seed, "Seed of models that draw random numbers")
      ->type_name("N")
      ->check(whole_number());
}

void add_model_or_file(CLI::App& command, ModelOptions& options) {
  add_model(command, options);
  command
      .add_option(
          "--model-file", options.model_file, "Use this NAME.model.json instead of training")
      ->type_name("FILE");
}

void add_goal(CLI::App& command, GoalOptions& options) {
  command
      .add_option("--objective",
                  options.objective,
                  "throughput, normalized, max-min or weighted (default: normalized)")
      ->type_name("NAME");
  command
      .add_option("--floor", options.floor, "No member below this share of its own speed, 0 to 1")
      ->type_name("F")
      ->check(share_of_one());
  command
      .add_option("--weights",
                  options.weights,
                  "Weight of each member for the objective weighted, the primary first "
                  "(default: 1, and 0.5 for all others)")
      ->delimiter(',')
      ->type_name("W,W");
  command.add_option("--memory", options.memory_gib, "Memory of one GPU (default: no limit)")
      ->type_name("GIB")
      ->check(above_zero());
}

void add_train(CLI::App& app, TrainOptions& options) {
  CLI::App* command = app.add_subcommand("train", "Train a model and write it to a file");
  add_model(*command, options.model);
  command->add_option("-o,--output", options.output, "File to write, NAME.model.json")
      ->required()
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool train -o v100.model.json\n"
      "  carpool train --data my-gpu --tables pairs,triples -o my-gpu.model.json");
}

void add_predict(CLI::App& app, PredictOptions& options) {
  CLI::App* command = app.add_subcommand(
      "predict", "How fast does each workload of a group run, alone and together");
  command->add_option("workloads", options.workloads, "Workloads that would share one GPU")
      ->required()
      ->type_name("W");
  add_model_or_file(*command, options.model);
  command
      ->add_option("--limits",
                   options.limits,
                   "MPS thread limit of each workload in % (default: 100 for all)")
      ->delimiter(',')
      ->type_name("P,P");
  add_goal(*command, options.goal);
  command->footer(
      "Examples:\n"
      "  carpool predict bert-base-cased_batch8-inf albert-base-v2_batch8-train\n"
      "  carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --limits 30,70\n"
      "  carpool predict bert-base-cased_batch2-inf vit_h_14_batch2-train --objective max-min");
}

void add_recommend(CLI::App& app, RecommendOptions& options) {
  CLI::App* command = app.add_subcommand("recommend", "Rank partners for a workload, with reasons");
  command->add_option("target", options.target, "The workload that looks for company")
      ->required()
      ->type_name("W");
  add_model_or_file(*command, options.model);
  add_goal(*command, options.goal);
  command
      ->add_option("--candidates",
                   options.candidates,
                   "Possible partners (default: every workload of the dataset)")
      ->delimiter(',')
      ->type_name("W,W");
  command->add_option("--top", options.top, "How many to show (default: 10)")
      ->type_name("N")
      ->check(whole_number());
  command
      ->add_option("--grow", options.grow, "Also add members one by one up to a group of this size")
      ->type_name("N")
      ->check(whole_number());
  command->footer(
      "Examples:\n"
      "  carpool recommend bert-base-cased_batch8-train\n"
      "  carpool recommend bert-base-cased_batch8-train --objective throughput --top 5\n"
      "  carpool recommend vit-base-patch16-224_batch8-inf --grow 4 --floor 0.4 --memory 32");
}

void add_assign(CLI::App& app, AssignOptions& options) {
  CLI::App* command =
      app.add_subcommand("assign", "Spread workloads over GPUs so that all run well");
  command
      ->add_option("workloads",
                   options.workloads,
                   "Workloads to place; one that is named twice runs twice (default: all of the "
                   "table)")
      ->type_name("W");
  add_model_or_file(*command, options.model);
  add_goal(*command, options.goal);
  command->add_option("--gpus", options.gpus, "GPUs at hand (default: just enough)")
      ->type_name("G")
      ->check(whole_number());
  command->add_option("--per-gpu", options.per_gpu, "Most workloads on one GPU (default: 2)")
      ->type_name("K")
      ->check(whole_number());
  command
      ->add_option(
          "--method", options.method, "auto, exact, matching or local-search (default: auto)")
      ->type_name("NAME");
  command->footer(
      "Examples:\n"
      "  carpool assign --gpus 11 --memory 32\n"
      "  carpool assign --gpus 7 --per-gpu 3 --objective max-min\n"
      "  carpool assign bert-base-cased_batch2-inf vit_h_14_batch2-train "
      "albert-base-v2_batch2-train");
}

}  // namespace

void add_model_commands(CLI::App& app, ParsedOptions& options) {
  add_train(app, options.train);
  add_predict(app, options.predict);
  add_recommend(app, options.recommend);
  add_assign(app, options.assign);
}

}  // namespace carpool::app
