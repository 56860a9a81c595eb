#include "measure/plan.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/numpy_random.hpp"
#include "base/text/names.hpp"
#include "measure/plan_reader.hpp"

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

class PlanParser {
 public:
  PlanParser(const toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  Result<Plan> parse() {
    TableReader reader(root_, file_, "");
    reader.text("name", plan_.name);
    reader.text("throughput_unit", plan_.throughput_unit);
    reader.text("provenance", plan_.provenance);
    reader.integer("gpu", plan_.gpu, 0, 255);
    reader.integer("seed", plan_.seed, 0, 4'294'967'295);
    reader.texts("command", plan_.command);
    reader.texts("streams_command", plan_.streams_command);
    reader.integer("alone_repeats", plan_.solo_repeats, 1, 100);
    reader.integer("limited_alone_repeats", plan_.limited_solo_repeats, 1, 100);
    reader.tables("window", [this](const toml::table& table) { return window(table); });
    reader.tables("workers", [this](const toml::table& table) { return workers(table); });
    reader.tables("workload", [this](const toml::table& table) { return workload(table); });
    reader.tables("groups", [this](const toml::table& table) { return groups(table); });
    if (auto read = reader.finish(); !read) {
      return tl::unexpected(read.error());  // a misspelt key would also be reported as missing
    }
    if (!plain_name(plan_.name)) {
      reader.fail("name", "a plan needs a name of letters, digits, '.', '_' and '-'");
    }
    if (plan_.groups.empty()) {
      reader.fail("groups", "nothing to measure: add a [[groups]] section");
    }
    if (auto read = reader.finish(); !read) {
      return tl::unexpected(read.error());
    }
    return std::move(plan_);
  }

 private:
  Result<void> window(const toml::table& table) {
    TableReader reader(table, file_, "[window]");
    Window& window = plan_.window;
    reader.number("seconds", window.seconds, 0.2, 3600.0);
    reader.number("warm_seconds", window.warm_seconds, 0.0, 3600.0);
    reader.integer("warm_steps", window.warm_steps, 1, 100'000);
    reader.integer("least_steps", window.least_steps, 1, 10'000);
    reader.number("longest_seconds", window.longest_seconds, 1.0, 36'000.0);
    if (window.longest_seconds < window.seconds + window.warm_seconds) {
      reader.fail("longest_seconds", "must exceed seconds and warm_seconds together");
    }
    return reader.finish();
  }

  Result<void> workers(const toml::table& table) {
    TableReader reader(table, file_, "[workers]");
    reader.integer("resident", plan_.workers.resident, 1, 48);  // clients of one MPS server
    reader.number("start_seconds", plan_.workers.start_seconds, 1.0, 36'000.0);
    reader.number("end_seconds", plan_.workers.end_seconds, 0.0, 3600.0);
    reader.integer("cpus_each", plan_.workers.cpus_each, 0, 64);
    return reader.finish();
  }

  Result<void> workload(const toml::table& table) {
    TableReader reader(table, file_, "[[workload]]");
    PlannedWorkload workload;
    reader.text("name", workload.name);
    reader.text("model", workload.model);
    reader.text("task", workload.task);
    reader.optional_number("batch", workload.batch, 0.0, 1e9);
    reader.texts("command", workload.command);
    if (!plain_name(workload.name)) {
      reader.fail("name", "a workload needs a name of letters, digits, '.', '_' and '-'");
    } else if (find(workload.name)) {
      reader.fail("name", fmt::format("workload {} is listed twice", workload.name));
    } else if (workload.command.empty() && plan_.command.empty()) {
      reader.fail("command", "no command: give one here or at the top of the plan");
    }
    plan_.workloads.push_back(std::move(workload));
    return reader.finish();
  }

  Result<void> groups(const toml::table& table) {
    TableReader reader(table, file_, "[[groups]]");
    PlannedGroups groups;
    reader.text("table", groups.table);
    std::string mechanism = "mps";
    reader.text("mechanism", mechanism);
    if (const auto found =
            find_named(std::span<const NamedMechanism>(kMechanisms), "mechanism", mechanism)) {
      groups.mechanism = (*found)->mechanism;
    } else {
      reader.fail("mechanism", found.error().message);
    }
    reader.integer("repeats", groups.repeats, 1, 100);
    reader.number("repeated_share", groups.repeated_share, 0.0, 1.0);
    reader.number_lists("thread_percentages", groups.thread_percentages, 1.0, 100.0);
    reader.flags("low_priority", groups.low_priority);
    choose_members(reader, groups);
    check(reader, groups);
    plan_.groups.push_back(std::move(groups));
    return reader.finish();
  }

  // members = [[…]], or size with all or count, or copies.
  void choose_members(TableReader& reader, PlannedGroups& groups) {
    std::vector<std::vector<std::string>> named;
    std::size_t size = 0;
    std::size_t count = 0;
    std::vector<std::string> copied;
    std::size_t most_copies = 0;
    reader.text_lists("members", named);
    reader.integer("size", size, 1, static_cast<std::int64_t>(kMostMembers));
    reader.integer("count", count, 1, static_cast<std::int64_t>(kMostGroups));
    reader.texts("copies_of", copied);
    reader.integer("copies", most_copies, 1, static_cast<std::int64_t>(kMostMembers));
    for (const auto& names : named) {
      auto& members = groups.members.emplace_back();
      for (const std::string& name : names) {
        members.push_back(position(reader, "members", name));
      }
    }
    for (const std::string& name : copied) {
      for (std::size_t copies = 1; copies <= most_copies; ++copies) {
        groups.members.emplace_back(copies, position(reader, "copies_of", name));
      }
    }
    const int ways = (named.empty() ? 0 : 1) + (size > 0 ? 1 : 0) + (copied.empty() ? 0 : 1);
    if (ways != 1 || (copied.empty() != (most_copies == 0))) {
      reader.fail("size", "give members, or size (with count), or copies_of with copies");
      return;
    }
    if (size > 0) {
      combine(reader, size, count, groups);
    }
  }

  // All groups of different workloads of that size, or `count` of them drawn by the seed.
  void combine(TableReader& reader, std::size_t size, std::size_t count, PlannedGroups& groups) {
    std::vector<std::vector<std::size_t>> all;
    std::vector<std::size_t> current;
    const auto extend = [&](auto&& self, std::size_t from) -> void {
      if (current.size() == size) {
        all.push_back(current);
        return;
      }
      const std::size_t wanted = size - current.size();
      for (std::size_t i = from; i + wanted <= plan_.workloads.size() && all.size() <= kMostGroups;
           ++i) {
        current.push_back(i);
        self(self, i + 1);
        current.pop_back();
      }
    };
    extend(extend, 0);
    if (all.size() > kMostGroups) {
      reader.fail("size", fmt::format("more than {} groups: name members instead", kMostGroups));
      return;
    }
    if (all.empty() || count > all.size()) {
      reader.fail("size",
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
  void check_table(TableReader& reader, const PlannedGroups& groups) const {
    if (groups.table.empty()) {
      return;
    }
    if (!plain_name(groups.table)) {
      reader.fail("table", "expected a name of letters, digits, '.', '_' and '-'");
    }
    if (std::ranges::count(kTakenTables, groups.table) > 0) {
      reader.fail("table", fmt::format("{} is the name of another table", groups.table));
    }
    const auto others = std::ranges::find(plan_.groups, groups.table, &PlannedGroups::table);
    const auto& first = others != plan_.groups.end() ? others->members : groups.members;
    for (const auto& members : groups.members) {
      if (members.size() != first.front().size()) {
        reader.fail("table", "all groups of a table have the same number of members");
      }
    }
  }

  void check(TableReader& reader, const PlannedGroups& groups) const {
    check_table(reader, groups);
    for (const auto& members : groups.members) {
      if (members.size() > kMostMembers) {
        reader.fail("members", fmt::format("at most {} in a group", kMostMembers));
      }
      for (const auto& percentages : groups.thread_percentages) {
        if (percentages.size() != members.size()) {
          reader.fail("thread_percentages", "expected one a member");
        }
      }
      if (!groups.low_priority.empty() && groups.low_priority.size() != members.size()) {
        reader.fail("low_priority", "expected one a member");
      }
    }
    const bool limited = !groups.thread_percentages.empty() || !groups.low_priority.empty();
    if (limited && groups.mechanism != Mechanism::Mps) {
      reader.fail("mechanism", "thread percentages and priorities need mps");
    }
    if (groups.mechanism == Mechanism::Streams && plan_.streams_command.empty()) {
      reader.fail("mechanism", "streams needs streams_command at the top of the plan");
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(plan_.workloads, name, &PlannedWorkload::name);
    return found == plan_.workloads.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - plan_.workloads.begin()));
  }

  std::size_t position(TableReader& reader, std::string_view key, std::string_view name) const {
    if (const auto found = find(name)) {
      return *found;
    }
    std::vector<std::string_view> known;
    known.reserve(plan_.workloads.size());
    for (const PlannedWorkload& workload : plan_.workloads) {
      known.push_back(workload.name);
    }
    reader.fail(key, unknown_name("workload", name, known).message);
    return 0;
  }

  const toml::table& root_;
  std::string file_;
  Plan plan_;
};

}  // namespace

std::string_view name_of(Mechanism mechanism) {
  return std::ranges::find(kMechanisms, mechanism, &NamedMechanism::mechanism)->name;
}

Result<Plan> parse_plan(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text);
    return PlanParser(root, file).parse();
  } catch (const toml::parse_error& problem) {
    return invalid_input(
        fmt::format("{}:{}: {}", file, problem.source().begin.line, problem.description()));
  } catch (const std::exception& problem) {
    return invalid_input(fmt::format("{}: {}", file, problem.what()));
  }
}

}  // namespace carpool::measure
