#include "store/event_rows.hpp"

#include <fmt/format.h>

#include "store/checksum.hpp"
#include "store/journal_check.hpp"
#include "store/journal_repair.hpp"
#include "store/schema.hpp"
#include "store/state_files.hpp"
#include "store/tests/state_copy.hpp"

namespace carpool::store {
namespace {

TEST(Checksum, IsThatOfIso3309) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32("456789", crc32("123")), 0xCBF43926U);
  EXPECT_EQ(crc32(""), 0U);
}

TEST(Checksum, OfARowDependsOnJournalTableTypesAndLimitsOfValues) {
  const std::int64_t sum = RowSum("j", "t").add("ab").add("c").value();
  EXPECT_EQ(RowSum("j", "t").add("ab").add("c").value(), sum);
  EXPECT_NE(RowSum("k", "t").add("ab").add("c").value(), sum);
  EXPECT_NE(RowSum("j", "u").add("ab").add("c").value(), sum);
  EXPECT_NE(RowSum("j", "t").add("a").add("bc").value(), sum);
  EXPECT_NE(RowSum("j", "t").add(std::int64_t{0}).value(), RowSum("j", "t").add_null().value());
}

std::uintmax_t bytes_in(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += entry.path().extension() == ".sqlite" ? entry.file_size() : 0;
  }
  return bytes;
}

std::vector<JobEvent> array_with_environment(JobId first, JobId last, const std::string& value) {
  std::vector<JobEvent> events;
  for (JobId job = first; job <= last; ++job) {
    events.push_back(submitted_event(job, 1.0));
    std::get<JobSubmitted>(events.back().what).spec.env = {{"LARGE", value}, {"A", "b"}};
  }
  return events;
}

TEST(EventRows, AnArrayStoresItsEnvironmentOnce) {
  const StateFolder state;
  const std::string large(std::size_t{64} << 10U, 'x');
  std::uintmax_t without = 0;
  {
    const StateFolder small;
    auto journal = opened(small.path());
    auto events = array_with_environment(1, 1000, "");
    ASSERT_TRUE(journal->append(events));
    journal.reset();
    without = bytes_in(small.path());
  }
  auto journal = opened(state.path());
  auto events = array_with_environment(1, 1000, large);
  ASSERT_TRUE(journal->append(events));
  EXPECT_EQ(std::get<JobSubmitted>(events.back().what).spec.env.at("LARGE"), large);
  journal.reset();
  EXPECT_LT(bytes_in(state.path()), without + 80'000);

  journal = opened(state.path());
  const auto replayed = replayed_events(*journal);
  ASSERT_TRUE(replayed) << replayed.error().message;
  ASSERT_EQ(replayed->size(), 1000U);
  for (std::size_t i = 0; i < replayed->size(); ++i) {
    EXPECT_EQ(event_line(replayed->at(i)), event_line(events[i])) << i;
  }
  const auto variables = [&](std::size_t i) {
    return &std::get<JobSubmitted>(replayed->at(i).what).spec.env.map();
  };
  EXPECT_EQ(variables(0), variables(999)) << "in memory, too";
  EXPECT_EQ(journal->record_of(500)->value().spec.env.at("A"), "b");
}

TEST(EventRows, AnEnvironmentOfAFailedAppendIsNotTakenForStored) {
  const StateFolder state;
  auto journal = opened(state.path());
  auto failing = array_with_environment(1, 2, "value");
  failing.back().job = 1;
  EXPECT_FALSE(journal->append(failing));
  auto events = array_with_environment(1, 2, "value");
  ASSERT_TRUE(journal->append(events));
  journal.reset();
  journal = opened(state.path());
  EXPECT_EQ(journal->record_of(2)->value().spec.env.at("LARGE"), "value");
}

// As servers before checksums wrote it.
void write_first_version(const std::filesystem::path& state) {
  auto database = SqlDatabase::open(journal_file(state));
  ASSERT_TRUE(migrate(*database, "file", new_identity(), 1));
  for (const JobEvent& event : array_with_environment(1, 3, "value")) {
    auto row = database->prepare("INSERT INTO events(job, body) VALUES(?, ?)");
    const std::string body = event_line(event);
    ASSERT_TRUE(row->bind(0, event.job).bind(1, body).run());
    ASSERT_TRUE(database->execute(
        fmt::format("INSERT INTO jobs(id, uid, user, name, workload, submitted_s) "
                    "VALUES({}, 1000, 'u', 'n', 'w', 1.0)",
                    event.job)));
  }
}

TEST(EventRows, ADamagedJournalOfTheFirstVersionIsRefusedAndCanBeRepaired) {
  const StateFolder state;
  write_first_version(state.path());
  {
    auto database = SqlDatabase::open(journal_file(state.path()));
    ASSERT_TRUE(database->execute("DELETE FROM jobs WHERE id = 2"));
  }
  EXPECT_NE(refusal_of(state.path()).find("its list of jobs does not fit"), std::string::npos);
  const auto check = check_journal(state.path(), CheckDepth::Full);
  const auto report = repair_journal(state.path(), *check, RepairMode::SaveWhatIsLeft);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->jobs, 3);
  EXPECT_EQ(opened(state.path())->record_of(2)->value().spec.env.at("LARGE"), "value");
}

TEST(EventRows, AJournalOfTheFirstVersionIsMigratedWithAllItsJobs) {
  const StateFolder state;
  write_first_version(state.path());
  auto journal = opened(state.path());
  ASSERT_NE(journal, nullptr);
  EXPECT_EQ(journal->identity().size(), 32U);
  EXPECT_EQ(journal->record_of(3)->value().spec.env.at("LARGE"), "value");
  auto more = array_with_environment(4, 4, "value");
  ASSERT_TRUE(journal->append(more));
  EXPECT_EQ(more.front().sequence, 4);
  journal.reset();
  const auto check = check_journal(state.path(), CheckDepth::Full);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->version, 2);
  EXPECT_TRUE(check->problems.empty()) << check->problems.front();
}

}  // namespace
}  // namespace carpool::store
