// Damaged journals: each opens with everything that was acknowledged, or is refused with words, and
// a repair names what it could not save. CARPOOL_DAMAGES and CARPOOL_SEED choose how many and
// which.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/log.hpp"
#include "store/journal_check.hpp"
#include "store/journal_repair.hpp"
#include "store/state_files.hpp"
#include "store/tests/state_copy.hpp"

namespace carpool::store {
namespace {

constexpr std::size_t kPage = 4096;
constexpr JobId kJobs = 120;

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* value = std::getenv(name);
  return value == nullptr ? usual : std::strtoull(value, nullptr, 10);
}

// Queued, held, running and ended jobs, some larger than a page.
void fill(SqliteJournal& journal, JobId first, JobId last) {
  for (JobId job = first; job <= last; ++job) {
    const double at_s = static_cast<double>(job) * 10.0;
    std::vector<JobEvent> events;
    switch (job % 4) {
      case 0:
        events = whole_life(job, at_s, job % 8 == 0 ? RunEnd::Failed : RunEnd::Succeeded);
        break;
      case 1:
        events = {submitted_event(job, at_s), job_event(job, at_s, JobHeld{})};
        break;
      case 2:
        events = {submitted_event(job, at_s),
                  job_event(job, at_s, JobStarted{.attempt = 1, .gpus = {0}})};
        break;
      default:
        events = {submitted_event(job, at_s)};
    }
    auto& spec = std::get<JobSubmitted>(events.front().what).spec;
    spec.env.set("PATH", fmt::format("/bin:{}", job / 10));
    if (job % 15 == 0) {
      spec.argv.emplace_back(9000, static_cast<char>('a' + job % 26));
      spec.env.set("LARGE", std::string(7000, 'x'));
    }
    const auto appended = journal.append(events);
    ASSERT_TRUE(appended) << appended.error().message;
  }
}

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path&, std::mt19937_64&)> apply;
};

void change(const std::filesystem::path& file, const std::function<void(std::string&)>& how) {
  auto bytes = read_file(file);
  ASSERT_TRUE(bytes) << bytes.error().message;
  how(*bytes);
  ASSERT_TRUE(write_file(file, *bytes));
}

void flip_bit(std::string& bytes, std::size_t at, std::mt19937_64& random) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << (random() % 8)));
}

void flip(std::string& bytes, std::mt19937_64& random, std::size_t count) {
  for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
    flip_bit(bytes, random() % bytes.size(), random);
  }
}

std::size_t some_page(const std::string& bytes, std::mt19937_64& random) {
  return random() % (bytes.size() / kPage) * kPage;
}

// A page of an index: its type is 2 or 10.
std::size_t index_page(const std::string& bytes, std::mt19937_64& random) {
  std::vector<std::size_t> pages;
  for (std::size_t at = kPage; at + kPage <= bytes.size(); at += kPage) {
    if (bytes[at] == 2 || bytes[at] == 10) {
      pages.push_back(at);
    }
  }
  return pages.at(random() % pages.size());
}

std::vector<Damage> damages(const std::filesystem::path& older) {
  const auto on = [](std::string_view name, auto how) {
    return [name, how](const std::filesystem::path& state, std::mt19937_64& random) {
      change(state / name, [&](std::string& bytes) { how(bytes, random); });
    };
  };
  const auto flips = [](std::size_t count) {
    return [count](std::string& bytes, std::mt19937_64& random) { flip(bytes, random, count); };
  };
  const auto cut = [](std::string& bytes, std::mt19937_64& random) {
    bytes.resize(random() % bytes.size());
  };
  const auto zero_page = [](std::string& bytes, std::mt19937_64& random) {
    bytes.replace(some_page(bytes, random), kPage, kPage, '\0');
  };
  const auto swap_pages = [](std::string& bytes, std::mt19937_64& random) {
    const std::size_t one = some_page(bytes, random);
    const std::size_t two = some_page(bytes, random);
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(one),
                     bytes.begin() + static_cast<std::ptrdiff_t>(one + kPage),
                     bytes.begin() + static_cast<std::ptrdiff_t>(two));
  };
  const auto index_bytes = [](std::string& bytes, std::mt19937_64& random) {
    const std::size_t page = index_page(bytes, random);
    for (int i = 0; i < 8; ++i) {
      flip_bit(bytes, page + random() % kPage, random);
    }
  };
  const auto zero_index = [](std::string& bytes, std::mt19937_64& random) {
    bytes.replace(index_page(bytes, random), kPage, kPage, '\0');
  };
  const auto header = [](std::string& bytes, std::mt19937_64& random) {
    flip_bit(bytes, random() % 100, random);
  };
  const auto garbage = [](std::string& bytes, std::mt19937_64& random) {
    const std::size_t page = some_page(bytes, random);
    for (std::size_t i = 0; i < 512; ++i) {
      bytes[page + i] = static_cast<char>(random());
    }
  };
  const auto old_page = [older](std::string& bytes, std::mt19937_64& random) {
    const auto before = read_file(older / "jobs.sqlite");
    const std::size_t page = some_page(*before, random);
    bytes.replace(page, kPage, *before, page, kPage);
  };
  const auto log_header = [](std::string& bytes, std::mt19937_64& random) {
    flip_bit(bytes, random() % 32, random);
  };
  const auto without = [](std::string_view name) {
    return [name](const std::filesystem::path& state, std::mt19937_64& /*random*/) {
      std::filesystem::remove(state / name);
    };
  };
  return {{"one bit", on("jobs.sqlite", flips(1))},
          {"some bits", on("jobs.sqlite", flips(20))},
          {"an index", on("jobs.sqlite", index_bytes)},
          {"a page of zeros", on("jobs.sqlite", zero_page)},
          {"a bit of the log", on("jobs.sqlite-wal", flips(1))},
          {"an index of zeros", on("jobs.sqlite", zero_index)},
          {"truncated", on("jobs.sqlite", cut)},
          {"log truncated", on("jobs.sqlite-wal", cut)},
          {"swapped pages", on("jobs.sqlite", swap_pages)},
          {"header", on("jobs.sqlite", header)},
          {"bits of the log", on("jobs.sqlite-wal", flips(20))},
          {"garbage", on("jobs.sqlite", garbage)},
          {"an old page", on("jobs.sqlite", old_page)},
          {"header of the log", on("jobs.sqlite-wal", log_header)},
          {"a page of zeros in the log", on("jobs.sqlite-wal", zero_page)},
          {"without log", without("jobs.sqlite-wal")},
          {"without journal", without("jobs.sqlite")},
          {"marker", on("journal-id", flips(1))}};
}

class JournalDamageTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::Off);
    {
      auto journal = opened(made_.path());
      fill(*journal, 1, 70);
    }
    older_.copy_from(made_.path());
    auto journal = opened(made_.path());
    fill(*journal, 71, kJobs);
    auto content = content_of_journal(*journal, kJobs);
    ASSERT_TRUE(content) << content.error().message;
    truth_ = std::move(*content);
    killed_.copy_from(made_.path());
    journal.reset();
    closed_.copy_from(made_.path());
    ASSERT_GT(std::filesystem::file_size(killed_.path() / "jobs.sqlite-wal"), 50 * kPage);
  }
  void TearDown() override { set_log_level(LogLevel::Info); }

  // What a journal that opened says otherwise than the truth.
  [[nodiscard]] std::vector<std::string> differences(const SqliteJournal& journal) const {
    std::vector<std::string> found;
    auto content = content_of_journal(journal, kJobs);
    if (!content) {
      return {};  // an error is not silent
    }
    for (const auto& [name, value] : truth_) {
      const auto same = content->find(name);
      if (same == content->end() || same->second != value) {
        found.push_back(name);
      }
      content->erase(name);
    }
    for (const auto& [name, value] : *content) {
      found.push_back("new " + name);
    }
    if (journal.last_job().value_or(0) < kJobs) {
      found.emplace_back("last job");
    }
    return found;
  }

  // Everything that a repair did not save is in its report.
  void check_repair(const std::filesystem::path& state, const std::string& what) {
    const auto check = check_journal(state, CheckDepth::Full);
    ASSERT_TRUE(check) << check.error().message;
    if (check->refusal) {
      return;
    }
    const auto report = repair_journal(state, *check, RepairMode::SaveWhatIsLeft);
    ASSERT_TRUE(report) << what << ": " << report.error().message;
    const auto journal = opened(state);
    ASSERT_NE(journal, nullptr) << what;
    ++repaired_;
    const auto content = content_of_journal(*journal, kJobs);
    ASSERT_TRUE(content) << what << ": " << content.error().message;
    const auto named = [](const std::vector<NumberRange>& ranges, std::int64_t number) {
      return std::ranges::any_of(
          ranges, [&](const auto& range) { return range.first <= number && number <= range.last; });
    };
    for (const auto& [name, line] : truth_) {
      if (!name.starts_with("event ")) {
        continue;
      }
      ++events_;
      const auto same = content->find(name);
      if (same != content->end() && same->second == line) {
        continue;
      }
      ++lost_;
      const JobId job = parse_event(line, "truth")->job;
      const bool told = named(report->lost_events, std::stoll(name.substr(6))) ||
                        named(report->lost_jobs, job) ||
                        std::ranges::count(report->incomplete_jobs, job) > 0;
      EXPECT_TRUE(told) << what << ": " << name << " of job " << job << " is lost without a word";
    }
    EXPECT_GE(*journal->last_job(), kJobs) << what;
  }

  StateFolder made_, older_, killed_, closed_;
  std::map<std::string, std::string> truth_;
  std::size_t repaired_ = 0, events_ = 0, lost_ = 0;
};

TEST_F(JournalDamageTest, NothingIsLostWithoutAWord) {
  const std::uint64_t count = setting("CARPOOL_DAMAGES", 36);
  const std::uint64_t seed = setting("CARPOOL_SEED", 16);
  const std::vector<Damage> kinds = damages(older_.path());
  std::size_t whole = 0;
  std::size_t refused = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::mt19937_64 random(seed * 1'000'003 + i);
    const Damage& damage = kinds.at(i % kinds.size());
    const bool of_log = damage.name.find("log") != std::string::npos;
    const StateFolder state;
    state.copy_from((of_log || random() % 2 == 0 ? killed_ : closed_).path());
    damage.apply(state.path(), random);
    const std::string what = fmt::format("damage {} ({})", i, damage.name);
    auto journal = SqliteJournal::open(state.path(), {});
    if (journal) {
      ++whole;
      const auto different = differences(**journal);
      EXPECT_TRUE(different.empty())
          << what << ": silent loss: " << different.size() << ", first " << different.front();
      continue;
    }
    ++refused;
    const std::string& words = journal.error().message;
    EXPECT_NE(words.find("carpool journal repair"), std::string::npos) << what << ": " << words;
    check_repair(state.path(), what);
  }
  fmt::print(
      "{} damaged journals: {} opened whole, {} refused; {} repaired, {} of {} events lost\n",
      count,
      whole,
      refused,
      repaired_,
      lost_,
      events_);
}

// SQLite opens such a file, but for reading only.
TEST_F(JournalDamageTest, AHeaderThatForbidsWritingIsRepaired) {
  change(closed_.path() / "jobs.sqlite", [](std::string& bytes) { bytes[18] = 66; });
  const auto journal = opened(closed_.path());
  ASSERT_NE(journal, nullptr);
  EXPECT_TRUE(differences(*journal).empty());
  std::vector<JobEvent> more = {submitted_event(kJobs + 1, 0.0)};
  EXPECT_TRUE(journal->append(more));
}

// CARPOOL_JOBS=100000 measures what the check at the start of a server costs.
TEST(JournalCheck, ReadsEveryRowOfAJournal) {
  const auto jobs = static_cast<JobId>(setting("CARPOOL_JOBS", 500));
  const StateFolder state;
  auto journal = opened(state.path());
  std::vector<JobEvent> events;
  for (JobId job = 1; job <= jobs; ++job) {
    for (JobEvent& event : whole_life(job, static_cast<double>(job))) {
      events.push_back(std::move(event));
    }
    auto& spec = std::get<JobSubmitted>(events.at(events.size() - 4).what).spec;
    spec.argv = {"python3", "train.py", fmt::format("--seed={}", job)};
    spec.env.set("PATH", fmt::format("/bin:/usr/bin:{}", job / 100));
  }
  ASSERT_TRUE(journal->append(events));
  journal.reset();
  for (const auto depth : {CheckDepth::Start, CheckDepth::Full}) {
    const Stopwatch watch;
    const auto check = check_journal(state.path(), depth);
    ASSERT_TRUE(check) << check.error().message;
    EXPECT_TRUE(check->problems.empty()) << check->problems.front();
    EXPECT_EQ(check->jobs, jobs);
    EXPECT_EQ(check->events, 4 * jobs);
    fmt::print("{} jobs, {} MB: {} in {:.2f} s\n",
               jobs,
               std::filesystem::file_size(journal_file(state.path())) / 1'000'000,
               depth == CheckDepth::Start ? "check at the start" : "check of every event",
               watch.seconds());
  }
}

}  // namespace
}  // namespace carpool::store
