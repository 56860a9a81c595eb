#include "core/tests/memory_journal.hpp"

#include "core/tests/job_journal_contract.hpp"

namespace carpool {
namespace {

struct MemoryJournalBench {
  [[nodiscard]] JobJournal& journal() { return kept; }
  void reopen() {}  // memory is all there is

  MemoryJournal kept;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, JobJournalContract, MemoryJournalBench);

TEST(MemoryJournal, RefusesEverythingWhileItFails) {
  MemoryJournal journal;
  journal.failing = true;
  std::vector<JobEvent> events = {submitted_event(1, 0.0)};
  EXPECT_FALSE(journal.append(events));
  EXPECT_TRUE(journal.events.empty());
  EXPECT_EQ(journal.appends, 0);
}

}  // namespace
}  // namespace carpool
