#include "app/inputs/model_session.hpp"

#include <algorithm>
#include <utility>

#include "app/inputs/sources.hpp"

namespace carpool::app {
namespace {

Result<predict::Objective> to_objective(const GoalOptions& options, const Config& config) {
  const std::string name = options.objective.value_or(config.objective.value_or("normalized"));
  const auto kind = predict::find_objective(name);
  if (!kind) {
    return tl::unexpected(kind.error());
  }
  predict::Objective objective{.kind = *kind,
                               .floor = options.floor ? options.floor : config.floor};
  if (!options.weights.empty()) {
    if (objective.kind != predict::ObjectiveKind::Weighted) {
      return invalid_input("--weights needs --objective weighted");
    }
    objective.weights = options.weights;
  }
  return objective;
}

}  // namespace

std::vector<std::string> ModelSession::names(const Group& group) const {
  std::vector<std::string> out;
  for (const GroupMember& member : group) {
    out.push_back(dataset.profiles[member.profile].workload);
  }
  return out;
}

std::vector<std::size_t> ModelSession::trained_workloads() const {
  const std::vector<std::string>& known = model->card().workloads;
  std::vector<std::size_t> trained;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < dataset.profiles.size(); ++i) {
    all.push_back(i);
    if (std::find(known.begin(), known.end(), dataset.profiles[i].workload) != known.end()) {
      trained.push_back(i);
    }
  }
  return trained.empty() ? all : trained;
}

Result<std::unique_ptr<ModelSession>> open_session(const ModelOptions& model,
                                                   const GoalOptions& goal,
                                                   const Config& config,
                                                   Progress::Show show) {
  auto session = std::make_unique<ModelSession>();
  auto dataset = open_dataset(model.data, config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  session->dataset = std::move(*dataset);
  auto objective = to_objective(goal, config);
  if (!objective) {
    return tl::unexpected(objective.error());
  }
  session->objective = std::move(*objective);
  session->memory_gib = goal.memory_gib ? goal.memory_gib : config.memory_gib;
  auto obtained = obtain_model(model, session->dataset, config, show);
  if (!obtained) {
    return tl::unexpected(obtained.error());
  }
  session->model = std::move(*obtained);
  auto predictor = predict::Predictor::create(*session->model, session->dataset.profiles);
  if (!predictor) {
    return tl::unexpected(predictor.error());
  }
  session->predictor = std::move(*predictor);
  return session;
}

}  // namespace carpool::app
