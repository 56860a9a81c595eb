#include "evaluate/pairing.hpp"

#include <map>
#include <utility>
#include <vector>

#include "assign/dense_matching.hpp"
#include "evaluate/group_worth.hpp"

namespace carpool::evaluate {
namespace {

constexpr std::size_t kFewestWorkloads = 4;  // two can be paired in only one way

// The pairs of different workloads without limits, by their members.
using Pairs = std::map<std::pair<std::size_t, std::size_t>, const dataset::GroupRow*>;

Pairs pairs_of(const Trial& trial) {
  Pairs pairs;
  for (const auto* rows : {&trial.training, &trial.test}) {
    for (const dataset::GroupRow& row : *rows) {
      if (row.members.size() != 2 || !unlimited(row.members)) {
        continue;
      }
      const std::size_t a = row.members[0].profile;
      const std::size_t b = row.members[1].profile;
      if (a != b) {
        pairs.emplace(std::minmax(a, b), &row);
      }
    }
  }
  return pairs;
}

// Measured total of the heaviest perfect matching by `worth`; empty when it needs a pair that was
// not measured.
std::optional<double> measured_total(const Pairs& pairs,
                                     const std::map<std::size_t, std::size_t>& vertex_of,
                                     const std::vector<double>& worth,
                                     const std::vector<double>& measured) {
  constexpr int kNotAllowed = 2;
  assign::PairWeights weights(vertex_of.size());
  std::map<std::pair<std::size_t, std::size_t>, double> known;
  for (std::size_t second = 1; second < vertex_of.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      weights.at(first, second) = {.value = 0.0, .rank = kNotAllowed};
    }
  }
  std::size_t i = 0;
  for (const auto& [members, row] : pairs) {
    const std::pair vertices(vertex_of.at(members.first), vertex_of.at(members.second));
    weights.at(vertices.first, vertices.second) = {.value = worth[i], .rank = 0};
    known[vertices] = measured[i];
    ++i;
  }
  const std::vector<int> partner = assign::dense_perfect_matching(weights);
  double total = 0.0;
  for (std::size_t vertex = 0; vertex < partner.size(); ++vertex) {
    const auto other = static_cast<std::size_t>(partner[vertex]);
    if (vertex > other) {
      continue;
    }
    const auto found = known.find({vertex, other});
    if (found == known.end()) {
      return std::nullopt;
    }
    total += found->second;
  }
  return total;
}

}  // namespace

std::optional<double> pairing_score(const dataset::Dataset& dataset,
                                    const predict::Objective& objective,
                                    const Trial& trial,
                                    const model::Forecaster& forecaster) {
  const Pairs pairs = pairs_of(trial);
  std::map<std::size_t, std::size_t> vertex_of;  // profile -> vertex, in the order of profiles
  for (const auto& [members, row] : pairs) {
    vertex_of.emplace(members.first, 0);
    vertex_of.emplace(members.second, 0);
  }
  if (vertex_of.size() < kFewestWorkloads || vertex_of.size() % 2 != 0 ||
      objective.kind == predict::ObjectiveKind::MaxMin) {
    return std::nullopt;
  }
  std::size_t next = 0;
  for (auto& [profile, vertex] : vertex_of) {
    vertex = next++;
  }
  std::vector<Group> groups;
  std::vector<double> measured;
  for (const auto& [members, row] : pairs) {
    groups.push_back(row->members);
    measured.push_back(measured_worth(dataset, objective, *row));
  }
  const auto chosen = measured_total(
      pairs, vertex_of, predicted_worth(dataset, objective, forecaster, groups), measured);
  const auto best = measured_total(pairs, vertex_of, measured, measured);
  return chosen && best && *best > 0.0 ? std::optional(*chosen / *best) : std::nullopt;
}

}  // namespace carpool::evaluate
