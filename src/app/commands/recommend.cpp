#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/grow_group.hpp"
#include "assign/partners.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

json ranked_to_json(const ModelSession& bench, const assign::RankedGroup& ranked) {
  json out = {{"group", bench.names(ranked.group)},
              {"feasible", ranked.score.feasible},
              {"value", nullptr},
              {"sum", nullptr},
              {"sum_interval90", nullptr},
              {"reasons", ranked.reasons}};
  if (ranked.forecast) {
    out["value"] = ranked.score.value;
    out["sum_interval90"] = interval_to_json(ranked.forecast->sum_interval90);
    if (ranked.forecast->sum) {
      out["sum"] = *ranked.forecast->sum;
    }
  }
  return out;
}

void print_ranking(const ModelSession& bench,
                   const std::vector<assign::RankedGroup>& ranking,
                   const Output& output) {
  TextTable table(output.colour());
  table.add_column("", TextTable::Align::Right);
  table.add_column("partner", TextTable::Align::Left);
  table.add_column(std::string(predict::objective_name(bench.objective.kind)),
                   TextTable::Align::Right);
  table.add_column(fmt::format("sum [{}]", bench.dataset.info.throughput_unit),
                   TextTable::Align::Right);
  table.add_column("why", TextTable::Align::Left);
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const assign::RankedGroup& ranked = ranking[i];
    auto names = bench.names(ranked.group);
    names.erase(names.begin());
    table.add_row({std::to_string(i + 1),
                   fmt::format("{}", fmt::join(names, " + ")),
                   ranked.forecast ? number(ranked.score.value) : "-",
                   ranked.forecast && ranked.forecast->sum ? number(*ranked.forecast->sum) : "-",
                   fmt::format("{}", fmt::join(ranked.reasons, "; "))},
                  i == 0 && ranked.score.feasible);
  }
  output.print(table.render());
}

void print_growth(const ModelSession& bench,
                  const assign::GrownGroup& grown,
                  const Output& output) {
  output.print("\n");
  output.heading("Adding members one by one");
  for (const assign::RankedGroup& step : grown.steps) {
    output.print(fmt::format("  + {}: {} ({})\n",
                             bench.names(step.group).back(),
                             number(step.score.value),
                             fmt::join(step.reasons, "; ")));
  }
  output.print(fmt::format("  stopped: {}\n", grown.stopped_because));
}

json to_json(const ModelSession& bench,
             const std::vector<assign::RankedGroup>& ranking,
             const std::optional<assign::GrownGroup>& grown) {
  json out = {{"objective", predict::objective_name(bench.objective.kind)},
              {"throughput_unit", bench.dataset.info.throughput_unit},
              {"partners", json::array()}};
  for (const assign::RankedGroup& ranked : ranking) {
    out["partners"].push_back(ranked_to_json(bench, ranked));
  }
  if (grown) {
    out["grown"] = {{"group", bench.names(grown->group)},
                    {"stopped_because", grown->stopped_because},
                    {"steps", json::array()}};
    for (const assign::RankedGroup& step : grown->steps) {
      out["grown"]["steps"].push_back(ranked_to_json(bench, step));
    }
  }
  return out;
}

Result<std::vector<assign::RankedGroup>> rank(const ModelSession& bench,
                                              std::size_t target,
                                              const std::vector<std::size_t>& candidates) {
  assign::PartnerRequest request{.target = target,
                                 .candidates = {},
                                 .objective = bench.objective,
                                 .memory_gib = bench.memory_gib};
  for (const std::size_t candidate : candidates) {
    request.candidates.push_back({candidate});
  }
  return assign::rank_partners(*bench.predictor, request);
}

Result<std::optional<assign::GrownGroup>> grow(const ModelSession& bench,
                                               std::size_t target,
                                               const std::vector<std::size_t>& candidates,
                                               std::size_t largest) {
  if (largest <= 2) {
    return std::optional<assign::GrownGroup>();
  }
  return assign::grow_group(*bench.predictor,
                            {.start = {target},
                             .pool = candidates,
                             .objective = bench.objective,
                             .memory_gib = bench.memory_gib,
                             .max_size = largest})
      .map([](assign::GrownGroup grown) { return std::optional(std::move(grown)); });
}

}  // namespace

Result<void> run_recommend(const RecommendOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto opened =
      open_workbench(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& bench = **opened;
  const auto target = find_workload(bench.dataset, options.target);
  if (!target) {
    return tl::unexpected(target.error());
  }
  const Result<std::vector<std::size_t>> candidates =
      options.candidates.empty() ? Result<std::vector<std::size_t>>(bench.trained_workloads())
                                 : find_workloads(bench.dataset, options.candidates);
  if (!candidates) {
    return tl::unexpected(candidates.error());
  }
  auto ranking = rank(bench, *target, *candidates);
  if (!ranking) {
    return tl::unexpected(ranking.error());
  }
  ranking->resize(std::min(ranking->size(), options.top));
  const auto grown = grow(bench, *target, *candidates, options.grow);
  if (!grown) {
    return tl::unexpected(grown.error());
  }
  if (output.json()) {
    json out = to_json(bench, *ranking, *grown);
    out["target"] = options.target;
    output.print_json(out);
    return {};
  }
  output.heading(fmt::format("Partners for {}", options.target));
  print_ranking(bench, *ranking, output);
  if (*grown) {
    print_growth(bench, **grown, output);
  }
  return {};
}

}  // namespace carpool::app
