#include "serve/job_request.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/job_json.hpp"
#include "serve/units.hpp"

namespace carpool::serve {

using nlohmann::json;

Result<std::vector<JobSpec>> parse_job_request(std::string_view text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded() || !object.is_object()) {
    return invalid_input("expected one JSON object with the keys of docs/jobs.md");
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
  const Result<JobSpec> spec = job_from(object, "job");
  if (!spec) {
    return tl::unexpected(spec.error());
  }
  if (indices.empty()) {
    return std::vector<JobSpec>{*spec};
  }
  std::vector<JobSpec> jobs(indices.size(), *spec);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].array_index = indices[i];
  }
  return jobs;
}

}  // namespace carpool::serve
