#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

using WorkloadIndex = std::map<std::string_view, std::size_t>;

WorkloadIndex index_workloads(const Dataset& dataset) {
  WorkloadIndex index;
  for (std::size_t i = 0; i < dataset.profiles.size(); ++i) {
    index.emplace(dataset.profiles[i].workload, i);
  }
  return index;
}

// 3 for "thr3" with prefix "thr"; empty for any other name.
std::optional<std::size_t> member_number(std::string_view column, std::string_view prefix) {
  if (!column.starts_with(prefix)) {
    return std::nullopt;
  }
  column.remove_prefix(prefix.size());
  const auto number = parse_integer(column);
  if (!number || *number < 1 || column.front() == '0') {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*number);
}

std::size_t highest_member(const std::vector<std::string>& header, std::string_view prefix) {
  std::size_t highest = 0;
  for (const std::string& column : header) {
    highest = std::max(highest, member_number(column, prefix).value_or(0));
  }
  return highest;
}

struct MemberColumns {
  std::size_t workload = 0;
  std::size_t throughput = 0;
  std::optional<std::size_t> limit;
};

Result<std::vector<MemberColumns>> find_members(const CsvTable& table) {
  const std::size_t size = std::max({highest_member(table.header, "w"),
                                     highest_member(table.header, "thr"),
                                     highest_member(table.header, "pct")});
  if (size < 2) {
    return invalid_input(fmt::format(
        "{}:1: not a group table; expected columns w1, w2, … and thr1, thr2, …, found {}",
        table.file,
        fmt::join(table.header, ", ")));
  }
  std::vector<MemberColumns> members;
  // A missing number ends the loop at once, so a column such as w999999999 costs nothing.
  for (std::size_t number = 1; number <= size; ++number) {
    const auto workload = table.require(fmt::format("w{}", number));
    if (!workload) {
      return tl::unexpected(workload.error());
    }
    const auto throughput = table.require(fmt::format("thr{}", number));
    if (!throughput) {
      return tl::unexpected(throughput.error());
    }
    members.push_back({.workload = *workload,
                       .throughput = *throughput,
                       .limit = table.find(fmt::format("pct{}", number))});
  }
  return members;
}

Result<double> read_throughput(const CsvTable& table, const CsvRow& row, std::size_t column) {
  auto throughput = table.number(row, column, "a throughput in units/s");
  if (throughput && *throughput < 0.0) {
    return table.reject(
        row,
        column,
        fmt::format("{} is negative; expected a throughput in units/s", quote(row.fields[column])));
  }
  return throughput;
}

Result<double> read_limit(const CsvTable& table, const CsvRow& row, std::size_t column) {
  constexpr std::string_view kExpected = "a thread limit in percent, above 0 and at most 100";
  auto limit = table.number(row, column, kExpected);
  if (limit && (*limit <= 0.0 || *limit > kAllThreads)) {
    return table.reject(
        row, column, fmt::format("{} is not {}", quote(row.fields[column]), kExpected));
  }
  return limit;
}

class GroupReader {
 public:
  GroupReader(const CsvTable& table, const Dataset& dataset, std::vector<MemberColumns> members)
      : table_(table),
        dataset_(dataset),
        index_(index_workloads(dataset)),
        members_(std::move(members)),
        id_(table.find("id")),
        repeat_(table.find("repeat")),
        campaign_(table.find("campaign")) {}

  [[nodiscard]] Result<GroupRow> read(const CsvRow& row, std::size_t position) {
    GroupRow group;
    group.id = static_cast<std::int64_t>(position);
    if (auto checked = read_numbers(row, group); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
    for (const MemberColumns& columns : members_) {
      auto member = read_member(row, columns);
      if (!member) {
        return tl::unexpected(std::move(member.error()));
      }
      auto throughput = read_throughput(table_, row, columns.throughput);
      if (!throughput) {
        return tl::unexpected(std::move(throughput.error()));
      }
      group.members.push_back(*member);
      group.throughput.push_back(*throughput);
    }
    if (campaign_) {
      group.campaign = row.fields[*campaign_];
    }
    return group;
  }

 private:
  [[nodiscard]] Result<void> read_numbers(const CsvRow& row, GroupRow& group) {
    if (repeat_) {
      if (auto repeat = table_.integer(row, *repeat_, "a whole number"); !repeat) {
        return tl::unexpected(std::move(repeat.error()));
      }
    }
    if (!id_) {
      return {};
    }
    auto id = table_.integer(row, *id_, "a whole number");
    if (!id) {
      return tl::unexpected(std::move(id.error()));
    }
    const auto [first, added] = line_of_id_.emplace(*id, row.line);
    if (!added) {
      return table_.reject(
          row, *id_, fmt::format("{} is already the id of line {}", *id, first->second));
    }
    group.id = *id;
    return {};
  }

  [[nodiscard]] Result<GroupMember> read_member(const CsvRow& row,
                                                const MemberColumns& columns) const {
    const std::string& name = row.fields[columns.workload];
    const auto found = index_.find(name);
    if (found == index_.end()) {
      return table_.reject(row, columns.workload, dataset_.unknown_workload(name));
    }
    GroupMember member{.profile = found->second, .thread_limit = kAllThreads};
    if (columns.limit && !row.fields[*columns.limit].empty()) {
      auto limit = read_limit(table_, row, *columns.limit);
      if (!limit) {
        return tl::unexpected(std::move(limit.error()));
      }
      member.thread_limit = *limit;
    }
    return member;
  }

  const CsvTable& table_;
  const Dataset& dataset_;
  WorkloadIndex index_;
  std::vector<MemberColumns> members_;
  std::optional<std::size_t> id_;
  std::optional<std::size_t> repeat_;
  std::optional<std::size_t> campaign_;
  std::map<std::int64_t, std::size_t> line_of_id_;
};

}  // namespace

bool is_group_table_header(std::string_view line) {
  const auto table = parse_csv(line, "header");
  return table && find_members(*table).has_value();
}

Result<GroupTable> parse_group_table(std::string_view text,
                                     std::string file,
                                     const Dataset& dataset,
                                     std::string_view table_name) {
  const auto table = parse_csv(text, std::move(file));
  if (!table) {
    return tl::unexpected(table.error());
  }
  auto members = find_members(*table);
  if (!members) {
    return tl::unexpected(std::move(members.error()));
  }
  if (table->rows.empty()) {
    return invalid_input(fmt::format(
        "{}:1: no rows after the header; expected one per measured group", table->file));
  }
  GroupTable groups{.name = std::string(table_name), .group_size = members->size(), .rows = {}};
  GroupReader reader(*table, dataset, std::move(*members));
  for (const CsvRow& row : table->rows) {
    auto group = reader.read(row, groups.rows.size());
    if (!group) {
      return tl::unexpected(std::move(group.error()));
    }
    groups.rows.push_back(std::move(*group));
  }
  return groups;
}

Result<std::vector<LimitedRun>> parse_limited_runs(std::string_view text,
                                                   std::string file,
                                                   const Dataset& dataset) {
  const auto table = parse_csv(text, std::move(file));
  if (!table) {
    return tl::unexpected(table.error());
  }
  std::array<std::size_t, 3> columns{};
  constexpr std::array<std::string_view, 3> kNames{"workload", "mps_pct", "thr"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto column = table->require(kNames[i]);
    if (!column) {
      return tl::unexpected(column.error());
    }
    columns[i] = *column;
  }
  const WorkloadIndex index = index_workloads(dataset);
  std::vector<LimitedRun> runs;
  for (const CsvRow& row : table->rows) {
    const auto limit = read_limit(*table, row, columns[1]);
    if (!limit) {
      return tl::unexpected(limit.error());
    }
    const auto throughput = read_throughput(*table, row, columns[2]);
    if (!throughput) {
      return tl::unexpected(throughput.error());
    }
    if (const auto found = index.find(row.fields[columns[0]]); found != index.end()) {
      runs.push_back({.profile = found->second, .thread_limit = *limit, .throughput = *throughput});
    }
  }
  return runs;
}

}  // namespace carpool::dataset
