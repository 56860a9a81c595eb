#include "measure/plan.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/numpy_random.hpp"
#include "base/text/names.hpp"
#include "base/text/strict_table.hpp"

namespace carpool::measure {
namespace {

struct NamedMechanism {
  std::string_view name;
  Mechanism mechanism;
};

constexpr std::array<NamedMechanism, 3> kMechanisms = {{
    {"mps", Mechanism::Mps},
    {"time-slicing", Mechanism::TimeSlicing},
    {"streams", Mechanism::Streams},
}};

constexpr std::size_t kMostMembers = 16;
constexpr std::size_t kMostGroups = 1'000'000;

// Names of other files of the folder, and the name of solo runs in cells.csv.
constexpr std::array<std::string_view, 5> kTakenTables = {
    "alone", "cells", "exclusive_mps", "failures", "profiles"};

// Names go into CSV files, file names and command lines.
bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 120 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

Result<Mechanism> parse_mechanism(std::string_view name) {
  return find_named(std::span<const NamedMechanism>(kMechanisms), "mechanism", name)
      .map([](const NamedMechanism* found) { return found->mechanism; });
}

class PlanReader {
 public:
  explicit PlanReader(Plan& plan) : plan_(plan) {}

  void read(StrictTable& table) {
    table.read("name", plan_.name);
    table.read("throughput_unit", plan_.throughput_unit);
    table.read("provenance", plan_.provenance);
    table.read("gpu", plan_.gpu, 0, 255);
    table.read("seed", plan_.seed, 0, 4'294'967'295);
    table.read("command", plan_.command);
    table.read("streams_command", plan_.streams_command);
    table.read("alone_repeats", plan_.solo_repeats, 1, 100);
    table.read("limited_alone_repeats", plan_.limited_solo_repeats, 1, 100);
    table.read_tables("window", [this](StrictTable& inner) { window(inner); });
    table.read_tables("workers", [this](StrictTable& inner) { workers(inner); });
    table.read_tables("workload", [this](StrictTable& inner) { workload(inner); });
    table.read_tables("groups", [this](StrictTable& inner) { groups(inner); });
    if (!table.finish()) {
      return;  // a misspelt key would also be reported as missing
    }
    if (!plain_name(plan_.name)) {
      table.problem("name", "a plan needs a name of letters, digits, '.', '_' and '-'");
    }
    if (plan_.groups.empty()) {
      table.problem("groups", "nothing to measure: add a [[groups]] section");
    }
  }

 private:
  void window(StrictTable& table) {
    Window& window = plan_.window;
    table.read("seconds", window.seconds, 0.2, 3600.0);
    table.read("warm_seconds", window.warm_seconds, 0.0, 3600.0);
    table.read("warm_steps", window.warm_steps, 1, 100'000);
    table.read("least_steps", window.least_steps, 1, 10'000);
    table.read("longest_seconds", window.longest_seconds, 1.0, 36'000.0);
    if (window.longest_seconds < window.seconds + window.warm_seconds) {
      table.problem("longest_seconds", "must exceed seconds and warm_seconds together");
    }
  }

  void workers(StrictTable& table) {
    table.read("resident", plan_.workers.resident, 1, 48);  // clients of one MPS server
    table.read("start_seconds", plan_.workers.start_seconds, 1.0, 36'000.0);
    table.read("end_seconds", plan_.workers.end_seconds, 0.0, 3600.0);
    table.read("cpus_each", plan_.workers.cpus_each, 0, 64);
  }

  void workload(StrictTable& table) {
    PlannedWorkload workload;
    table.read("name", workload.name);
    table.read("model", workload.model);
    table.read("task", workload.task);
    table.read("batch", workload.batch, 0.0, 1e9);
    table.read("command", workload.command);
    if (!plain_name(workload.name)) {
      table.problem("name", "a workload needs a name of letters, digits, '.', '_' and '-'");
    } else if (find(workload.name)) {
      table.problem("name", fmt::format("workload {} is listed twice", workload.name));
    } else if (workload.command.empty() && plan_.command.empty()) {
      table.problem("command", "no command: give one here or at the top of the plan");
    }
    plan_.workloads.push_back(std::move(workload));
  }

  void groups(StrictTable& table) {
    PlannedGroups groups;
    table.read("table", groups.table);
    table.read_name("mechanism", parse_mechanism, groups.mechanism);
    table.read("repeats", groups.repeats, 1, 100);
    table.read("repeated_share", groups.repeated_share, 0.0, 1.0);
    table.read("thread_percentages", groups.thread_percentages, 1.0, 100.0);
    table.read("low_priority", groups.low_priority);
    choose_members(table, groups);
    check(table, groups);
    plan_.groups.push_back(std::move(groups));
  }

  // members = [[…]], or size with all or count, or copies.
  void choose_members(StrictTable& table, PlannedGroups& groups) {
    std::vector<std::vector<std::string>> named;
    std::size_t size = 0;
    std::size_t count = 0;
    std::vector<std::string> copied;
    std::size_t most_copies = 0;
    table.read("members", named);
    table.read("size", size, 1, static_cast<std::int64_t>(kMostMembers));
    table.read("count", count, 1, static_cast<std::int64_t>(kMostGroups));
    table.read("copies_of", copied);
    table.read("copies", most_copies, 1, static_cast<std::int64_t>(kMostMembers));
    for (const auto& names : named) {
      auto& members = groups.members.emplace_back();
      for (const std::string& name : names) {
        members.push_back(position(table, "members", name));
      }
    }
    for (const std::string& name : copied) {
      for (std::size_t copies = 1; copies <= most_copies; ++copies) {
        groups.members.emplace_back(copies, position(table, "copies_of", name));
      }
    }
    const int ways = (named.empty() ? 0 : 1) + (size > 0 ? 1 : 0) + (copied.empty() ? 0 : 1);
    if (ways != 1 || (copied.empty() != (most_copies == 0))) {
      table.problem("size", "give members, or size (with count), or copies_of with copies");
      return;
    }
    if (size > 0) {
      combine(table, size, count, groups);
    }
  }

  // How many groups of that size there are; some number above kMostGroups where there are more.
  [[nodiscard]] static std::size_t combinations(std::size_t workloads, std::size_t size) {
    if (size > workloads) {
      return 0;
    }
    std::size_t count = 1;
    for (std::size_t i = 0; i < std::min(size, workloads - size) && count <= kMostGroups; ++i) {
      count = count * (workloads - i) / (i + 1);
    }
    return count;
  }

  // All groups of different workloads of that size, or `count` of them drawn by the seed.
  void combine(StrictTable& table, std::size_t size, std::size_t count, PlannedGroups& groups) {
    if (combinations(plan_.workloads.size(), size) > kMostGroups) {
      table.problem("size", fmt::format("more than {} groups: name members instead", kMostGroups));
      return;
    }
    std::vector<std::vector<std::size_t>> all;
    std::vector<std::size_t> current;
    const auto extend = [&](auto&& self, std::size_t from) -> void {
      if (current.size() == size) {
        all.push_back(current);
        return;
      }
      const std::size_t wanted = size - current.size();
      for (std::size_t i = from; i + wanted <= plan_.workloads.size(); ++i) {
        current.push_back(i);
        self(self, i + 1);
        current.pop_back();
      }
    };
    extend(extend, 0);
    if (all.empty() || count > all.size()) {
      table.problem("size",
                    fmt::format("there are {} groups of {} among {} workloads",
                                all.size(),
                                size,
                                plan_.workloads.size()));
      return;
    }
    const auto order =
        NumpyRandom(plan_.seed + static_cast<std::uint32_t>(size)).permutation(all.size());
    for (std::size_t i = 0; i < (count > 0 ? count : all.size()); ++i) {
      groups.members.push_back(all[count > 0 ? order[i] : i]);
    }
  }

  // A table becomes a CSV file with as many columns as its groups have members.
  void check_table(StrictTable& table, const PlannedGroups& groups) const {
    if (groups.table.empty()) {
      return;
    }
    if (!plain_name(groups.table)) {
      table.problem("table", "expected a name of letters, digits, '.', '_' and '-'");
    }
    if (std::ranges::count(kTakenTables, groups.table) > 0) {
      table.problem("table", fmt::format("{} is the name of another table", groups.table));
    }
    const auto others = std::ranges::find(plan_.groups, groups.table, &PlannedGroups::table);
    const auto& first = others != plan_.groups.end() ? others->members : groups.members;
    for (const auto& members : groups.members) {
      if (members.size() != first.front().size()) {
        table.problem("table", "all groups of a table have the same number of members");
      }
    }
  }

  void check(StrictTable& table, const PlannedGroups& groups) const {
    check_table(table, groups);
    for (const auto& members : groups.members) {
      if (members.size() > kMostMembers) {
        table.problem("members", fmt::format("at most {} in a group", kMostMembers));
      }
      for (const auto& percentages : groups.thread_percentages) {
        if (percentages.size() != members.size()) {
          table.problem("thread_percentages", "expected one a member");
        }
      }
      if (!groups.low_priority.empty() && groups.low_priority.size() != members.size()) {
        table.problem("low_priority", "expected one a member");
      }
    }
    const bool limited = !groups.thread_percentages.empty() || !groups.low_priority.empty();
    if (limited && groups.mechanism != Mechanism::Mps) {
      table.problem("mechanism", "thread percentages and priorities need mps");
    }
    if (groups.mechanism == Mechanism::Streams && plan_.streams_command.empty()) {
      table.problem("mechanism", "streams needs streams_command at the top of the plan");
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(plan_.workloads, name, &PlannedWorkload::name);
    return found == plan_.workloads.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - plan_.workloads.begin()));
  }

  std::size_t position(StrictTable& table, std::string_view key, std::string_view name) const {
    if (const auto found = find(name)) {
      return *found;
    }
    std::vector<std::string_view> known;
    known.reserve(plan_.workloads.size());
    for (const PlannedWorkload& workload : plan_.workloads) {
      known.push_back(workload.name);
    }
    table.problem(key, unknown_name("workload", name, known).message);
    return 0;
  }

  Plan& plan_;
};

}  // namespace

std::string_view name_of(Mechanism mechanism) {
  return std::ranges::find(kMechanisms, mechanism, &NamedMechanism::mechanism)->name;
}

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  Plan plan;
  PlanReader reader(plan);
  return read_toml(text, file, [&reader](StrictTable& table) { reader.read(table); }).map([&plan] {
    return std::move(plan);
  });
}

}  // namespace carpool::measure
