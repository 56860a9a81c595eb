// What `--notify https://…` posts: one JSON document about a job that has ended.
#pragma once

#include <string>

#include "base/server_clock.hpp"
#include "core/job_record.hpp"

namespace carpool::run {

// Names as in the API: docs/jobs.md. `text` is one sentence, which chat services show.
[[nodiscard]] std::string notice_document(const JobRecord& job,
                                          const std::string& host,
                                          const ShownTime& shown);

}  // namespace carpool::run
