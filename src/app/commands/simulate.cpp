#include <array>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/commands/simulate_options.hpp"
#include "app/commands/simulate_truth.hpp"
#include "app/output/simulate_output.hpp"
#include "base/files/file.hpp"
#include "base/progress/progress.hpp"
#include "base/text/memory_size.hpp"
#include "simulate/trace/generator.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kGeneratedJobs = 1000;
constexpr double kGeneratedDays = 1.0;
// Contention factors that the published runs do not rule out.
constexpr std::array kFactors = {1.4, simulate::kTraceContention, 3.0};

Result<std::vector<simulate::ComparedPolicy>> read_policies(const SimulateOptions& options) {
  simulate::ComparisonDefaults defaults{.rates = options.rates,
                                        .runtime_error = options.runtime_error};
  const auto memory = simulate::memory_source(options.estimator);
  const auto belief = simulate::belief_kind(options.belief);
  if (!memory || !belief) {
    return tl::unexpected(memory ? belief.error() : memory.error());
  }
  defaults.memory = *memory;
  defaults.belief = *belief;
  if (options.order) {
    const auto order = schedule::queue_order(*options.order);
    if (!order) {
      return tl::unexpected(order.error());
    }
    defaults.order = *order;
  }
  if (options.recovery) {
    const auto rule = schedule::recovery_rule(*options.recovery);
    if (!rule) {
      return tl::unexpected(rule.error());
    }
    defaults.recovery = *rule;
  }
  std::vector<simulate::ComparedPolicy> policies;
  for (const std::string& text : options.policies) {
    auto policy = simulate::parse_compared_policy(text, defaults);
    if (!policy) {
      return tl::unexpected(policy.error());
    }
    policies.push_back(std::move(*policy));
  }
  return policies;
}

Result<void> generate(const SimulateOptions& options, const CommandContext& context) {
  if (*options.generate != "philly") {
    return invalid_input(
        fmt::format("--generate {}: only traces like philly can be generated", *options.generate));
  }
  if (!options.output) {
    return invalid_input("--generate needs -o FILE, the trace to write");
  }
  const auto folder = pair_folder(options);
  if (!folder) {
    return tl::unexpected(folder.error());
  }
  const auto trace = simulate::generate_philly(*folder,
                                               {.jobs = options.jobs.value_or(kGeneratedJobs),
                                                .days = options.days.value_or(kGeneratedDays),
                                                .seed = options.seed});
  if (!trace) {
    return tl::unexpected(trace.error());
  }
  if (auto written = write_file(*options.output, simulate::trace_csv(*trace)); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json({{"file", *options.output}, {"jobs", trace->jobs.size()}});
  } else {
    context.output.print(fmt::format("{} written: {} jobs\n", *options.output, trace->jobs.size()));
  }
  return {};
}

Result<void> validate(const SimulateOptions& options, const CommandContext& context) {
  if (*options.validate != "aegis") {
    return invalid_input(
        fmt::format("--validate {}: only the runs of aegis are published", *options.validate));
  }
  const auto folder = pair_folder(options);
  if (!folder) {
    return tl::unexpected(folder.error());
  }
  Progress progress("validate",
                    kFactors.size() * simulate::kValidationRuns * options.seeds,
                    context.output.progress());
  std::vector<simulate::Validation> made;
  for (const double factor : kFactors) {
    auto one = simulate::validate_aegis(
        *folder, factor, options.seed, options.seeds, [&](const std::string& what) {
          progress.advance(what);
        });
    if (!one) {
      return tl::unexpected(one.error());
    }
    made.push_back(std::move(*one));
  }
  if (context.output.json()) {
    context.output.print_json(validation_json(made, options.seeds));
    return {};
  }
  context.output.heading(fmt::format(
      "Simulated against measured: AEGIS, philly60 on 3 A100-40, mean of {} runs, factor {}",
      options.seeds,
      simulate::kTraceContention));
  for (const simulate::Validation& one : made) {
    if (one.contention == simulate::kTraceContention) {
      context.output.print(validation_table(one.rows, context.output.colour()));
    }
  }
  context.output.heading("By contention factor");
  context.output.print(contention_table(made, context.output.colour()));
  context.output.remark(
      fmt::format("The factor {} is fitted on the makespan of the row marked so. Rank correlations "
                  "are over the "
                  "{} rows that share GPUs.\n",
                  simulate::kTraceContention,
                  made.front().rows.size() - 1));
  return {};
}

Result<void> write_report(const SimulateOptions& options,
                          const PolicyComparisonFacts& facts,
                          const simulate::Trace& trace,
                          const std::vector<simulate::ComparisonRow>& rows,
                          const CommandContext& context) {
  const std::string page = report::render_html(
      policy_comparison_report(facts, trace, rows, simulate::SimulationConstants{}));
  if (auto written = write_file(*options.report, page); !written) {
    return written;
  }
  if (!context.output.json()) {
    context.output.print(fmt::format("{} written: open it in a browser\n", *options.report));
  }
  return {};
}

void print_comparison(const PolicyComparisonFacts& facts,
                      const std::vector<simulate::ComparisonRow>& rows,
                      const Output& output) {
  if (output.json()) {
    output.print_json(policy_comparison_json(facts, rows));
    return;
  }
  output.heading(fmt::format("{}: {} jobs on {}, truth {}, belief {}, mean of {} run{}",
                             facts.trace,
                             facts.jobs,
                             facts.cluster,
                             facts.truth,
                             facts.belief,
                             facts.runs,
                             facts.runs == 1 ? "" : "s"));
  output.print(policy_comparison_table(rows, output.colour()));
}

Result<void> run_simulate(const SimulateOptions& options, const CommandContext& context) {
  if (auto checked = check_simulate_options(options); !checked) {
    return checked;
  }
  if (options.generate) {
    return generate(options, context);
  }
  if (options.validate) {
    return validate(options, context);
  }
  if (options.trace.empty()) {
    return invalid_input("no trace given: name a TRACE.csv, or use --generate or --validate");
  }
  const auto policies = read_policies(options);
  const auto cluster = simulate::parse_cluster(options.cluster);
  const auto trace = simulate::read_trace(options.trace);
  if (!policies || !cluster || !trace) {
    return tl::unexpected(!policies ? policies.error()
                                    : (!cluster ? cluster.error() : trace.error()));
  }
  const auto truth = open_truth(options, *trace, context.config);
  if (!truth) {
    return tl::unexpected(truth.error());
  }
  simulate::ComparisonSettings settings{.seed = options.seed,
                                        .seeds = options.seeds,
                                        .shuffles = options.shuffle,
                                        .keep_moments = options.report.has_value(),
                                        .keep_jobs = options.per_job.has_value()};
  const std::size_t runs = settings.runs();
  const PolicyComparisonFacts facts{
      .trace = trace->name,
      .cluster = cluster->name,
      .truth = options.truth,
      .belief = options.belief,
      .jobs = trace->jobs.size(),
      .gpus = cluster->gpus,
      .memory_gib = static_cast<double>(cluster->memory_bytes) / kBytesPerGiB,
      .runs = runs,
      .shuffled = options.shuffle > 0};
  Progress progress(
      "simulate", runs * policies->size() * trace->jobs.size(), context.output.progress());
  settings.on_jobs = [&](const std::string& what, std::size_t jobs) {
    progress.advance(what, jobs);
  };
  const auto rows = simulate::compare_policies(
      *trace, *cluster, **truth, *policies, settings, [](const std::string& /*run*/) {});
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  print_comparison(facts, *rows, context.output);
  if (options.per_job) {
    const std::string table = simulate::job_outcomes_csv(*rows, settings);
    if (auto written = write_file(*options.per_job, table); !written) {
      return written;
    }
  }
  return options.report ? write_report(options, facts, *trace, *rows, context) : Result<void>();
}

}  // namespace

CommandSpec simulate_command() {
  return make_command(
      add_simulate_options,
      run_simulate,
      {"carpool simulate --generate philly --jobs 200 --days 0.5 -o trace.csv",
       "carpool simulate trace.csv --runtime-error 0.3 --seeds 3 --report simulation.html",
       "carpool simulate trace.csv --cluster 3xA100-40 --seeds 3 --policy "
       "lug@aegis,magm:told,carpool",
       "carpool simulate --validate aegis --seeds 3"});
}

}  // namespace carpool::app
