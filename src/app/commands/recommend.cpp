#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/model_session.hpp"
#include "app/inputs/sources.hpp"
#include "app/output/prediction_output.hpp"
#include "assign/grow_group.hpp"
#include "assign/partners.hpp"
#include "predict/predictor.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct RecommendOptions {
  ModelOptions model;
  GoalOptions goal;
  std::string target;
  std::vector<std::string> candidates;  // empty: every workload of the dataset
  std::size_t top = 10;
  std::size_t grow = 2;  // size of the group to grow; 2: partners are only ranked
};

void add_recommend_options(OptionSet& options, RecommendOptions& recommend) {
  options.positional(
      "target", &recommend.target, "W", "Workload to find partners for", {.required = true});
  add_model(options, recommend.model);
  add_goal(options, recommend.goal);
  options.option("--candidates",
                 &recommend.candidates,
                 "W,W",
                 "Possible partners (default: every workload of the dataset)",
                 {.commas = true});
  options.option("--top",
                 &recommend.top,
                 "N",
                 "Number of partners to show (default: 10)",
                 {.check = whole_number()});
  options.option("--grow",
                 &recommend.grow,
                 "N",
                 "Also add members one by one up to a group of this size",
                 {.check = whole_number()});
}

json ranked_to_json(const ModelSession& session, const assign::RankedGroup& ranked) {
  json out = {{"group", session.names(ranked.group)},
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

void print_ranking(const ModelSession& session,
                   const std::vector<assign::RankedGroup>& ranking,
                   const Output& output) {
  TextTable table(output.colour());
  table.add_column("", TextTable::Align::Right);
  table.add_column("partner", TextTable::Align::Left);
  table.add_column(std::string(predict::objective_name(session.objective.kind)),
                   TextTable::Align::Right);
  table.add_column(fmt::format("sum [{}]", session.dataset.info.throughput_unit),
                   TextTable::Align::Right);
  table.add_column("why", TextTable::Align::Left);
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const assign::RankedGroup& ranked = ranking[i];
    auto names = session.names(ranked.group);
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

void print_growth(const ModelSession& session,
                  const assign::GrownGroup& grown,
                  const Output& output) {
  output.print("\n");
  output.heading("Adding members one by one");
  for (const assign::RankedGroup& step : grown.steps) {
    output.print(fmt::format("  + {}: {} ({})\n",
                             session.names(step.group).back(),
                             number(step.score.value),
                             fmt::join(step.reasons, "; ")));
  }
  output.print(fmt::format("  stopped: {}\n", grown.stopped_because));
}

json to_json(const ModelSession& session,
             const std::vector<assign::RankedGroup>& ranking,
             const std::optional<assign::GrownGroup>& grown) {
  json out = {{"objective", predict::objective_name(session.objective.kind)},
              {"throughput_unit", session.dataset.info.throughput_unit},
              {"partners", json::array()}};
  for (const assign::RankedGroup& ranked : ranking) {
    out["partners"].push_back(ranked_to_json(session, ranked));
  }
  if (grown) {
    out["grown"] = {{"group", session.names(grown->group)},
                    {"stopped_because", grown->stopped_because},
                    {"steps", json::array()}};
    for (const assign::RankedGroup& step : grown->steps) {
      out["grown"]["steps"].push_back(ranked_to_json(session, step));
    }
  }
  return out;
}

Result<std::vector<assign::RankedGroup>> rank(const ModelSession& session,
                                              std::size_t target,
                                              const std::vector<std::size_t>& candidates) {
  assign::PartnerRequest request{.target = target,
                                 .candidates = {},
                                 .objective = session.objective,
                                 .memory_gib = session.memory_gib};
  for (const std::size_t candidate : candidates) {
    request.candidates.push_back({candidate});
  }
  return assign::rank_partners(*session.predictor, request);
}

Result<std::optional<assign::GrownGroup>> grow(const ModelSession& session,
                                               std::size_t target,
                                               const std::vector<std::size_t>& candidates,
                                               std::size_t largest) {
  if (largest <= 2) {
    return std::optional<assign::GrownGroup>();
  }
  return assign::grow_group(*session.predictor,
                            {.start = {target},
                             .pool = candidates,
                             .objective = session.objective,
                             .memory_gib = session.memory_gib,
                             .max_size = largest})
      .map([](assign::GrownGroup grown) { return std::optional(std::move(grown)); });
}

Result<void> run_recommend(const RecommendOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto opened =
      open_session(options.model, options.goal, context.config, context.output.progress());
  if (!opened) {
    return tl::unexpected(opened.error());
  }
  const ModelSession& session = **opened;
  const auto target = find_workload(session.dataset, options.target);
  if (!target) {
    return tl::unexpected(target.error());
  }
  const Result<std::vector<std::size_t>> candidates =
      options.candidates.empty() ? Result<std::vector<std::size_t>>(session.trained_workloads())
                                 : find_workloads(session.dataset, options.candidates);
  if (!candidates) {
    return tl::unexpected(candidates.error());
  }
  auto ranking = rank(session, *target, *candidates);
  if (!ranking) {
    return tl::unexpected(ranking.error());
  }
  ranking->resize(std::min(ranking->size(), options.top));
  const auto grown = grow(session, *target, *candidates, options.grow);
  if (!grown) {
    return tl::unexpected(grown.error());
  }
  if (output.json()) {
    json out = to_json(session, *ranking, *grown);
    out["target"] = options.target;
    output.print_json(out);
    return {};
  }
  output.heading(fmt::format("Partners for {}", options.target));
  print_ranking(session, *ranking, output);
  if (*grown) {
    print_growth(session, **grown, output);
  }
  return {};
}

}  // namespace

CommandSpec recommend_command() {
  return make_command(
      add_recommend_options,
      run_recommend,
      {"carpool recommend bert-base-cased_batch8-train",
       "carpool recommend bert-base-cased_batch8-train --objective throughput --top 5",
       "carpool recommend vit-base-patch16-224_batch8-inf --grow 4 --floor 0.4 --memory 32"});
}

}  // namespace carpool::app
