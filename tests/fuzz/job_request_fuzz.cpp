// Any bytes as the body of a submission: jobs that the journal can hold, or an error.
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/json/job_json.hpp"
#include "serve/job_request.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_job_request(std::string_view bytes) {
  const auto jobs = serve::parse_job_request(bytes, 1.7e9);
  if (!jobs) {
    require(!jobs.error().message.empty());
    return;
  }
  constexpr std::size_t kMostJobs = 10'000;
  require(!jobs->empty() && jobs->size() <= kMostJobs);
  const auto once = job_object(jobs->back());
  const auto again = job_from(once, "job");
  require(again.has_value() && job_object(*again) == once);
  (void)once.dump();  // throws on text that is not UTF-8
}

}  // namespace carpool::fuzz
