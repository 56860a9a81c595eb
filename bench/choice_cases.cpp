// The best of all pairs of the 21 workloads, by a model that is trained and bound already.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench_case.hpp"
#include "model/registry.hpp"

namespace carpool {
namespace {

struct Choice {
  std::unique_ptr<model::ThroughputModel> model;
  std::unique_ptr<model::Forecaster> forecaster;
  std::vector<Group> candidates;
};

std::size_t best_of(const Choice& choice) {
  const std::vector<double> preferences = choice.forecaster->preferences(choice.candidates);
  const auto best = std::ranges::max_element(preferences);
  return static_cast<std::size_t>(best - preferences.begin());
}

// Every pair, a workload with itself included, ordered by the first and then the second.
std::vector<Group> all_pairs(std::span<const std::size_t> profiles) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (std::size_t j = i; j < profiles.size(); ++j) {
      groups.push_back({{.profile = profiles[i]}, {.profile = profiles[j]}});
    }
  }
  return groups;
}

}  // namespace

std::vector<BenchCase> choice_cases(const BenchData& data) {
  std::vector<BenchCase> cases;
  for (const std::string kind : {"share", "kace-lr"}) {
    auto choice = std::make_shared<Choice>();
    choice->model = *(*model::find_model_kind(kind))->train(data.training_set(data.splits.front()));
    choice->forecaster = *choice->model->bind(data.dataset.profiles);
    choice->candidates = all_pairs(data.candidates);
    cases.push_back({.name = "choose/" + kind,
                     .run = [choice] { return static_cast<double>(best_of(*choice)); },
                     .answer =
                         [choice] {
                           return nlohmann::json{{"candidates", choice->candidates.size()},
                                                 {"best", best_of(*choice)}};
                         }});
  }
  return cases;
}

}  // namespace carpool
