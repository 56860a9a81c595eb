#include "app/inputs/job_selection.hpp"

#include <algorithm>
#include <charconv>
#include <fnmatch.h>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/option_set.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr std::int64_t kLongestRange = 10'000;

Result<JobWord> not_a_job(std::string_view text) {
  return invalid_input(
      fmt::format("\"{}\" names no job; write 3, 3-12, 17[] or 17_[0-9] for jobs of an array, or @ "
                  "for the last one that you submitted",
                  text));
}

std::optional<std::int64_t> job_number(std::string_view text) {
  std::int64_t number = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stopped, problem] = std::from_chars(begin, end, number);
  return problem == std::errc() && stopped == end && number > 0 ? std::optional(number)
                                                                : std::nullopt;
}

// "@", "3" or "3-12", the first part of the word `text`.
Result<JobWord> read_base(std::string_view base, std::string_view text) {
  if (base == "@") {
    return JobWord{.last_submitted = true};
  }
  const std::size_t dash = base.find('-');
  const auto first = job_number(base.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : job_number(base.substr(dash + 1));
  if (!first || !last) {
    return not_a_job(text);
  }
  if (*last < *first) {
    return invalid_input(
        fmt::format("\"{0}\" names no job: {1} is above {2}; write {2}-{1}", text, *first, *last));
  }
  if (*last - *first >= kLongestRange) {
    return invalid_input(fmt::format("\"{}\" names {} jobs; a range has at most {}",
                                     text,
                                     fmt::group_digits(*last - *first + 1),
                                     fmt::group_digits(kLongestRange)));
  }
  return JobWord{.first = *first, .last = *last};
}

// Which of a list, in its order and each once.
class JobList {
 public:
  void add(std::int64_t id) {
    if (seen_.insert(id).second) {
      found_.ids.push_back(id);
    }
  }
  void add_of_group(std::int64_t id) {
    add(id);
    found_.of_groups.insert(id);
  }
  void problem(Error error) { found_.problems.push_back(std::move(error)); }
  [[nodiscard]] SelectedJobs take() { return std::move(found_); }

 private:
  SelectedJobs found_;
  std::unordered_set<std::int64_t> seen_;
};

// The last job that the caller submitted; 0: none. The server forgets jobs that ended long ago, the
// history does not.
Result<std::int64_t> last_submitted(ServerClient& server) {
  std::int64_t last = 0;
  for (const char* path : {"/v1/jobs?last=1", "/v1/history?limit=1"}) {
    const Result<json> page = server.get(path);
    if (!page) {
      return tl::unexpected(page.error());
    }
    for (const json& job : page->at("jobs")) {
      last = std::max(last, job.at("id").get<std::int64_t>());
    }
  }
  return last;
}

Result<void> add_array(ServerClient& server, const JobWord& word, std::int64_t job, JobList& list) {
  const Result<json> jobs = server.list_jobs(fmt::format("array={}", job));
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  std::vector<int> missing = word.indices;
  for (const json& member : *jobs) {
    const int index = member.value("array_index", 0);
    if (word.indices.empty() || std::erase(missing, index) > 0) {
      list.add_of_group(member.at("id").get<std::int64_t>());
    }
  }
  if (jobs->empty()) {
    list.problem(not_found(fmt::format("there is no array with job {}", job)).value());
  }
  for (const int index : jobs->empty() ? std::vector<int>() : missing) {
    list.problem(not_found(fmt::format("the array of job {} has no index {}", job, index)).value());
  }
  return {};
}

Result<void> add_word(ServerClient& server, const JobWord& word, JobList& list) {
  std::int64_t first = word.first;
  std::int64_t last = word.last;
  if (word.last_submitted) {
    const Result<std::int64_t> submitted = last_submitted(server);
    if (!submitted) {
      return tl::unexpected(submitted.error());
    }
    if (*submitted == 0) {
      list.problem(not_found("@: you have not submitted a job").value());
      return {};
    }
    first = last = *submitted;
  }
  if (word.array) {
    return add_array(server, word, first, list);
  }
  for (std::int64_t id = first; id <= last; ++id) {
    list.add(id);
  }
  return {};
}

Result<void> add_own(ServerClient& server,
                     const JobChoice& choice,
                     const OwnJobs& own,
                     JobList& list) {
  const Result<json> jobs = server.list_jobs(fmt::format("state={}", own.states));
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  bool found = false;
  for (const json& job : *jobs) {
    if (!choice.name || ::fnmatch(choice.name->c_str(), job.value("name", "").c_str(), 0) == 0) {
      list.add_of_group(job.at("id").get<std::int64_t>());
      found = true;
    }
  }
  if (choice.name && !found) {
    list.problem(
        not_found(fmt::format("none of your jobs {} has a name like \"{}\"; `carpool queue` lists "
                              "your jobs",
                              own.which,
                              *choice.name))
            .value());
  }
  return {};
}

}  // namespace

void add_job_selection(OptionSet& options, JobSelection& jobs, std::string_view which) {
  options.positional("jobs",
                     &jobs.words,
                     "JOB",
                     "Numbers of jobs: 3, 3-12, '17[]' or '17_[0-9]' of an array, @ for the last "
                     "one that you submitted");
  options.option(
      "--name", &jobs.name, "GLOB", fmt::format("Your jobs with such a name {}: 'sweep*'", which));
  options.flag(
      "--all-mine", jobs.all_mine, fmt::format("All your jobs {}", which), {.excludes = "--name"});
}

bool JobWord::single() const {
  return array ? indices.size() == 1 : first == last;
}

Result<JobWord> parse_job_word(std::string_view text) {
  bool array = false;
  std::vector<int> of_array;
  std::string_view base = text;
  if (base.ends_with("[]")) {
    base.remove_suffix(2);
    base = base.ends_with('_') ? base.substr(0, base.size() - 1) : base;
    array = true;
  } else if (const std::size_t bar = base.find('_'); bar != std::string_view::npos) {
    std::string_view list = base.substr(bar + 1);
    if (list.starts_with('[') && list.ends_with(']')) {
      list = list.substr(1, list.size() - 2);
    }
    const auto indices = serve::parse_array(list);
    if (!indices) {
      return not_a_job(text);
    }
    base = base.substr(0, bar);
    array = true;
    of_array = *indices;
  }
  Result<JobWord> word = read_base(base, text);
  if (word && array) {
    if (word->first != word->last) {
      return not_a_job(text);
    }
    word->array = true;
    word->indices = std::move(of_array);
  }
  return word;
}

Result<JobChoice> read_job_selection(const JobSelection& jobs) {
  JobChoice choice{.name = jobs.name, .all_mine = jobs.all_mine};
  const bool by_list = jobs.name || jobs.all_mine;
  if (jobs.words.empty() && !by_list) {
    return invalid_input("no job given: name jobs by number, by --name GLOB, or all by --all-mine");
  }
  if (!jobs.words.empty() && by_list) {
    return invalid_input(fmt::format("\"{}\" beside {}: give one of them",
                                     jobs.words.front(),
                                     jobs.all_mine ? "--all-mine" : "--name"));
  }
  for (const std::string& text : jobs.words) {
    const Result<JobWord> word = parse_job_word(text);
    if (!word) {
      return tl::unexpected(word.error());
    }
    choice.words.push_back(*word);
  }
  return choice;
}

Result<SelectedJobs> select_jobs(ServerClient& server,
                                 const JobChoice& choice,
                                 const OwnJobs& own) {
  JobList list;
  Result<void> read;
  if (choice.words.empty()) {
    read = add_own(server, choice, own, list);
  }
  for (const JobWord& word : choice.words) {
    if (read) {
      read = add_word(server, word, list);
    }
  }
  return read.map([&] { return list.take(); });
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    text += last > first ? fmt::format("-{}", numbers[last]) : "";
    first = last + 1;
  }
  return text;
}

}  // namespace carpool::app
