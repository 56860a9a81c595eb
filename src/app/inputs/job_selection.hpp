// The jobs that a command is about: numbers, ranges, arrays, the last one, by name, or all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "app/server/server_client.hpp"
#include "base/result.hpp"

namespace carpool::app {

class OptionSet;

struct JobSelection {
  std::vector<std::string> words;   // 3, 3-12, 17[], 17_[0-9], @
  std::optional<std::string> name;  // a pattern of the shell
  bool all_mine = false;
};
// `which`: the jobs that --name and --all-mine mean, for the help: "that have not ended".
void add_job_selection(OptionSet& options, JobSelection& jobs, std::string_view which);

// One word.
struct JobWord {
  bool last_submitted = false;  // "@"
  std::int64_t first = 0;       // else a range of numbers
  std::int64_t last = 0;
  bool array = false;          // the array of that job
  std::vector<int> indices{};  // of the array; empty: all

  // Whether it names exactly one job.
  [[nodiscard]] bool single() const;
};
[[nodiscard]] Result<JobWord> parse_job_word(std::string_view text);

// What is selected, known before the server is asked.
struct JobChoice {
  std::vector<JobWord> words{};
  std::optional<std::string> name{};
  bool all_mine = false;

  // The answer about one job is an object, about several an array.
  [[nodiscard]] bool single() const { return words.size() == 1 && words.front().single(); }
};
// An error where nothing is selected, or a word is none of those above.
[[nodiscard]] Result<JobChoice> read_job_selection(const JobSelection& jobs);

// In the order of the words, each once.
struct SelectedJobs {
  std::vector<std::int64_t> ids{};
  std::unordered_set<std::int64_t> of_groups{};  // of arrays, --name and --all-mine
  std::vector<Error> problems{};                 // words for which there is no job
};
// The jobs that --name and --all-mine mean.
struct OwnJobs {
  std::string_view states{};  // as `carpool queue --state` takes them
  std::string_view which{};   // the same in words: "that have not ended"
};
[[nodiscard]] Result<SelectedJobs> select_jobs(ServerClient& server,
                                               const JobChoice& choice,
                                               const OwnJobs& own);

// "3-7, 9" for numbers in rising order.
[[nodiscard]] std::string ranges_text(const std::vector<std::int64_t>& numbers);

}  // namespace carpool::app
