// What a user can learn from a job of which little is known: what the server assumes of it and
// until when, what would replace the assumption, and one command to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster_snapshot.hpp"
#include "core/interference_model.hpp"
#include "core/job_record.hpp"

namespace carpool::schedule {

struct Lesson {
  std::vector<std::string> assumed{};  // "memory: not known; …", each with its end
  std::vector<std::string> changes{};  // what would replace it
  std::string command{};
};

// What a lesson is made from.
struct LessonFacts {
  const JobRecord& job;
  const QueuedJob& view;
  const Resident* resident = nullptr;  // of a job that runs
  const InterferenceModel& interference;
  // Of a job that waits and whose need is unknown: it starts now if this is enough.
  std::optional<std::uint64_t> startable_bytes{};
};

// Empty: nothing is assumed, or the job has ended.
[[nodiscard]] std::optional<Lesson> lesson_of(const LessonFacts& facts);

}  // namespace carpool::schedule
