#include "evaluate/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "evaluate/metrics.hpp"

namespace carpool::evaluate {
namespace {

using Key = std::vector<std::pair<std::size_t, double>>;

// The members in the order of their index, whatever order they were launched in.
dataset::GroupRow in_canonical_order(const dataset::GroupRow& row) {
  std::vector<std::size_t> order(row.members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const GroupMember& left = row.members[a];
    const GroupMember& right = row.members[b];
    return std::tie(left.profile, left.thread_limit, row.throughput[a]) <
           std::tie(right.profile, right.thread_limit, row.throughput[b]);
  });
  dataset::GroupRow sorted{.id = row.id, .members = {}, .throughput = {}};
  for (const std::size_t position : order) {
    sorted.members.push_back(row.members[position]);
    sorted.throughput.push_back(row.throughput[position]);
  }
  return sorted;
}

Key key_of(const dataset::GroupRow& row) {
  Key key;
  for (const GroupMember& member : row.members) {
    key.emplace_back(member.profile, member.thread_limit);
  }
  return key;
}

// The runs of each group, in the order of the groups' first appearance.
std::vector<std::vector<dataset::GroupRow>> runs_of(const dataset::GroupTable& table) {
  std::vector<std::vector<dataset::GroupRow>> runs;
  std::map<Key, std::size_t> seen;
  for (const dataset::GroupRow& original : table.rows) {
    dataset::GroupRow row = in_canonical_order(original);
    const auto [entry, fresh] = seen.try_emplace(key_of(row), runs.size());
    if (fresh) {
      runs.emplace_back();
    }
    runs[entry->second].push_back(std::move(row));
  }
  return runs;
}

}  // namespace

dataset::GroupTable average_repeats(const dataset::GroupTable& table) {
  dataset::GroupTable merged{.name = table.name, .group_size = table.group_size, .rows = {}};
  for (std::vector<dataset::GroupRow>& runs : runs_of(table)) {
    dataset::GroupRow average = std::move(runs.front());
    for (std::size_t run = 1; run < runs.size(); ++run) {
      for (std::size_t i = 0; i < average.throughput.size(); ++i) {
        average.throughput[i] +=
            (runs[run].throughput[i] - average.throughput[i]) / static_cast<double>(run + 1);
      }
    }
    merged.rows.push_back(std::move(average));
  }
  return merged;
}

std::optional<Noise> noise_of(const dataset::GroupTable& table) {
  Noise noise;
  std::vector<double> differences;
  for (const std::vector<dataset::GroupRow>& runs : runs_of(table)) {
    noise.groups += runs.size() > 1 ? 1 : 0;
    for (std::size_t run = 1; run < runs.size(); ++run) {
      for (std::size_t i = 0; i < runs[run].throughput.size(); ++i) {
        const double before = runs[run - 1].throughput[i];
        const double now = runs[run].throughput[i];
        if (before + now > 0.0) {
          differences.push_back(std::abs(now - before) / (0.5 * (now + before)));
        }
      }
    }
  }
  if (differences.empty()) {
    return std::nullopt;
  }
  noise.member_mean = *mean(differences);
  noise.member_median = median(std::move(differences));
  return noise;
}

}  // namespace carpool::evaluate
