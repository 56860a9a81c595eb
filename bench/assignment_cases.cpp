// Assignment of many workloads: binding the model to their profiles, forecasting all pairs, and the
// whole assignment by each method.
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "assign/assignment.hpp"
#include "assign/group_values.hpp"
#include "bench_case.hpp"
#include "made_up_profiles.hpp"
#include "model/registry.hpp"

namespace carpool {
namespace {

using nlohmann::json;

constexpr std::uint32_t kSeed = 20;

struct Scenario {
  std::string name;
  std::shared_ptr<const model::ThroughputModel> model;
  std::vector<Profile> profiles;
  std::vector<std::size_t> workloads;  // profiles, one per workload
  std::size_t max_per_gpu = 2;

  [[nodiscard]] assign::AssignmentRequest request(assign::AssignMethod method) const {
    return {.workloads = workloads,
            .gpus = workloads.size() / max_per_gpu,
            .max_per_gpu = max_per_gpu,
            .method = method};
  }
};

using ScenarioPtr = std::shared_ptr<const Scenario>;

assign::Assignment bind_and_assign(const Scenario& scenario, assign::AssignMethod method) {
  const auto predictor = predict::Predictor::create(*scenario.model, scenario.profiles);
  return *assign::assign(*predictor, scenario.request(method));
}

BenchCase bind_case(const ScenarioPtr& scenario) {
  const auto bind = [scenario] {
    return predict::Predictor::create(*scenario->model, scenario->profiles)->solo_speeds().front();
  };
  return {.name = "bind/" + scenario->name, .run = bind, .answer = [scenario] {
            return json{{"profiles", scenario->profiles.size()}};
          }};
}

// Every pair of an assignment, scored.
BenchCase pairs_case(const ScenarioPtr& scenario) {
  const auto predictor = std::make_shared<predict::Predictor>(
      *predict::Predictor::create(*scenario->model, scenario->profiles));
  const auto forecast = [scenario, predictor] {
    const std::vector<double> weights(scenario->workloads.size(), 1.0);
    assign::GroupValues values(
        *predictor, scenario->workloads, weights, predict::Objective{}, std::nullopt);
    values.require_all_pairs();
    return static_cast<double>(values.asked());
  };
  return {.name = "pairs/" + scenario->name, .run = forecast, .answer = [forecast] {
            return json{{"forecasts", forecast()}};
          }};
}

BenchCase assign_case(const ScenarioPtr& scenario, const assign::AssignMethodInfo& info) {
  const assign::AssignMethod method = info.method;
  return {.name = fmt::format("assign/{}/{}", scenario->name, info.name),
          .run = [scenario, method] { return bind_and_assign(*scenario, method).total; },
          .answer =
              [scenario, method] {
                const assign::Assignment found = bind_and_assign(*scenario, method);
                return json{{"total", found.total},
                            {"optimal", found.optimal},
                            {"gpus", found.groups.size()},
                            {"left_over", found.left_over.size()}};
              }};
}

// The first `count` workloads of a scenario.
ScenarioPtr cut(const Scenario& from, std::size_t count, std::size_t max_per_gpu) {
  auto scenario = std::make_shared<Scenario>(from);
  scenario->name = fmt::format("distinct-{}-by-{}", count, max_per_gpu);
  scenario->profiles.resize(count);
  scenario->workloads.resize(count);
  scenario->max_per_gpu = max_per_gpu;
  return scenario;
}

void add_methods(const ScenarioPtr& scenario,
                 std::initializer_list<assign::AssignMethod> methods,
                 std::vector<BenchCase>& cases) {
  for (const assign::AssignMethodInfo& info : assign::assign_methods()) {
    if (std::ranges::find(methods, info.method) != methods.end()) {
      cases.push_back(assign_case(scenario, info));
    }
  }
}

}  // namespace

std::vector<BenchCase> assignment_cases(const BenchData& data) {
  constexpr std::size_t kMany = 1'000;
  const std::vector<Profile>& measured = data.dataset.profiles;
  const auto drawn = std::make_shared<Scenario>(
      Scenario{.name = "drawn-1000-by-2",
               .model = *(*model::find_model_kind("share"))->train(data.all_pairs()),
               .profiles = measured,
               .workloads = draw_profiles(measured.size(), kMany, kSeed)});
  const auto distinct = std::make_shared<Scenario>(*drawn);
  distinct->name = "distinct-1000-by-2";
  distinct->profiles = made_up_profiles(measured, kMany, kSeed);
  std::iota(distinct->workloads.begin(), distinct->workloads.end(), std::size_t{0});
  const auto nameless = std::make_shared<Scenario>(*distinct);
  nameless->name = "nameless-1000";
  for (Profile& profile : nameless->profiles) {
    profile.model.clear();
  }

  std::vector<BenchCase> cases = {bind_case(distinct), bind_case(nameless), pairs_case(distinct)};
  using enum assign::AssignMethod;
  add_methods(drawn, {Auto, Matching, LocalSearch}, cases);
  add_methods(distinct, {Auto, Matching, LocalSearch}, cases);
  add_methods(cut(*distinct, 100, 2), {Matching, LocalSearch}, cases);
  add_methods(cut(*distinct, 12, 2), {Exact, LocalSearch}, cases);
  add_methods(cut(*distinct, 12, 3), {Exact, LocalSearch}, cases);
  return cases;
}

}  // namespace carpool
