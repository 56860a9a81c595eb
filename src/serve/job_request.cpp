#include "serve/job_request.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"
#include "base/text/progress_pattern.hpp"
#include "core/identity/program_words.hpp"
#include "core/json/job_json.hpp"
#include "core/submission/own_output.hpp"
#include "core/submission/param_sweep.hpp"
#include "serve/queue_memory.hpp"
#include "serve/units.hpp"

namespace carpool::serve {

namespace {

constexpr std::size_t kDeepestJson = 32;
constexpr std::size_t kMostJsonValues = 100'000;

using nlohmann::json;

// Replaces "begin": "now+2h" by "begin_s".
Result<void> read_begin(json& object, double now_s) {
  const auto begin = object.find("begin");
  if (begin == object.end()) {
    return {};
  }
  if (!begin->is_string() || object.contains("begin_s")) {
    return invalid_input(
        "begin: expected a text like \"now+2h\" or \"2026-11-17T08:00\", and no begin_s beside it");
  }
  const Result<double> begin_s = parse_begin(begin->get<std::string>(), now_s);
  if (!begin_s) {
    return invalid_input(fmt::format("begin: {}", begin_s.error().message));
  }
  object.erase(begin);
  object["begin_s"] = *begin_s;
  return {};
}

// Takes the array "0-99%4" out of the request; empty: it has none.
Result<std::vector<int>> take_array(json& object) {
  const auto array = object.find("array");
  if (array == object.end() || !array->is_string()) {
    return std::vector<int>();
  }
  const std::string text = array->get<std::string>();
  object.erase(array);
  std::string_view list = text;
  const auto limit = take_array_limit(list);
  if (!limit) {
    return invalid_input(fmt::format("array: {}", limit.error().message));
  }
  if (*limit) {
    object["array_limit"] = **limit;
  }
  return parse_array(list);
}

Error too_large(std::size_t jobs, std::size_t bytes) {
  return {ErrorCode::InvalidInput,
          fmt::format("array: {} jobs with a command and an environment of {} bytes; together they "
                      "may have {} bytes. Pass the arguments in a file, or submit smaller arrays",
                      jobs,
                      bytes,
                      kMostArrayBytes)};
}

// One job for each index; with a sweep, each has its values.
Result<std::vector<JobSpec>> jobs_of_array(const JobSpec& spec,
                                           const std::vector<int>& indices,
                                           std::vector<Params> sweep) {
  // Checked before a copy is made: each job of the array carries the command.
  const std::size_t bytes = command_bytes(spec) + environment_bytes(spec);
  if (bytes * indices.size() > kMostArrayBytes) {
    return tl::unexpected(too_large(indices.size(), bytes));
  }
  std::vector<JobSpec> jobs(indices.size(), spec);
  std::size_t filled = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].array_index = indices[i];
    if (!sweep.empty()) {
      apply_params(jobs[i], std::move(sweep[i]));
      filled += command_bytes(jobs[i]);
    }
    if (filled > kMostArrayBytes) {
      return tl::unexpected(too_large(jobs.size(), command_bytes(jobs[i])));
    }
  }
  return jobs;
}

// Takes `params` out of the request: the values of each job of the sweep, none without one.
Result<ParamLists> take_params(json& object) {
  const auto given = object.find("params");
  if (given == object.end()) {
    return ParamLists{};
  }
  if (object.contains("array")) {
    return invalid_input("params: a sweep is an array of its own; leave array out");
  }
  Result<ParamLists> lists = read_param_lists(*given);
  object.erase(given);
  return lists;
}

// The values of each job of a sweep; none without one.
Result<std::vector<Params>> sweep_of(const ParamLists& params, const JobSpec& spec) {
  if (params.empty()) {
    return std::vector<Params>();
  }
  return check_params_used(params, spec).and_then([&] { return combinations(params, kMostTasks); });
}

}  // namespace

bool is_small_json(std::string_view text) {
  std::size_t depth = 0;
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > kDeepestJson) {
        return false;
      }
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == ',') {
      ++values;
    }
  }
  return values <= kMostJsonValues;
}

std::string default_name(const std::vector<std::string>& argv) {
  if (argv.empty()) {
    return {};
  }
  const identity::ProgramWords words = identity::find_program(argv);
  const bool code = words.kind == identity::ProgramWords::Kind::Code;
  const std::string_view program = code ? argv.front() : words.program;
  const std::string name(program.substr(program.rfind('/') + 1));
  constexpr std::size_t kLongest = 64;
  const bool plain = name.size() <= kLongest && printable(name) == name;
  return plain ? name : std::string();
}

Result<std::vector<JobSpec>> parse_job_request(std::string_view text, double now_s) {
  if (!is_small_json(text)) {
    return invalid_input("the JSON has too many values or is nested too deeply");
  }
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded() || !object.is_object()) {
    return invalid_input("expected one JSON object with the keys of docs/jobs.md");
  }
  if (object.contains("array_job")) {
    return invalid_input("job: \"array_job\" is given by the server; remove it");
  }
  const Result<ParamLists> params = take_params(object);
  if (!params) {
    return tl::unexpected(params.error());
  }
  Result<std::vector<int>> indices = take_array(object);
  if (!indices) {
    return tl::unexpected(indices.error());
  }
  if (const Result<void> read = read_begin(object, now_s); !read) {
    return tl::unexpected(read.error());
  }
  Result<JobSpec> spec = job_from(object, "job");
  if (!spec) {
    return tl::unexpected(spec.error());
  }
  if (is_progress_pattern(spec->progress)) {
    if (const auto pattern = ProgressPattern::make(spec->progress); !pattern) {
      return tl::unexpected(pattern.error());
    }
  }
  if (spec->name.empty()) {
    spec->name = default_name(spec->argv);
  }
  object = nullptr;
  Result<std::vector<Params>> sweep = sweep_of(*params, *spec);
  if (!sweep) {
    return tl::unexpected(sweep.error());
  }
  if (!sweep->empty()) {
    indices->resize(sweep->size());
    std::iota(indices->begin(), indices->end(), 0);
  }
  Result<std::vector<JobSpec>> jobs = indices->empty()
                                          ? std::vector<JobSpec>{std::move(*spec)}
                                          : jobs_of_array(*spec, *indices, std::move(*sweep));
  if (jobs) {
    if (const Result<void> checked = check_own_outputs(*jobs); !checked) {
      return tl::unexpected(checked.error());
    }
  }
  return jobs;
}

Result<JobUpdated> parse_update_request(std::string_view text,
                                        const std::string& by,
                                        double now_s) {
  json object =
      is_small_json(text) ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
  if (!object.is_object() || object.empty()) {
    return invalid_input("expected one JSON object with time_s, mem, priority, class or begin");
  }
  for (const auto& [key, value] : object.items()) {
    constexpr std::array<std::string_view, 6> kChangeable = {
        "time_s", "mem", "priority", "class", "begin", "begin_s"};
    if (std::ranges::find(kChangeable, key) == kChangeable.end()) {
      return invalid_input(
          fmt::format("\"{}\" cannot change; time_s, mem, priority, class and begin can", key));
    }
    if (value.is_null() || (key == "mem" && value == "auto")) {
      return invalid_input(fmt::format("{}: a value is needed", key));
    }
  }
  if (const Result<void> read = read_begin(object, now_s); !read) {
    return tl::unexpected(read.error());
  }
  // Read by the rules of a submission.
  json whole = object;
  whole["argv"] = json::array({"update"});
  return job_from(whole, "update").map([&](const JobSpec& spec) {
    JobUpdated change{.by = by, .time_s = spec.time_s, .mem_bytes = spec.mem_bytes};
    if (object.contains("priority")) {
      change.priority = spec.priority;
    }
    if (object.contains("class")) {
      change.job_class = spec.job_class;
    }
    change.begin_s = spec.begin_s;
    return change;
  });
}

}  // namespace carpool::serve
