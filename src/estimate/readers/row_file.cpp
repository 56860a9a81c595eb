#include "estimate/readers/row_file.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "estimate/judge/row_json.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

// The only JSON object of the file, which may span several lines.
Result<json> only_object(std::string_view text, std::string_view name) {
  json row = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (row.is_object()) {
    return row;
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t end = begin == std::string_view::npos ? begin : text.find('\n', begin);
  if (end != std::string_view::npos && json::accept(text.substr(begin, end - begin)) &&
      text.find_first_not_of(" \t\r\n", end) != std::string_view::npos) {
    return invalid_input(fmt::format(
        "{} describes more than one job; use --evaluate to evaluate estimators on such a file",
        name));
  }
  return invalid_input(fmt::format("{} is not a JSON object", name));
}

}  // namespace

Result<ReadModel> parse_row_file(std::string_view text, std::string_view name) {
  const auto row = only_object(text, name);
  if (!row) {
    return tl::unexpected(row.error());
  }
  try {
    auto job = job_from_row(*row, RowView::Trace, {});
    if (!job) {
      return fail(job.error().code, fmt::format("{}: {}", name, job.error().message));
    }
    return ReadModel{
        .model = std::move(job->model), .setup = job->setup, .machine = std::move(job->machine)};
  } catch (const json::exception& problem) {
    return invalid_input(fmt::format("{}: not a row of a job: {}", name, problem.what()));
  }
}

}  // namespace carpool::estimate
