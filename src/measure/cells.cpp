#include "measure/cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/numpy_random.hpp"

namespace carpool::measure {
namespace {

std::vector<Member> members_of(const PlannedGroups& groups,
                               const std::vector<std::size_t>& workloads,
                               const std::vector<double>* percentages) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    Member member{.workload = workloads[i],
                  .mechanism = groups.mechanism,
                  .thread_percentage = percentages != nullptr ? (*percentages)[i] : 100.0,
                  .low_priority = !groups.low_priority.empty() && groups.low_priority[i],
                  .copy = 0};
    while (std::find(members.begin(), members.end(), member) != members.end()) {
      ++member.copy;
    }
    members.push_back(member);
  }
  return members;
}

// Which groups of the family are measured one more time.
std::vector<bool> drawn_again(const PlannedGroups& groups, std::size_t count, NumpyRandom& random) {
  std::vector<bool> again(count, false);
  const auto wanted =
      static_cast<std::size_t>(std::llround(groups.repeated_share * static_cast<double>(count)));
  const std::vector<std::size_t> order = random.permutation(count);
  for (std::size_t i = 0; i < wanted; ++i) {
    again[order[i]] = true;
  }
  return again;
}

void expand_groups(const PlannedGroups& groups, NumpyRandom& random, std::vector<Cell>& cells) {
  std::vector<std::vector<Member>> distinct;
  for (const auto& workloads : groups.members) {
    if (groups.thread_percentages.empty()) {
      distinct.push_back(members_of(groups, workloads, nullptr));
    }
    for (const auto& percentages : groups.thread_percentages) {
      distinct.push_back(members_of(groups, workloads, &percentages));
    }
  }
  const std::vector<bool> again = drawn_again(groups, distinct.size(), random);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const std::size_t repeats = groups.repeats + (again[i] ? 1 : 0);
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      cells.push_back({.table = groups.table,
                       .mechanism = groups.mechanism,
                       .members = distinct[i],
                       .repeat = repeat});
    }
  }
}

// The distinct members of all groups, without copies: each needs its solo speed.
std::set<Member> members_in_use(const std::vector<Cell>& cells) {
  std::set<Member> members;
  for (const Cell& cell : cells) {
    for (Member member : cell.members) {
      member.copy = 0;
      members.insert(member);
    }
  }
  return members;
}

// Random order; the k-th of n solo runs of a member lies in the k-th of n parts.
std::vector<Cell> shuffled(const std::vector<Cell>& cells, NumpyRandom& random) {
  std::map<std::vector<Member>, double> repeats;
  for (const Cell& cell : cells) {
    if (cell.solo()) {
      repeats[cell.members] += 1.0;
    }
  }
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    double place = random.uniform();
    if (cells[i].solo()) {
      place = (static_cast<double>(cells[i].repeat) + place) / repeats[cells[i].members];
    }
    places.emplace_back(place, i);
  }
  std::sort(places.begin(), places.end());
  std::vector<Cell> out;
  out.reserve(cells.size());
  for (const auto& [place, i] : places) {
    out.push_back(cells[i]);
  }
  return out;
}

bool fit_into(const WorkerMemory& memory, const std::set<Member>& members) {
  std::uint64_t held = 0;
  for (const Member& member : members) {
    const auto known = memory.of_workload.find(member.workload);
    held += known == memory.of_workload.end() ? 0 : known->second;
  }
  return held <= memory.limit;
}

// Takes from `waiting` the cells that at most `resident` members can run. Groups, in their order,
// decide which members are resident; solo runs join where their member is resident anyway.
Batch next_batch(std::vector<Cell>& waiting, std::size_t resident, const WorkerMemory& memory) {
  const auto first =
      std::find_if(waiting.begin(), waiting.end(), [](const Cell& cell) { return !cell.solo(); });
  const bool groups = first != waiting.end();
  const Cell& leader = groups ? *first : waiting.front();
  const Mechanism mechanism = leader.mechanism;
  std::set<Member> members(leader.members.begin(), leader.members.end());
  const auto joins = [&](const Cell& cell) {
    std::set<Member> with = members;
    with.insert(cell.members.begin(), cell.members.end());
    const bool fits =
        with.size() == members.size() || (with.size() <= resident && fit_into(memory, with));
    if (cell.mechanism != mechanism || !fits) {
      return false;
    }
    members = std::move(with);
    return true;
  };
  std::vector<bool> taken(waiting.size(), false);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    taken[i] = waiting[i].solo() != groups && joins(waiting[i]);
  }
  Batch batch;
  std::vector<Cell> left;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const bool along = waiting[i].solo() && members.contains(waiting[i].members.front());
    (taken[i] || along ? batch.cells : left).push_back(std::move(waiting[i]));
  }
  batch.members.assign(members.begin(), members.end());
  waiting = std::move(left);
  return batch;
}

}  // namespace

std::string key_of(const Cell& cell, const Plan& plan) {
  std::string names;
  for (const Member& member : cell.members) {
    names += names.empty() ? "" : "+";
    names += plan.workloads[member.workload].name;
    if (member.thread_percentage < 100.0) {
      names += fmt::format("@{}", member.thread_percentage);
    }
    names += member.low_priority ? "!low" : "";
  }
  const std::string_view table = cell.solo() ? "alone" : std::string_view(cell.table);
  return fmt::format("{} {} {} #{}", table, name_of(cell.mechanism), names, cell.repeat);
}

std::vector<Cell> expand(const Plan& plan) {
  NumpyRandom random(plan.seed);
  std::vector<Cell> groups;
  for (const PlannedGroups& family : plan.groups) {
    expand_groups(family, random, groups);
  }
  std::vector<Cell> cells;
  for (const Member& member : members_in_use(groups)) {
    const bool plain = member.mechanism == Mechanism::Mps && member.thread_percentage >= 100.0 &&
                       !member.low_priority;
    const std::size_t repeats = plain ? plan.solo_repeats : plan.limited_solo_repeats;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      cells.push_back(
          {.table = {}, .mechanism = member.mechanism, .members = {member}, .repeat = repeat});
    }
  }
  // Groups of one member are solo runs, which are listed already.
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(cells), [](const Cell& cell) {
    return !cell.solo();
  });
  // A group named twice counts once; `repeats` asks for more.
  std::set<std::string> seen;
  std::erase_if(cells, [&](const Cell& cell) { return !seen.insert(key_of(cell, plan)).second; });
  return cells;
}

std::vector<Batch> into_batches(std::span<const Cell> cells,
                                const Plan& plan,
                                const WorkerMemory& memory) {
  NumpyRandom random(plan.seed);
  std::vector<Cell> waiting(cells.begin(), cells.end());
  std::vector<Batch> batches;
  while (!waiting.empty()) {
    batches.push_back(next_batch(waiting, plan.workers.resident, memory));
    batches.back().cells = shuffled(batches.back().cells, random);
  }
  return batches;
}

}  // namespace carpool::measure
