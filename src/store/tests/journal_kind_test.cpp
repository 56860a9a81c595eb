#include "store/journal_kind.hpp"

#include "store/state_files.hpp"
#include "store/tests/state_copy.hpp"

namespace carpool::store {
namespace {

Result<void> opens(const StateFolder& state, bool simulated) {
  return SqliteJournal::open(state.path(), {.simulated = simulated}).map([](const auto&) {});
}

std::string refused(const StateFolder& state, bool simulated) {
  const Result<void> opened = opens(state, simulated);
  return opened ? std::string() : opened.error().message;
}

TEST(JournalKind, AFolderBelongsToTheKindOfServerThatMadeIt) {
  const StateFolder real;
  const StateFolder simulated;
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(opens(real, false));
    EXPECT_TRUE(opens(simulated, true));
    EXPECT_NE(refused(real, true).find("runs them, or was written by an earlier version"),
              std::string::npos);
    EXPECT_NE(refused(simulated, false).find("a server that simulates its GPUs"),
              std::string::npos);
  }
}

TEST(JournalKind, AFolderThatLostItsJournalIsNotSimulated) {
  const StateFolder state;
  std::filesystem::create_directories(runs_folder(state.path()) / "3.1");
  EXPECT_NE(refused(state, true).find("name another folder with --state"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(simulated_file(state.path())));
}

}  // namespace
}  // namespace carpool::store
