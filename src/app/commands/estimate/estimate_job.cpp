#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/commands/estimate/estimate_options.hpp"
#include "app/inputs/job_memory.hpp"
#include "app/inputs/past_jobs.hpp"
#include "app/output/job_memory_output.hpp"
#include "base/text/memory_size.hpp"
#include "estimate/advice.hpp"
#include "estimate/readers/command_flags.hpp"

namespace carpool::app {
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

Result<estimate::JobSettings> settings_from(const EstimateJobOptions& job) {
  estimate::JobSettings overrides{.batch = job.batch,
                                  .sequence = job.sequence,
                                  .accumulation = job.accumulate,
                                  .lora_rank = job.lora_rank,
                                  .decode_tokens = job.new_tokens,
                                  .resolution = job.resolution,
                                  .gpus = job.gpus,
                                  .zero_stage = job.zero_stage};
  if (job.train || job.inference) {
    overrides.mode = job.inference ? RunMode::Infer : RunMode::Train;
  }
  if (job.checkpointing) {
    overrides.checkpointing = true;
  }
  if (job.built_on_gpu) {
    overrides.built_on_gpu = true;
  }
  for (const auto& taken : {take(job.dtype, estimate::precision_named, overrides.precision),
                            take(job.optimizer, estimate::optimizer_named, overrides.optimizer),
                            take(job.task, estimate::task_named, overrides.task),
                            take(job.attention, estimate::attention_named, overrides.attention)}) {
    if (!taken) {
      return tl::unexpected(taken.error());
    }
  }
  return overrides;
}

Result<estimate::EstimateRequest> question_from(const EstimateJobOptions& job) {
  if (job.source.size() > 1) {
    return invalid_input(fmt::format("one file at a time, not {}; a command stands behind --",
                                     fmt::join(job.source, " ")));
  }
  estimate::EstimateRequest question{.weights = job.weights, .command = job.command};
  if (!job.source.empty()) {
    question.source = job.source.front();
  }
  return settings_from(job).map([&](estimate::JobSettings said) {
    question.overrides = said;
    return std::move(question);
  });
}

Result<std::int64_t> bytes_from(const std::string& text) {
  return parse_memory_size(text).map(
      [](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); });
}

// Sizes that the user states.
struct NamedSizes {
  std::optional<std::int64_t> context{};
  std::optional<std::int64_t> fits{};
};

Result<NamedSizes> sizes_from(const EstimateJobOptions& job) {
  NamedSizes sizes;
  for (const auto& [text, into] :
       {std::pair(&job.context, &sizes.context), std::pair(&job.fits, &sizes.fits)}) {
    if (*text) {
      const auto bytes = bytes_from(**text);
      if (!bytes) {
        return tl::unexpected(bytes.error());
      }
      *into = *bytes;
    }
  }
  return sizes;
}

// Earlier runs tell nothing about a job with other settings than those of its command. Another
// batch size is an exception: runs at several batch sizes show its effect.
bool runs_as_its_command(const EstimateJobOptions& job, estimate::JobSettings overrides) {
  overrides.batch.reset();
  overrides.gpus.reset();
  return overrides == estimate::JobSettings{} && !job.context && !job.model_file;
}

void print(const JobMemoryListing& listing, const Output& output) {
  if (output.json()) {
    output.print_json(job_memory_to_json(listing));
  } else {
    print_job_memory(listing, output);
  }
}

std::string command_text(const EstimateJobOptions& job) {
  return fmt::format("{}", fmt::join(job.command, " "));
}

Result<HistoryAnswer> history_of(const EstimateJobOptions& job, const estimate::JobSettings& said) {
  const auto flags = estimate::read_command(job.command).settings;
  return ask_history(job.server,
                     {.argv = job.command,
                      .folder = job_folder(""),
                      .gpus = said.gpus.value_or(flags.gpus.value_or(1)),
                      .batch = said.batch});
}

// True: the estimate of earlier runs is printed. Else `notes` receives what the user should know.
bool answer_from_history(const EstimateOptions& options,
                         const estimate::JobSettings& said,
                         const NamedSizes& sizes,
                         const Output& output,
                         std::vector<std::string>& notes) {
  const EstimateJobOptions& job = options.job;
  if (job.no_history || job.command.empty() || !runs_as_its_command(job, said)) {
    return false;
  }
  auto known = history_of(job, said);
  if (!known) {
    // No earlier run and no server are ordinary, and need no note.
    const ErrorCode code = known.error().code;
    if (code == ErrorCode::Unsupported || (job.server.socket && code != ErrorCode::NotFound)) {
      notes.push_back(fmt::format("not from history: {}", known.error().message));
    }
    return false;
  }
  MemoryEstimate& estimate = known->past.estimate;
  JobMemoryListing listing{.what = command_text(job),
                           .run = spoken_history(*known),
                           .estimate = estimate,
                           .levers = estimate::levers(known->like),
                           .history = known->past.from};
  if (sizes.fits) {
    const auto largest = estimate::largest_batch(known->like, *sizes.fits);
    if (!largest) {
      notes.push_back(fmt::format(
          "--fits from history: {} ({} without --fits: {:.2f} GiB)",
          largest.error().message,
          estimate::job_list_text(known->past.from),
          static_cast<double>(estimate.expected) / static_cast<double>(std::int64_t{1} << 30)));
      return false;
    }
    listing.fits = FittingBatch{.memory = *sizes.fits, .largest = *largest};
  }
  if (options.confidence != estimate.confidence) {
    estimate.notes.push_back(
        fmt::format("the bound from earlier runs always has a confidence of {:g} %",
                    100.0 * estimate.confidence));
  }
  print(listing, output);
  return true;
}

Result<void> answer_from_model(const EstimateOptions& options,
                               const estimate::EstimateRequest& question,
                               const NamedSizes& sizes,
                               const Output& output,
                               const std::vector<std::string>& notes) {
  const EstimateJobOptions& job = options.job;
  auto asked = ask_with_catalogue(question);
  if (!asked) {
    return tl::unexpected(asked.error());
  }
  if (sizes.context) {
    asked->job.machine.context_bytes = sizes.context;
  }
  asked->notes.insert(asked->notes.end(), notes.begin(), notes.end());
  const auto estimator = open_estimator(job.model_file, options.confidence);
  if (!estimator) {
    return tl::unexpected(estimator.error());
  }
  const auto estimate = estimate_asked(*estimator, *asked);
  if (!estimate) {
    return tl::unexpected(estimate.error());
  }
  const estimate::WiderEstimator wider(*estimator, asked->widening);
  JobMemoryListing listing{.what = job.source.empty() ? command_text(job) : job.source.front(),
                           .run = spoken_setup(asked->job.setup),
                           .estimate = *estimate,
                           .levers = estimate::levers(wider, asked->job)};
  if (sizes.fits) {
    const auto largest = estimate::largest_batch(wider, asked->job, *sizes.fits);
    if (!largest) {
      return tl::unexpected(largest.error());
    }
    listing.fits = FittingBatch{.memory = *sizes.fits, .largest = *largest};
  }
  print(listing, output);
  return {};
}

}  // namespace

Result<void> run_estimate_job(const EstimateOptions& options, const CommandContext& context) {
  const auto question = question_from(options.job);
  const auto sizes = sizes_from(options.job);
  if (!question || !sizes) {
    return tl::unexpected(question ? sizes.error() : question.error());
  }
  std::vector<std::string> notes;
  if (answer_from_history(options, question->overrides, *sizes, context.output, notes)) {
    return {};
  }
  return answer_from_model(options, *question, *sizes, context.output, notes)
      .map_error([&](Error error) {
        for (const std::string& note : notes) {
          error.message += fmt::format("; {}", note);
        }
        return error;
      });
}

}  // namespace carpool::app
