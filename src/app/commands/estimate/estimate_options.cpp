#include "app/commands/estimate/estimate_options.hpp"

namespace carpool::app {
namespace {

void add_number(OptionSet& options,
                const char* name,
                std::optional<std::int64_t>& target,
                const char* description) {
  options.option(name, &target, "N", description, {.check = whole_number()});
}

void add_training_options(OptionSet& options, EstimateJobOptions& job) {
  options.option(
      "--dtype", &job.dtype, "TYPE", "Precision: fp32 (default), bf16, fp16, amp-bf16 or amp-fp16");
  options.option("--optimizer",
                 &job.optimizer,
                 "NAME",
                 "adamw (default), adamw-fused, adamw-single, sgd, momentum, rmsprop or adagrad");
  options.flag("--train", job.train, "Estimate training (default)", {.excludes = "--inference"});
  options.flag("--inference", job.inference, "Estimate inference: forward passes only");
  options.flag(
      "--checkpointing", job.checkpointing, "Recompute activations of blocks in the backward pass");
  options.flag("--built-on-gpu",
               job.built_on_gpu,
               "Build the model on the GPU in 32 bits, then convert it (default: it is loaded in "
               "its precision)");
  add_number(options, "--lora-rank", job.lora_rank, "Rank of LoRA adapters; only they are trained");
  add_number(
      options, "--accumulate", job.accumulate, "Batches whose gradients are accumulated in a step");
  add_number(options, "--gpus", job.gpus, "Number of data-parallel GPUs");
  add_number(options, "--zero-stage", job.zero_stage, "ZeRO stage of DeepSpeed, 0 to 3");
}

void add_job_options(OptionSet& options, EstimateJobOptions& job) {
  options.positional("source",
                     &job.source,
                     "SOURCE",
                     "Description of the model: config.json or its folder, a trace or row, an ONNX "
                     "file, a layer summary",
                     {.one_word = true});
  options.program_behind(
      job.source, "command", job.command, "-- COMMAND", "Program and its arguments, behind --");
  options.option("--weights",
                 &job.weights,
                 "FILE",
                 "Weights beside config.json: a safetensors file or its index");
  add_number(options, "--batch", job.batch, "Samples per step on one GPU");
  add_number(options,
             "--sequence",
             job.sequence,
             "Tokens per sample (default: 512, or the limit of the model)");
  add_training_options(options, job);
  add_number(options, "--new-tokens", job.new_tokens, "Inference: tokens generated per prompt");
  add_number(options,
             "--resolution",
             job.resolution,
             "Pixels per side, if the layers are described at another resolution");
  options.option("--task", &job.task, "TASK", "Head of the model: mlm, clm or classification");
  options.option(
      "--attention", &job.attention, "KIND", "Attention kernel: sdpa (default) or eager");
  options.option("--context",
                 &job.context,
                 "SIZE",
                 "Memory of a process on your GPU before any tensor (default: 760M, an H200)",
                 {.check = memory_size()});
  options.option("--fits",
                 &job.fits,
                 "SIZE",
                 "GPU memory for which to find the largest batch that fits",
                 {.check = memory_size()});
  options.option(
      "--model-file",
      &job.model_file,
      "FILE",
      "Fitted estimator (default: the bundled one); with --evaluate: the one to evaluate");
  options.flag("--no-history",
               job.no_history,
               "Do not ask the server for the memory of earlier runs of the command");
  add_socket(options, job.server);
}

}  // namespace

void add_estimate_options(OptionSet& options, EstimateOptions& estimate) {
  add_job_options(options, estimate.job);
  options.option("--evaluate",
                 &estimate.evaluate,
                 "ROWS",
                 "File of measured jobs to evaluate estimators on (JSON lines, .gz or not)",
                 {.excludes = "--fit"});
  options.option(
      "--fit", &estimate.fit, "ROWS", "File of measured jobs to fit the estimator carpool to");
  options.option("--from",
                 &estimate.view,
                 "VIEW",
                 "Part of a row that estimators see: trace, layers, config or flags (default: "
                 "layers)");
  options.option("--split",
                 &estimate.split,
                 "NAME",
                 "Train/test split: names (default), published, leave-one-out or in-sample; see "
                 "carpool estimators");
  options.option("--estimator",
                 &estimate.estimators,
                 "A,B",
                 "Estimators to evaluate (default: all that apply)",
                 {.commas = true});
  options.option("--catalogue",
                 &estimate.catalogue,
                 "ROWS",
                 "File with the layers of named models, for --from config");
  options.option("--convolutions",
                 &estimate.convolutions,
                 "FILE",
                 "Measured convolutions to learn workspaces from, or none (default: those of an "
                 "H200)");
  options.option("--confidence",
                 &estimate.confidence,
                 "F",
                 "Confidence of the upper bound (default: 0.99)",
                 {.check = confidence_level()});
  options.flag("--per-row", estimate.per_row, "With --json: print every single estimate too");
  options.option(
      "-o,--output", &estimate.output, "FILE", "With --fit: file to write, NAME.model.json");
}

}  // namespace carpool::app
