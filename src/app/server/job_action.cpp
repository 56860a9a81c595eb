#include "app/server/job_action.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::app {

using nlohmann::json;

JobAction reading_action(const char* path, std::function<std::string(const json&)> text) {
  return {
      .ask = [path](
                 ServerClient& server,
                 std::int64_t job) { return server.get(fmt::format("/v1/jobs/{}{}", job, path)); },
      .text =
          [text = std::move(text)](const json& answers, const std::vector<std::int64_t>& /*jobs*/) {
            std::string all;
            for (const json& answer : answers) {
              all += all.empty() ? "" : "\n";
              all += text(answer);
            }
            return all;
          }};
}

namespace {

bool is_missing(const Error& error, std::int64_t job) {
  return error.code == ErrorCode::NotFound &&
         error.message == fmt::format("there is no job {}", job);
}

// One line, also for a range of thousands.
Error no_such_jobs(std::vector<std::int64_t> missing) {
  std::ranges::sort(missing);
  return not_found(missing.size() == 1 ? fmt::format("there is no job {}", missing.front())
                                       : fmt::format("there are no jobs {}", ranges_text(missing)))
      .value();
}

// Whether it is about a job that has ended; `job` becomes its number.
bool is_ended(const Error& error, std::int64_t& job) {
  const std::string_view text = error.message;
  constexpr std::string_view kJob = "job ";
  return text.starts_with(kJob) &&
         std::from_chars(text.begin() + kJob.size(), text.end(), job).ec == std::errc() &&
         text.starts_with(fmt::format("{}{} has already ended", kJob, job));
}

// One line, also for an array of thousands.
void join_ended_jobs(std::vector<Error>& problems) {
  std::vector<std::int64_t> ended;
  std::vector<Error> others;
  for (const Error& problem : problems) {
    if (std::int64_t job = 0; is_ended(problem, job)) {
      ended.push_back(job);
    } else {
      others.push_back(problem);
    }
  }
  if (ended.size() > 1) {
    std::ranges::sort(ended);
    others.push_back(conflict(fmt::format("{} have already ended", jobs_text(ended))).value());
    problems = std::move(others);
  }
}

struct Answers {
  json given = json::array();
  std::vector<std::int64_t> answered{};
  std::vector<Error> problems{};
  std::vector<Error> inapplicable{};
  std::vector<std::int64_t> missing{};
};

Answers ask_for_each(ServerClient& server, const JobAction& action, const SelectedJobs& selected) {
  Answers made{.problems = selected.problems};
  for (const std::int64_t job : selected.ids) {
    Result<json> answer = action.ask(server, job);
    if (answer) {
      made.given.push_back(std::move(*answer));
      made.answered.push_back(job);
    } else if (answer.error().code == ErrorCode::Conflict && selected.of_groups.contains(job)) {
      // Of an array or of all jobs with a name, those are meant to which the change applies.
      made.inapplicable.push_back(std::move(answer.error()));
    } else if (is_missing(answer.error(), job)) {
      made.missing.push_back(job);
    } else {
      made.problems.push_back(std::move(answer.error()));
      if (made.problems.back().code == ErrorCode::Unavailable) {
        break;
      }
    }
  }
  return made;
}

}  // namespace

Result<void> act_on_jobs(ServerClient& server,
                         const JobChoice& choice,
                         const JobAction& action,
                         const CommandContext& context) {
  const Result<SelectedJobs> selected =
      select_jobs(server, choice, {.states = action.states, .which = action.which});
  if (!selected) {
    return tl::unexpected(selected.error());
  }
  auto [answers, answered, problems, inapplicable, missing] =
      ask_for_each(server, action, *selected);
  if (answered.empty()) {
    std::ranges::move(inapplicable, std::back_inserter(problems));
  }
  const bool troubled = !problems.empty() || !missing.empty();
  if (context.output.json()) {
    context.output.print_json_of(answers, choice.single() ? 1 : 2, troubled);
  } else if (!answered.empty()) {
    const std::string text = action.text(answers, answered);
    action.remarks ? context.output.remark(text) : context.output.print(text);
  } else if (!troubled) {
    context.output.remark(fmt::format("You have no jobs {}.", action.which));
  }
  join_ended_jobs(problems);
  if (!missing.empty()) {
    problems.push_back(no_such_jobs(missing));
  }
  for (const Error& problem : problems) {
    note_problem(problem, context);
  }
  return {};
}

std::string jobs_text(const std::vector<std::int64_t>& jobs) {
  return fmt::format("job{} {}", jobs.size() == 1 ? "" : "s", ranges_text(jobs));
}

}  // namespace carpool::app
