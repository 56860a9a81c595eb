#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "core/tests/job_journal_contract.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::store {
namespace {

// `kReplayEnded`: how many ended jobs are replayed; the rest is known from tables.
template <std::size_t kReplayEnded>
class SqliteJournalBench {
 public:
  SqliteJournalBench() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-store-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    reopen();
  }
  SqliteJournalBench(const SqliteJournalBench&) = delete;
  SqliteJournalBench& operator=(const SqliteJournalBench&) = delete;
  ~SqliteJournalBench() {
    journal_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] JobJournal& journal() { return *journal_; }
  void reopen() {
    journal_.reset();  // it holds the lock of the folder
    auto opened = SqliteJournal::open(folder_, {.replay_ended = kReplayEnded});
    ASSERT_TRUE(opened) << opened.error().message;
    journal_ = std::move(*opened);
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<SqliteJournal> journal_;
};

using Benches = testing::Types<SqliteJournalBench<1000>, SqliteJournalBench<1>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, JobJournalContract, Benches);

}  // namespace
}  // namespace carpool::store
