#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "app/cli/option_checks.hpp"

namespace carpool::app {
namespace {

void add_job_options(CLI::App& command, EstimateJobOptions& job) {
  command
      .add_option("source",
                  job.source,
                  "What describes the model: config.json or its folder, a trace or row, an ONNX "
                  "file, a layer summary")
      ->type_name("SOURCE")
      ->expected(1)
      ->allow_extra_args(false);
  command.add_option("command", job.command, "The program and its arguments, behind --")
      ->type_name("-- COMMAND");
  const auto number = [&](const char* name, auto& into, const char* help) {
    command.add_option(name, into, help)->type_name("N")->check(whole_number());
  };
  const auto word = [&](const char* name, auto& into, const char* help, const char* type) {
    command.add_option(name, into, help)->type_name(type);
  };
  word("--weights", job.weights, "A safetensors file or its index, beside config.json", "FILE");
  number("--batch", job.batch, "Samples a step, on one GPU");
  number("--sequence", job.sequence, "Tokens of a sample (default: 512 or what the model takes)");
  word("--dtype", job.dtype, "fp32 (default), bf16, fp16, amp-bf16 or amp-fp16", "TYPE");
  word("--optimizer",
       job.optimizer,
       "adamw (default), adamw-fused, adamw-single, sgd, momentum, rmsprop or adagrad",
       "NAME");
  CLI::Option* train = command.add_flag("--train", job.train, "It trains (default)");
  command.add_flag("--inference", job.inference, "It only runs forward")->excludes(train);
  command.add_flag("--checkpointing", job.checkpointing, "Blocks are run again in backward");
  command.add_flag(
      "--built-on-gpu",
      job.built_on_gpu,
      "The model is made on the GPU in 32 bits, then converted (default: it comes there "
      "as it is)");
  number("--lora-rank", job.lora_rank, "Only adapters of this rank are trained");
  number("--accumulate", job.accumulate, "Batches whose gradients are added up in a step");
  number("--new-tokens", job.new_tokens, "Inference: tokens that are made behind the prompt");
  number("--resolution", job.resolution, "Pixels of a side, where layers are known at another one");
  number("--gpus", job.gpus, "GPUs of data parallelism");
  number("--zero-stage", job.zero_stage, "Of DeepSpeed, 0 to 3");
  word("--task", job.task, "The head: mlm, clm or classification", "TASK");
  word("--attention", job.attention, "sdpa (default) or eager", "KIND");
  word("--context",
       job.context,
       "What a process holds on your GPU before any tensor (default: 610M, an H200)",
       "SIZE");
  word("--fits", job.fits, "Also the largest batch that fits in so much memory", "SIZE");
  word("--model-file",
       job.model_file,
       "A fitted estimator (default: the bundled one); with --evaluate, it is judged as it is",
       "FILE");
  command.add_flag("--no-history",
                   job.no_history,
                   "Do not ask the server what earlier runs of the command took");
  add_socket(command, job.server);
}

}  // namespace

void add_estimate_commands(CLI::App& app, ParsedOptions& parsed) {
  EstimateOptions& options = parsed.estimate;
  CLI::App* command = app.add_subcommand(
      "estimate", "How much GPU memory a job will need; judge and fit the estimators of it");
  add_job_options(*command, options.job);
  CLI::Option* evaluate =
      command
          ->add_option(
              "--evaluate",
              options.evaluate,
              "Judge estimators on the measured jobs of this file (JSON lines, .gz or not)")
          ->type_name("ROWS");
  command->add_option("--fit", options.fit, "Fit carpool's own estimator to the jobs of this file")
      ->type_name("ROWS")
      ->excludes(evaluate);
  command
      ->add_option("--from",
                   options.view,
                   "What of a row may be seen: trace, layers, config or flags (default: layers)")
      ->type_name("VIEW");
  command
      ->add_option("--split",
                   options.split,
                   "names (default), published, leave-one-out or in-sample; see carpool estimators")
      ->type_name("NAME");
  command
      ->add_option("--estimator", options.estimators, "Which ones (default: all that can answer)")
      ->delimiter(',')
      ->type_name("A,B");
  command
      ->add_option("--catalogue",
                   options.catalogue,
                   "Rows with the layers of named models, for --from config")
      ->type_name("ROWS");
  command
      ->add_option("--convolutions",
                   options.convolutions,
                   "Measured single convolutions to learn workspaces from, or none (default: those "
                   "of an H200)")
      ->type_name("FILE");
  command->add_option("--confidence", options.confidence, "Of the upper bound (default: 0.99)")
      ->type_name("F")
      ->check(confidence());
  command->add_flag("--per-row", options.per_row, "With --json: every single estimate too");
  command->add_option("-o,--output", options.output, "With --fit: file to write, NAME.model.json")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  carpool estimate config.json --batch 8 --sequence 1024 --dtype bf16 --fits 40G\n"
      "  carpool estimate -- python run_clm.py --model_name_or_path gpt2 "
      "--per_device_train_batch_size 8\n"
      "  carpool estimate --batch 16 --fits 40G -- python run_clm.py --model_name_or_path gpt2 "
      "--per_device_train_batch_size 8\n"
      "  carpool estimate model.onnx --batch 32 --inference --json\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --from config "
      "--catalogue data/memory-h200/rows.jsonl.gz\n"
      "  carpool estimate --evaluate data/memory-h200/rows.jsonl.gz --estimator carpool,horus\n"
      "  carpool estimate --fit data/memory-h200/rows.jsonl.gz -o h200.model.json\n"
      "  carpool estimate --evaluate data/memory-collected/later.jsonl.gz --model-file "
      "h200.model.json\n"
      "A command that your server has run before, in this folder, is answered from what it took "
      "then, and --batch and --fits from runs at two other batch sizes; else from the model.");
  app.add_subcommand("estimators", "List memory estimators and splits")
      ->footer("Examples:\n  carpool estimators --json");
}

}  // namespace carpool::app
