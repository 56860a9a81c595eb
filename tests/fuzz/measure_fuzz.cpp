// Any bytes as a plan or as a journal of measurements: a valid value, or an error with a
// message. The first byte selects: p plan, j journal.
#include <set>
#include <string>
#include <string_view>

#include "measure/cells.hpp"
#include "measure/journal.hpp"
#include "measure/tables.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

// Larger plans would only be slow to expand.
constexpr std::size_t kMostGroups = 2000;

void feed_plan(std::string_view text) {
  const auto plan = measure::parse_plan(text, "plan.toml");
  if (!plan) {
    require(plan.error().message.starts_with("plan.toml"));
    return;
  }
  std::size_t groups = 0;
  for (const measure::PlannedGroups& family : plan->groups) {
    groups += family.members.size() * (family.thread_percentages.size() + 1) * family.repeats;
  }
  if (groups > kMostGroups) {
    return;
  }
  const auto cells = measure::expand(*plan);
  std::set<std::string> keys;
  for (const measure::Cell& cell : cells) {
    require(keys.insert(measure::key_of(cell, *plan)).second);
  }
  std::size_t measured = 0;
  for (const measure::Batch& batch : measure::into_batches(cells, *plan)) {
    measured += batch.cells.size();
  }
  require(measured == cells.size());
}

void feed_journal(std::string_view text) {
  const auto journal = measure::parse_journal(text, "journal");
  if (!journal) {
    require(journal.error().message.starts_with("journal:"));
    return;
  }
  measure::Plan plan;
  for (const char* name : {"a", "b"}) {
    plan.workloads.emplace_back().name = name;
  }
  require(measure::make_tables(*journal, plan).contains("profiles.csv"));
}

}  // namespace

void feed_measure(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  if (bytes.front() == 'p') {
    feed_plan(text);
  } else if (bytes.front() == 'j') {
    feed_journal(text);
  }
}

}  // namespace carpool::fuzz
