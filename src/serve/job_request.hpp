// A submission: JSON in, jobs out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/job.hpp"
#include "core/job_event.hpp"

namespace carpool::serve {

// Memory that the parser takes at most, for each byte of the text.
inline constexpr std::size_t kParsedBytesPerByte = 6;
// Commands and environments of the jobs of one array together.
inline constexpr std::size_t kMostArrayBytes = std::size_t{64} << 20U;

// Whether JSON text of a request can be parsed without harm: its nesting and number of values are
// limited, because each value takes many times its text.
[[nodiscard]] bool is_small_json(std::string_view text);

// The name of a job that has none: its script or program, "train.py" of "python -u p/train.py".
[[nodiscard]] std::string default_name(const std::vector<std::string>& argv);

// One job by the keys of docs/jobs.md, or one for each index of an `array` like "0-9".
// `now_s`: the wall clock, for `begin`; JobSpec::begin_s is by the wall clock too.
[[nodiscard]] Result<std::vector<JobSpec>> parse_job_request(std::string_view text, double now_s);

// A change of a job: at least one of time_s, mem, priority, class and begin, as in a submission.
[[nodiscard]] Result<JobUpdated> parse_update_request(std::string_view text,
                                                      const std::string& by,
                                                      double now_s);

}  // namespace carpool::serve
