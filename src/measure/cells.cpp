#include "measure/cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/numpy_random.hpp"

namespace carpool::measure {
namespace {

std::vector<Seat> seats_of(const PlannedGroups& groups,
                           const std::vector<std::size_t>& members,
                           const std::vector<double>* percentages) {
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Seat seat{.workload = members[i],
              .mechanism = groups.mechanism,
              .thread_percentage = percentages != nullptr ? (*percentages)[i] : 100.0,
              .low_priority = !groups.low_priority.empty() && groups.low_priority[i],
              .copy = 0};
    while (std::find(seats.begin(), seats.end(), seat) != seats.end()) {
      ++seat.copy;
    }
    seats.push_back(seat);
  }
  return seats;
}

// Which groups of the family are measured once more.
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
  std::vector<std::vector<Seat>> distinct;
  for (const auto& members : groups.members) {
    if (groups.thread_percentages.empty()) {
      distinct.push_back(seats_of(groups, members, nullptr));
    }
    for (const auto& percentages : groups.thread_percentages) {
      distinct.push_back(seats_of(groups, members, &percentages));
    }
  }
  const std::vector<bool> again = drawn_again(groups, distinct.size(), random);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const std::size_t repeats = groups.repeats + (again[i] ? 1 : 0);
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      cells.push_back({.table = groups.table,
                       .mechanism = groups.mechanism,
                       .seats = distinct[i],
                       .repeat = repeat});
    }
  }
}

// Every kind of seat that some group has, without copies: each needs its speed alone.
std::set<Seat> seats_in_use(const std::vector<Cell>& cells) {
  std::set<Seat> seats;
  for (const Cell& cell : cells) {
    for (Seat seat : cell.seats) {
      seat.copy = 0;
      seats.insert(seat);
    }
  }
  return seats;
}

// Random order of the groups; the k-th of n runs alone of a seat lies in the k-th part of it.
std::vector<Cell> shuffled(const std::vector<Cell>& cells, NumpyRandom& random) {
  std::map<std::vector<Seat>, double> repeats;
  for (const Cell& cell : cells) {
    if (cell.alone()) {
      repeats[cell.seats] += 1.0;
    }
  }
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    double place = random.uniform();
    if (cells[i].alone()) {
      place = (static_cast<double>(cells[i].repeat) + place) / repeats[cells[i].seats];
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

bool fit_into(const WorkerMemory& memory, const std::set<Seat>& seats) {
  std::uint64_t held = 0;
  for (const Seat& seat : seats) {
    const auto known = memory.of_workload.find(seat.workload);
    held += known == memory.of_workload.end() ? 0 : known->second;
  }
  return held <= memory.room;
}

// Takes from `waiting` the cells that can be measured with at most `resident` seats. Groups decide
// in their order who is resident; runs alone come along where their seat is there anyway.
Batch next_batch(std::vector<Cell>& waiting, std::size_t resident, const WorkerMemory& memory) {
  const auto first =
      std::find_if(waiting.begin(), waiting.end(), [](const Cell& cell) { return !cell.alone(); });
  const bool groups = first != waiting.end();
  const Cell& leader = groups ? *first : waiting.front();
  const Mechanism mechanism = leader.mechanism;
  std::set<Seat> seats(leader.seats.begin(), leader.seats.end());
  const auto joins = [&](const Cell& cell) {
    std::set<Seat> with = seats;
    with.insert(cell.seats.begin(), cell.seats.end());
    const bool fits =
        with.size() == seats.size() || (with.size() <= resident && fit_into(memory, with));
    if (cell.mechanism != mechanism || !fits) {
      return false;
    }
    seats = std::move(with);
    return true;
  };
  std::vector<bool> taken(waiting.size(), false);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    taken[i] = waiting[i].alone() != groups && joins(waiting[i]);
  }
  Batch batch;
  std::vector<Cell> left;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const bool along = waiting[i].alone() && seats.contains(waiting[i].seats.front());
    (taken[i] || along ? batch.cells : left).push_back(std::move(waiting[i]));
  }
  batch.seats.assign(seats.begin(), seats.end());
  waiting = std::move(left);
  return batch;
}

}  // namespace

std::string key_of(const Cell& cell, const Plan& plan) {
  std::string members;
  for (const Seat& seat : cell.seats) {
    members += members.empty() ? "" : "+";
    members += plan.workloads[seat.workload].name;
    if (seat.thread_percentage < 100.0) {
      members += fmt::format("@{}", seat.thread_percentage);
    }
    members += seat.low_priority ? "!low" : "";
  }
  const std::string_view table = cell.alone() ? "alone" : std::string_view(cell.table);
  return fmt::format("{} {} {} #{}", table, name_of(cell.mechanism), members, cell.repeat);
}

std::vector<Cell> expand(const Plan& plan) {
  NumpyRandom random(plan.seed);
  std::vector<Cell> groups;
  for (const PlannedGroups& family : plan.groups) {
    expand_groups(family, random, groups);
  }
  std::vector<Cell> cells;
  for (const Seat& seat : seats_in_use(groups)) {
    const bool plain =
        seat.mechanism == Mechanism::Mps && seat.thread_percentage >= 100.0 && !seat.low_priority;
    const std::size_t repeats = plain ? plan.alone_repeats : plan.limited_alone_repeats;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      cells.push_back(
          {.table = {}, .mechanism = seat.mechanism, .seats = {seat}, .repeat = repeat});
    }
  }
  // A family may hold groups of one member: they are runs alone, and there already.
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(cells), [](const Cell& cell) {
    return !cell.alone();
  });
  // The same group named twice is one: more of it is what repeats are for.
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
