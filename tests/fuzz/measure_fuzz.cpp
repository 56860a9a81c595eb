// Any bytes as a plan or as a journal of measurements: a valid value, or an error with a
// message. The first byte selects: p plan, j journal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "measure/cells.hpp"
#include "measure/journal.hpp"
#include "measure/tables.hpp"

namespace carpool {
namespace {

// Larger plans would only be slow to expand.
constexpr std::size_t kMostGroups = 2000;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

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
}  // namespace carpool

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'p') {
    carpool::feed_plan(text);
  } else if (data[0] == 'j') {
    carpool::feed_journal(text);
  }
  return 0;
}
