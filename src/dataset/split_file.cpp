#include <compare>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "dataset/csv.hpp"
#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

struct SplitColumns {
  std::size_t role = 0;
  std::size_t key = 0;
  std::optional<std::size_t> n_occur;
  std::optional<std::size_t> train_ratio;
  std::optional<std::size_t> seed;
  std::optional<std::size_t> target;
  std::optional<std::size_t> table;
};

// Identifies one split of a file.
struct SplitKey {
  std::optional<std::int64_t> n_occur;
  std::optional<double> train_ratio;
  std::optional<std::int64_t> seed;
  std::optional<std::size_t> target;
  auto operator<=>(const SplitKey&) const = default;
};

Result<SplitColumns> find_columns(const CsvTable& csv) {
  SplitColumns columns{.role = 0,
                       .key = 0,
                       .n_occur = csv.find("n_occur"),
                       .train_ratio = csv.find("train_ratio"),
                       .seed = csv.find("seed"),
                       .target = csv.find("target"),
                       .table = csv.find("table")};
  const auto role = csv.require("role");
  if (!role) {
    return tl::unexpected(role.error());
  }
  columns.role = *role;
  std::vector<std::size_t> keys;
  for (const std::string_view name : {"row_id", "pair_id", "triple_id"}) {
    if (const auto column = csv.find(name)) {
      keys.push_back(*column);
    }
  }
  if (keys.size() != 1) {
    return invalid_input(
        fmt::format("{}:1: {} of the columns row_id, pair_id and triple_id; expected one of them",
                    csv.file,
                    keys.empty() ? "none" : "several"));
  }
  columns.key = keys.front();
  return columns;
}

Result<void> check_filter(const CsvTable& csv,
                          const SplitColumns& columns,
                          const SplitFilter& filter) {
  const bool no_count = filter.n_occur && !columns.n_occur;
  const bool no_ratio = filter.train_ratio && !columns.train_ratio;
  if (no_count || no_ratio) {
    return invalid_input(fmt::format("{}:1: the file has no column {}, which the request names",
                                     csv.file,
                                     no_count ? "n_occur" : "train_ratio"));
  }
  return {};
}

class SplitReader {
 public:
  SplitReader(const CsvTable& csv,
              const SplitColumns& columns,
              const Dataset& dataset,
              const GroupTable& table)
      : csv_(csv), columns_(columns), dataset_(dataset), table_(table) {
    for (std::size_t position = 0; position < table.rows.size(); ++position) {
      position_of_.emplace(table.rows[position].id, position);
    }
  }

  [[nodiscard]] bool is_of_table(const CsvRow& row) const {
    return !columns_.table || row.fields[*columns_.table] == table_.name;
  }

  [[nodiscard]] Result<SplitKey> key(const CsvRow& row) const {
    SplitKey key;
    if (columns_.n_occur) {
      auto count = csv_.integer(row, *columns_.n_occur, "a whole number of at least 1", 1);
      if (!count) {
        return tl::unexpected(std::move(count.error()));
      }
      key.n_occur = *count;
    }
    if (columns_.train_ratio) {
      auto ratio = csv_.number(row, *columns_.train_ratio, "a share of the rows");
      if (!ratio) {
        return tl::unexpected(std::move(ratio.error()));
      }
      key.train_ratio = *ratio;
    }
    if (columns_.seed) {
      auto seed = csv_.integer(row, *columns_.seed, "a seed, a whole number");
      if (!seed) {
        return tl::unexpected(std::move(seed.error()));
      }
      key.seed = *seed;
    }
    if (columns_.target) {
      const std::string& name = row.fields[*columns_.target];
      key.target = dataset_.find(name);
      if (!key.target) {
        return csv_.reject(row, *columns_.target, dataset_.unknown_workload(name));
      }
    }
    return key;
  }

  // Adds the row of the table that this line names to the list of its role.
  [[nodiscard]] Result<void> place(const CsvRow& row, std::size_t index, Split& split) {
    auto id = csv_.integer(row, columns_.key, "the id of a row, a whole number");
    if (!id) {
      return tl::unexpected(std::move(id.error()));
    }
    const auto position = position_of_.find(*id);
    if (position == position_of_.end()) {
      return csv_.reject(row, columns_.key, fmt::format("{} is not an id of {}", *id, table_.name));
    }
    const auto [first, added] = line_of_.emplace(std::pair(index, position->second), row.line);
    if (!added) {
      return csv_.reject(
          row,
          columns_.key,
          fmt::format(
              "{} is already in split \"{}\", on line {}", *id, split.label, first->second));
    }
    const std::string& role = row.fields[columns_.role];
    if (role == "fit") {
      split.fit.push_back(position->second);
    } else if (role == "holdout") {
      split.holdout.push_back(position->second);
    } else if (role == "test") {
      split.test.push_back(position->second);
    } else {
      return csv_.reject(
          row,
          columns_.role,
          fmt::format("{} is not a role; expected fit, holdout or test", quote(role)));
    }
    return {};
  }

  [[nodiscard]] std::string label(const SplitKey& key) const {
    std::vector<std::string> parts;
    if (key.n_occur) {
      parts.push_back(fmt::format("n_occur {}", *key.n_occur));
    }
    if (key.train_ratio) {
      parts.push_back(fmt::format("train_ratio {}", *key.train_ratio));
    }
    if (key.seed) {
      parts.push_back(fmt::format("seed {}", *key.seed));
    }
    if (key.target) {
      parts.push_back(fmt::format("target {}", dataset_.profiles[*key.target].workload));
    }
    return parts.empty() ? std::filesystem::path(csv_.file).stem().string()
                         : fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  const CsvTable& csv_;
  const SplitColumns& columns_;
  const Dataset& dataset_;
  const GroupTable& table_;
  std::map<std::int64_t, std::size_t> position_of_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> line_of_;  // by split and position
};

bool passes(const SplitKey& key, const SplitFilter& filter) {
  // Ratios come from decimal text on both sides, so equal text gives equal numbers.
  return (!filter.n_occur || key.n_occur == *filter.n_occur) &&
         (!filter.train_ratio || key.train_ratio == *filter.train_ratio);
}

Result<void> check_split(std::string_view file, const Split& split) {
  if (split.fit.empty() || split.test.empty()) {
    return invalid_input(fmt::format("{}: split \"{}\" has no row of role {}",
                                     file,
                                     split.label,
                                     split.fit.empty() ? "fit" : "test"));
  }
  return {};
}

tl::unexpected<Error> nothing_found(const CsvTable& csv,
                                    const GroupTable& table,
                                    const std::set<std::string>& other_labels) {
  std::vector<std::string> shown(other_labels.begin(), other_labels.end());
  constexpr std::size_t kShown = 10;
  if (shown.size() > kShown) {
    shown.resize(kShown);
    shown.emplace_back("…");
  }
  return invalid_input(fmt::format("{}: no split of table {} matches the request; {}",
                                   csv.file,
                                   table.name,
                                   shown.empty()
                                       ? std::string("the file has no row of that table")
                                       : fmt::format("the file has {}", fmt::join(shown, "; "))));
}

}  // namespace

Result<std::vector<Split>> parse_splits(std::string_view text,
                                        std::string file,
                                        const Dataset& dataset,
                                        const GroupTable& table,
                                        const SplitFilter& filter) {
  const auto csv = parse_csv(text, std::move(file));
  if (!csv) {
    return tl::unexpected(csv.error());
  }
  const auto columns = find_columns(*csv);
  if (!columns) {
    return tl::unexpected(columns.error());
  }
  if (auto checked = check_filter(*csv, *columns, filter); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  SplitReader reader(*csv, *columns, dataset, table);
  std::vector<Split> splits;
  std::map<SplitKey, std::size_t> index;
  std::set<std::string> other_labels;
  for (const CsvRow& row : csv->rows) {
    if (!reader.is_of_table(row)) {
      continue;
    }
    const auto key = reader.key(row);
    if (!key) {
      return tl::unexpected(key.error());
    }
    if (!passes(*key, filter)) {
      other_labels.insert(reader.label(*key));
      continue;
    }
    const auto [found, added] = index.emplace(*key, splits.size());
    if (added) {
      splits.push_back({.label = reader.label(*key),
                        .fit = {},
                        .holdout = {},
                        .test = {},
                        .target = key->target});
    }
    if (auto placed = reader.place(row, found->second, splits[found->second]); !placed) {
      return tl::unexpected(std::move(placed.error()));
    }
  }
  if (splits.empty()) {
    return nothing_found(*csv, table, other_labels);
  }
  for (const Split& split : splits) {
    if (auto checked = check_split(csv->file, split); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
  }
  return splits;
}

Result<std::vector<Split>> load_splits(const std::filesystem::path& file,
                                       const Dataset& dataset,
                                       const GroupTable& table,
                                       const SplitFilter& filter) {
  return read_file(file).and_then([&](const std::string& text) {
    return parse_splits(text, file.string(), dataset, table, filter);
  });
}

}  // namespace carpool::dataset
