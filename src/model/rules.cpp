#include "model/rules.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "base/text/names.hpp"
#include "dataset/features.hpp"
#include "model/published/bound_features.hpp"

namespace carpool::model {

namespace {

constexpr std::array<Rule, 8> kRules = {{
    {.name = "memcap",
     .description = "least memory in use",
     .needs_truth = false,
     .metric = "memcap_gb",
     .combine = dataset::Combine::Sum,
     .sign = -1.0},
    {.name = "sm-busy",
     .description = "busiest SMs by nvidia-smi",
     .needs_truth = false,
     .metric = "sm_busy_pct",
     .combine = dataset::Combine::Mean,
     .sign = 1.0},
    {.name = "mem-busy",
     .description = "least busy memory by nvidia-smi",
     .needs_truth = false,
     .metric = "mem_busy_pct",
     .combine = dataset::Combine::Mean,
     .sign = -1.0},
    {.name = "best-rule",
     .description = "for each target the best of memcap, sm-busy, mem-busy and random",
     .needs_truth = true,
     .metric = {},
     .combine = dataset::Combine::Sum,
     .sign = 1.0},
    {.name = "sm-throughput",
     .description = "highest SM throughput of the kernels",
     .needs_truth = false,
     .metric = "sm_throughput_pct",
     .combine = dataset::Combine::Sum,
     .sign = 1.0},
    {.name = "exclusive-throughput",
     .description = "highest solo throughputs",
     .needs_truth = false,
     .metric = {},
     .combine = dataset::Combine::Sum,
     .sign = 1.0},
    {.name = "random",
     .description = "mean over the candidates",
     .needs_truth = true,
     .metric = {},
     .combine = dataset::Combine::Sum,
     .sign = 1.0},
    {.name = "oracle",
     .description = "the measured best",
     .needs_truth = true,
     .metric = {},
     .combine = dataset::Combine::Sum,
     .sign = 1.0},
}};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

Result<const Rule*> find_rule(std::string_view name) {
  return find_named(rules(), "rule", name);
}

Result<std::vector<double>> rule_preferences(const Rule& rule,
                                             std::span<const Profile> profiles,
                                             std::span<const Group> candidates) {
  if (rule.needs_truth) {
    return fail(ErrorCode::Unsupported,
                fmt::format("rule {} needs the measured throughput of the groups", rule.name));
  }
  dataset::FeatureSelection selection{.metrics = {}, .exclusive_throughput = rule.metric.empty()};
  if (!rule.metric.empty()) {
    selection.metrics.push_back(
        {.name = std::string(rule.metric), .combine = rule.combine, .group = {}});
  }
  const auto members = bound_features(selection, profiles, fmt::format("rule {}", rule.name));
  if (!members) {
    return tl::unexpected(members.error());
  }
  const Eigen::VectorXd values = rule.sign * group_features(selection, *members, candidates).col(0);
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace carpool::model
