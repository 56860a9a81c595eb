#include "serve/job_request.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"
#include "base/text/progress_pattern.hpp"
#include "core/identity/program_words.hpp"
#include "core/job_json.hpp"
#include "serve/queue_memory.hpp"
#include "serve/units.hpp"

namespace carpool::serve {

namespace {

constexpr std::size_t kDeepestJson = 32;
constexpr std::size_t kMostJsonValues = 100'000;

}  // namespace

using nlohmann::json;

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

Result<std::vector<JobSpec>> parse_job_request(std::string_view text) {
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
  std::vector<int> indices;
  if (const auto array = object.find("array"); array != object.end() && array->is_string()) {
    Result<std::vector<int>> parsed = parse_array(array->get<std::string>());
    if (!parsed) {
      return tl::unexpected(parsed.error());
    }
    indices = std::move(*parsed);
    object.erase(array);
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
  if (indices.empty()) {
    return std::vector<JobSpec>{std::move(*spec)};
  }
  // Checked before a copy is made: each job of the array carries the command.
  const std::size_t bytes = command_bytes(*spec) + environment_bytes(*spec);
  if (bytes * indices.size() > kMostArrayBytes) {
    return invalid_input(
        fmt::format("array: {} jobs with a command and an environment of {} bytes; together they "
                    "may have {} bytes. Pass the arguments in a file, or submit smaller arrays",
                    indices.size(),
                    bytes,
                    kMostArrayBytes));
  }
  std::vector<JobSpec> jobs(indices.size(), *spec);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].array_index = indices[i];
  }
  return jobs;
}

Result<JobUpdated> parse_update_request(std::string_view text, const std::string& by) {
  json object =
      is_small_json(text) ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
  if (!object.is_object() || object.empty()) {
    return invalid_input("expected one JSON object with time_s, mem, priority or class");
  }
  for (const auto& [key, value] : object.items()) {
    if (key != "time_s" && key != "mem" && key != "priority" && key != "class") {
      return invalid_input(
          fmt::format("\"{}\" cannot change; time_s, mem, priority and class can", key));
    }
    if (value.is_null() || (key == "mem" && value == "auto")) {
      return invalid_input(fmt::format("{}: a value is needed", key));
    }
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
    return change;
  });
}

}  // namespace carpool::serve
