#include "app/output/queue_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/inputs/job_selection.hpp"
#include "app/output/text_table.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// A job, or the jobs of one array that are listed.
using QueueRow = std::vector<const json*>;

std::string memory_cell(const json& job) {
  const std::string asked =
      job.contains("mem_bytes") ? serve::show_bytes(job.at("mem_bytes").get<std::uint64_t>()) : "-";
  return job.contains("used_bytes")
             ? fmt::format(
                   "{}/{}", asked, serve::show_bytes(job.at("used_bytes").get<std::uint64_t>()))
             : asked;
}

std::string gpu_cell(const QueueRow& row) {
  std::set<unsigned> gpus;
  for (const json* job : row) {
    for (const unsigned gpu : job->value("gpus", std::vector<unsigned>())) {
      gpus.insert(gpu);
    }
  }
  return gpus.empty() ? fmt::format("({})", row.front()->value("gpu_count", 1U))
                      : fmt::format("{}", fmt::join(gpus, ","));
}

std::string share_cell(const json& job) {
  const std::string mechanism = job.value("mechanism", "-");
  const double limit = job.value("thread_limit_percent", 100.0);
  return mechanism == "mps" && limit < 100.0 ? fmt::format("mps {:g} %", limit) : mechanism;
}

// One word where there is one: that of the first job that waits.
std::string reason_cell(const QueueRow& row) {
  for (const json* job : row) {
    const std::string reason = job->value("reason_word", job->value("reason", ""));
    if (!reason.empty()) {
      return fmt::format("({})", reason);
    }
  }
  return {};
}

// "R", or how many are in which state: "4 R, 96 PD".
std::string state_cell(const QueueRow& row) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const json* job : row) {
    const std::string code = job->value("code", "");
    const auto known = std::ranges::find(counts, code, &std::pair<std::string, std::size_t>::first);
    if (known == counts.end()) {
      counts.emplace_back(code, 1);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [code, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, code);
  }
  return row.size() == 1 ? counts.front().first : text;
}

std::string id_cell(const QueueRow& row) {
  const json& first = *row.front();
  if (row.size() == 1) {
    return fmt::format("{}", first.at("id").get<std::int64_t>());
  }
  std::vector<std::int64_t> indices;
  for (const json* job : row) {
    indices.push_back(job->value("array_index", std::int64_t{0}));
  }
  std::string text = ranges_text(indices);
  std::erase(text, ' ');  // as the commands take it
  return fmt::format("{}_[{}]", first.value("array_job", std::int64_t{0}), text);
}

std::string name_cell(const QueueRow& row) {
  return row.size() == 1 ? shown_name(*row.front()) : row.front()->value("name", "-");
}

std::vector<QueueRow> rows_of(const json& jobs, bool expand) {
  std::vector<QueueRow> rows;
  std::map<std::int64_t, std::size_t> arrays;  // the row of each
  for (const json& job : jobs) {
    const std::int64_t array = expand ? 0 : job.value("array_job", std::int64_t{0});
    const auto known = arrays.find(array);
    if (array != 0 && known != arrays.end()) {
      rows[known->second].push_back(&job);
      continue;
    }
    if (array != 0) {
      arrays.emplace(array, rows.size());
    }
    rows.push_back({&job});
  }
  return rows;
}

void add_job_row(TextTable& table, const QueueRow& row) {
  const json& first = *row.front();
  const bool one = row.size() == 1;
  const bool runs = std::ranges::any_of(
      row, [](const json* job) { return job->value("state", "") == "running"; });
  table.add_row({id_cell(row),
                 name_cell(row),
                 first.value("user", ""),
                 state_cell(row),
                 one ? serve::show_seconds(first.value("run_s", 0.0)) : "-",
                 gpu_cell(row),
                 one ? share_cell(first) : "-",
                 memory_cell(first),
                 reason_cell(row)},
                runs);
}

}  // namespace

std::string shown_name(const json& job) {
  std::string name = job.value("name", "-");
  if (job.contains("array_index")) {
    name += fmt::format("[{}]", job.at("array_index").get<int>());
  }
  return name;
}

std::string queue_table(const json& jobs,
                        bool expand,
                        bool colour,
                        std::optional<std::size_t> columns) {
  TextTable table(colour);
  table.add_column("JOBID", TextTable::Align::Right, true);
  table.add_column("NAME", TextTable::Align::Left, true);
  table.add_column("USER", TextTable::Align::Left, true);
  table.add_column("ST", TextTable::Align::Left);
  table.add_column("TIME", TextTable::Align::Right);
  table.add_column("GPU", TextTable::Align::Left);
  table.add_column("SHARE", TextTable::Align::Left);
  table.add_column("MEM(ask/used)", TextTable::Align::Right);
  table.add_column("REASON", TextTable::Align::Left, true);
  for (const QueueRow& row : rows_of(jobs, expand)) {
    add_job_row(table, row);
  }
  return table.render(columns);
}

}  // namespace carpool::app
