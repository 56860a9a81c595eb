#include "app/output/queue_table.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using nlohmann::json;

json listed_job(int id, const char* code) {
  return {{"id", id},
          {"name", "train.py"},
          {"user", "ann"},
          {"state", std::string(code) == "R" ? "running" : "queued"},
          {"code", code},
          {"run_s", 5.0},
          {"gpu_count", 1}};
}

json array_member(int id, const char* code, int index) {
  json job = listed_job(id, code);
  job["array_index"] = index;
  job["array_job"] = 17;
  return job;
}

std::string line_with(const std::string& table, const std::string& text) {
  const std::size_t at = table.find(text);
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t begin = table.rfind('\n', at) + 1;
  return table.substr(begin, table.find('\n', at) - begin);
}

TEST(QueueTable, FoldsAnArrayIntoOneRowWithCounts) {
  json jobs =
      json::array({listed_job(3, "PD"), array_member(17, "R", 0), array_member(18, "R", 1)});
  jobs.push_back(array_member(19, "PD", 2));
  jobs.push_back(array_member(21, "PD", 4));
  jobs[1]["gpus"] = {0};
  jobs[2]["gpus"] = {1};
  jobs[3]["reason_word"] = "Memory";
  jobs[3]["reason"] = "GPU 1 has 3 GiB free; the job needs 8 GiB";
  const std::string table = queue_table(jobs, false, false, std::nullopt);
  const std::string row = line_with(table, "17_[0-2,4]");
  EXPECT_NE(row.find("2 R, 2 PD"), std::string::npos) << table;
  EXPECT_NE(row.find("0,1"), std::string::npos) << table;
  EXPECT_NE(row.find("(Memory)"), std::string::npos) << table;
  EXPECT_EQ(table.find("GiB free"), std::string::npos) << table;
  EXPECT_EQ(std::ranges::count(table, '\n'), 3);
  const std::string expanded = queue_table(jobs, true, false, std::nullopt);
  EXPECT_EQ(std::ranges::count(expanded, '\n'), 6);
  EXPECT_NE(line_with(expanded, "21").find("train.py[4]"), std::string::npos) << expanded;
}

TEST(QueueTable, OneJobOfAnArrayKeepsItsNumber) {
  const std::string table =
      queue_table(json::array({array_member(18, "R", 1)}), false, false, std::nullopt);
  EXPECT_EQ(table.find("17_"), std::string::npos) << table;
  EXPECT_NE(line_with(table, "18").find("train.py[1]"), std::string::npos) << table;
}

TEST(QueueTable, FitsTheTerminal) {
  json job = listed_job(3, "F");
  job["name"] = std::string(80, 'n');
  job["reason"] = std::string(200, 'r');
  const std::string table = queue_table(json::array({job}), false, false, 100);
  std::size_t begin = 0;
  while (begin < table.size()) {
    const std::size_t end = table.find('\n', begin);
    // The mark of a cut has three bytes.
    EXPECT_LE(end - begin, 100U + 2 * 2) << table;
    begin = end + 1;
  }
  EXPECT_NE(table.find("nnn…"), std::string::npos);
}

}  // namespace
}  // namespace carpool::app
