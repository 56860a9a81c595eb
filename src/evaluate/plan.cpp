#include "evaluate/plan.hpp"

#include <algorithm>
#include <array>
#include <fnmatch.h>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text/names.hpp"
#include "dataset/splits.hpp"
#include "evaluate/repeats.hpp"

namespace carpool::evaluate {
namespace {

constexpr std::array kProtocols = {
    ProtocolKind{"pairs-n-occur", "every workload in at least --n-occur training rows (published)"},
    ProtocolKind{"unseen", "model and task of the target never seen in training (published)"},
    ProtocolKind{"triples-ratio", "a random share of the triples trains (published)"},
    ProtocolKind{"random", "a random --train-fraction of the rows trains"},
    ProtocolKind{"leave-one-out", "as unseen, by rule, on any table"},
    ProtocolKind{"transfer", "trained on all of --train-table, tested on all of --table"},
    ProtocolKind{"larger-groups",
                 "trained on small groups, tested on the larger ones of --test-data"},
    ProtocolKind{"file", "the splits of --splits FILE"},
    ProtocolKind{"mps-split", "the choice of the MPS partition of a group"},
};

constexpr std::array<std::uint32_t, 5> kPublishedSeeds = {10, 20, 30, 40, 50};
constexpr int kPublishedOccurrences = 3;

std::vector<std::size_t> workloads_of(const std::vector<dataset::GroupRow>& rows) {
  std::set<std::size_t> found;
  for (const dataset::GroupRow& row : rows) {
    for (const GroupMember& member : row.members) {
      found.insert(member.profile);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<dataset::GroupRow> pick(const dataset::GroupTable& table,
                                    const std::vector<std::size_t>& positions) {
  std::vector<dataset::GroupRow> rows;
  rows.reserve(positions.size());
  for (const std::size_t position : positions) {
    rows.push_back(table.rows[position]);
  }
  return rows;
}

Trial to_trial(const dataset::GroupTable& table, const dataset::Split& split) {
  Trial trial{.label = split.label,
              .training = pick(table, split.training()),
              .fit_rows = split.fit.size(),
              .test = pick(table, split.test),
              .targets = {}};
  trial.targets = split.target ? std::vector{*split.target} : workloads_of(trial.test);
  return trial;
}

std::vector<std::uint32_t> seeds_or(const PlanRequest& request, std::size_t default_count) {
  if (!request.seeds.empty()) {
    return request.seeds;
  }
  std::vector<std::uint32_t> seeds(default_count);
  std::iota(seeds.begin(), seeds.end(), 0U);
  return seeds;
}

Result<std::vector<dataset::Split>> n_occur_splits(const dataset::Dataset& dataset,
                                                   const dataset::GroupTable& table,
                                                   const PlanRequest& request) {
  const int n_occur = request.n_occur.value_or(kPublishedOccurrences);
  const auto published = dataset.folder / "splits" / "pairs_n_occur.csv";
  if (request.seeds.empty() && table.name == "pairs" && std::filesystem::exists(published)) {
    return dataset::load_splits(published, dataset, table, {.n_occur = n_occur, .train_ratio = {}});
  }
  std::vector<std::uint32_t> seeds = request.seeds;
  if (seeds.empty()) {
    seeds.assign(kPublishedSeeds.begin(), kPublishedSeeds.end());
  }
  std::vector<dataset::Split> splits;
  splits.reserve(seeds.size());
  for (const std::uint32_t seed : seeds) {
    splits.push_back(dataset::n_occur_split(table, n_occur, seed));
  }
  return splits;
}

Result<std::vector<dataset::Split>> unseen_splits(const dataset::Dataset& dataset,
                                                  const dataset::GroupTable& table) {
  const auto published = dataset.folder / "splits" / "unseen.csv";
  if (!std::filesystem::exists(published)) {
    return dataset::leave_one_out_splits(dataset, table);
  }
  auto splits = dataset::load_splits(published, dataset, table, {});
  if (splits && splits->empty()) {
    return dataset::leave_one_out_splits(dataset, table);
  }
  return splits;
}

Result<std::vector<dataset::Split>> random_splits(const dataset::GroupTable& table,
                                                  const PlanRequest& request) {
  const double fraction = request.train_fraction.value_or(0.5);
  if (!(fraction > 0.0 && fraction < 1.0)) {
    return invalid_input(
        fmt::format("--train-fraction {} is not between 0 and 1; try 0.5", fraction));
  }
  std::vector<dataset::Split> splits;
  for (const std::uint32_t seed : seeds_or(request, 20)) {
    splits.push_back(dataset::random_split(table, fraction, seed));
  }
  return splits;
}

Result<std::vector<dataset::Split>> make_splits(const dataset::Dataset& dataset,
                                                const dataset::GroupTable& table,
                                                const PlanRequest& request) {
  if (request.protocol == "pairs-n-occur") {
    return n_occur_splits(dataset, table, request);
  }
  if (request.protocol == "unseen") {
    return unseen_splits(dataset, table);
  }
  if (request.protocol == "triples-ratio") {
    return dataset::load_splits(dataset.folder / "splits" / "triples_trainratio.csv",
                                dataset,
                                table,
                                {.n_occur = {}, .train_ratio = request.train_fraction});
  }
  if (request.protocol == "leave-one-out") {
    return dataset::leave_one_out_splits(dataset, table);
  }
  if (request.protocol == "file") {
    return dataset::load_splits(
        request.splits_file,
        dataset,
        table,
        {.n_occur = request.n_occur, .train_ratio = request.train_fraction});
  }
  return random_splits(table, request);
}

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

// The published gpt2-xl score is over its three targets, although the table has others as well.
std::vector<std::string> target_patterns(const PlanRequest& request) {
  if (request.targets.empty() && request.protocol == "unseen" && request.table == "gpt2xl_pairs") {
    return {"gpt2-xl*"};
  }
  if (request.targets == std::vector<std::string>{"all"}) {
    return {};
  }
  return request.targets;
}

void keep_targets(EvaluationPlan& plan,
                  const dataset::Dataset& dataset,
                  const std::vector<std::string>& patterns) {
  for (Trial& trial : plan.trials) {
    std::erase_if(trial.targets, [&](std::size_t target) {
      return !matches_any(dataset.profiles[target].workload, patterns);
    });
  }
  std::erase_if(plan.trials, [](const Trial& trial) { return trial.targets.empty(); });
}

Result<void> check_request(const PlanRequest& request) {
  if (const auto known = find_named(protocol_kinds(), "protocol", request.protocol); !known) {
    return tl::unexpected(known.error());
  }
  if (request.protocol == "mps-split") {
    return fail(ErrorCode::Unsupported,
                "protocol mps-split has no train/test split of rows; use judge_partitions()");
  }
  if (request.protocol == "larger-groups") {
    return fail(ErrorCode::Unsupported,
                "protocol larger-groups has two datasets; use judge_larger_groups()");
  }
  if (request.n_occur && (*request.n_occur < 1 || *request.n_occur > 1'000'000)) {
    return invalid_input(
        fmt::format("--n-occur {} is not a number from 1 to 1000000", *request.n_occur));
  }
  return {};
}

}  // namespace

std::span<const ProtocolKind> protocol_kinds() {
  return kProtocols;
}

Result<EvaluationPlan> make_plan(const dataset::Dataset& dataset, const PlanRequest& request) {
  if (auto checked = check_request(request); !checked) {
    return tl::unexpected(checked.error());
  }
  auto table = dataset::load_group_table(dataset, request.table);
  if (!table) {
    return tl::unexpected(table.error());
  }
  EvaluationPlan plan{.protocol = request.protocol,
                      .description = {},
                      .group_size = table->group_size,
                      .trials = {},
                      .noise = noise_of(*table)};
  if (request.protocol == "transfer") {
    if (request.train_table == request.table) {
      return invalid_input(
          fmt::format("protocol transfer would train on table {} and test on the same rows: name "
                      "another one with --table or --train-table",
                      request.table));
    }
    auto training = dataset::load_group_table(dataset, request.train_table);
    if (!training) {
      return tl::unexpected(training.error());
    }
    plan.trials.push_back({.label = fmt::format("{} to {}", request.train_table, request.table),
                           .training = training->rows,
                           .fit_rows = training->rows.size(),
                           .test = table->rows,
                           .targets = workloads_of(table->rows)});
  } else {
    if (request.protocol == "random" || request.protocol == "leave-one-out") {
      *table = average_repeats(*table);
    }
    const auto splits = make_splits(dataset, *table, request);
    if (!splits) {
      return tl::unexpected(splits.error());
    }
    for (const dataset::Split& split : *splits) {
      plan.trials.push_back(to_trial(*table, split));
    }
  }
  if (const auto patterns = target_patterns(request); !patterns.empty()) {
    keep_targets(plan, dataset, patterns);
  }
  std::erase_if(plan.trials, [](const Trial& trial) { return trial.training.empty(); });
  if (plan.trials.empty()) {
    return invalid_input(fmt::format(
        "protocol {} on table {} gives no train/test split with training rows and a target: check "
        "--n-occur, --train-fraction and --targets",
        request.protocol,
        request.table));
  }
  plan.description = fmt::format("{} on {} ({} rows, groups of {}), {} split{}",
                                 request.protocol,
                                 request.table,
                                 table->rows.size(),
                                 table->group_size,
                                 plan.trials.size(),
                                 plan.trials.size() == 1 ? "" : "s");
  return plan;
}

}  // namespace carpool::evaluate
