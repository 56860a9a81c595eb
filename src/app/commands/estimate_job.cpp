#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/job_memory.hpp"
#include "app/job_memory_output.hpp"
#include "estimate/advice.hpp"
#include "schedule/memory_size.hpp"

namespace carpool {
namespace {

template <class Value>
Result<void> take(const std::optional<std::string>& text,
                  Result<Value> (*named)(std::string_view),
                  std::optional<Value>& into) {
  if (!text) {
    return {};
  }
  return named(*text).map([&](Value value) { into = value; });
}

Result<JobSettings> settings_from(const EstimateJobOptions& job) {
  JobSettings said{.batch = job.batch,
                   .sequence = job.sequence,
                   .accumulation = job.accumulate,
                   .lora_rank = job.lora_rank,
                   .decode_tokens = job.new_tokens,
                   .resolution = job.resolution,
                   .gpus = job.gpus,
                   .zero_stage = job.zero_stage};
  if (job.train || job.inference) {
    said.mode = job.inference ? RunMode::Infer : RunMode::Train;
  }
  if (job.checkpointing) {
    said.checkpointing = true;
  }
  if (job.built_on_gpu) {
    said.built_on_gpu = true;
  }
  for (const auto& taken : {take(job.dtype, precision_named, said.precision),
                            take(job.optimizer, optimizer_named, said.optimizer),
                            take(job.task, task_named, said.task),
                            take(job.attention, attention_named, said.attention)}) {
    if (!taken) {
      return tl::unexpected(taken.error());
    }
  }
  return said;
}

Result<JobQuestion> question_from(const EstimateJobOptions& job) {
  if (job.source.size() > 1) {
    return invalid_input(fmt::format("one file at a time, not {}; a command goes behind --",
                                     fmt::join(job.source, " ")));
  }
  JobQuestion question{.weights = job.weights, .command = job.command};
  if (!job.source.empty()) {
    question.source = job.source.front();
  }
  return settings_from(job).map([&](JobSettings said) {
    question.said = said;
    return std::move(question);
  });
}

Result<std::int64_t> bytes_from(const std::string& text) {
  return parse_memory_size(text).map(
      [](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); });
}

Result<AskedJob> ask(const EstimateJobOptions& job) {
  const auto question = question_from(job);
  if (!question) {
    return tl::unexpected(question.error());
  }
  auto asked = ask_with_catalogue(*question);
  if (!asked || !job.context) {
    return asked;
  }
  return bytes_from(*job.context).map([&](std::int64_t bytes) {
    asked->job.machine.context_bytes = bytes;
    return std::move(*asked);
  });
}

}  // namespace

Result<void> run_estimate_job(const EstimateOptions& options, const CommandContext& context) {
  const EstimateJobOptions& job = options.job;
  const auto asked = ask(job);
  if (!asked) {
    return tl::unexpected(asked.error());
  }
  const auto estimator = open_estimator(job.model_file, options.confidence);
  if (!estimator) {
    return tl::unexpected(estimator.error());
  }
  const auto estimate = estimate_asked(*estimator, *asked);
  if (!estimate) {
    return tl::unexpected(estimate.error());
  }
  const WiderEstimator wider(*estimator, asked->widening);
  JobMemoryListing listing{.what = job.source.empty()
                                       ? fmt::format("{}", fmt::join(job.command, " "))
                                       : job.source.front(),
                           .asked = *asked,
                           .estimate = *estimate,
                           .levers = levers(wider, asked->job)};
  if (job.fits) {
    const auto memory = bytes_from(*job.fits);
    const auto largest = memory.and_then(
        [&](std::int64_t bytes) { return largest_batch(wider, asked->job, bytes); });
    if (!largest) {
      return tl::unexpected(largest.error());
    }
    listing.fits = FittingBatch{.memory = *memory, .largest = *largest};
  }
  if (context.output.json()) {
    context.output.print_json(job_memory_to_json(listing));
  } else {
    print_job_memory(listing, context.output);
  }
  return {};
}

}  // namespace carpool
