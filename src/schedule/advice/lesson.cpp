#include "schedule/advice/lesson.hpp"

#include <fmt/format.h>

#include "base/text/memory_size.hpp"

namespace carpool::schedule {
namespace {

constexpr double kAll = 100.0;  // percent
// By then a job that is alone on its GPU has a measured speed, if anything reports one.
constexpr double kLongEnough = 30.0;

// The reservation of a running job shrinks when its peak is known.
bool peak_known(const LessonFacts& facts) {
  const JobAttempt* running = facts.job.running();
  return facts.resident != nullptr && running != nullptr &&
         facts.resident->reserved_bytes < running->start.reserved_bytes;
}

bool teach_memory(const LessonFacts& facts, Lesson& lesson) {
  const JobAttempt* running = facts.job.running();
  const bool whole_gpus = facts.view.exclusive || facts.view.gpus > 1;
  if (facts.view.need_basis != NeedBasis::Unknown || whole_gpus || peak_known(facts)) {
    return false;
  }
  constexpr const char* kUntil = "until its peak has not grown for 5 s or more of computing";
  if (running == nullptr) {
    lesson.assumed.push_back(fmt::format(
        "memory: not known; the job starts with a part of a GPU as its cap, or on an empty GPU "
        "where no cap can be enforced, {}",
        kUntil));
    lesson.changes.push_back(fmt::format(
        "`carpool update --mem SIZE {}`, or --mem SIZE at the next submission", facts.job.id));
  } else {
    const std::uint64_t kept = running->start.reserved_bytes;
    lesson.assumed.push_back(
        kept > 0
            ? fmt::format("memory: not known; {} are reserved for it {}", gib_text(kept), kUntil)
            : "memory: not known; nothing is reserved for it");
    lesson.changes.emplace_back("--mem SIZE at the next submission");
  }
  return true;
}

bool teach_activity(const LessonFacts& facts, Lesson& lesson) {
  const auto belief = facts.interference.belief(facts.view.workload);
  double assumed = kUnknownActivity;
  if (belief) {
    if (belief->measured_s > 0.0 || belief->window) {
      return false;
    }
    assumed = belief->sm_active;
  } else if (facts.interference.sm_active(facts.view.workload)) {
    return false;
  }
  lesson.assumed.push_back(fmt::format(
      "activity: {:.0f} % of a GPU, until the job has computed for some seconds", kAll * assumed));
  return true;
}

// Most programs launch kernels, which are counted; of others nothing tells how fast they are.
void teach_speed(const LessonFacts& facts, Lesson& lesson) {
  const auto belief = facts.interference.belief(facts.view.workload);
  if (!belief || belief->solo_rate || !belief->alone || belief->measured_s < kLongEnough) {
    return;
  }
  lesson.assumed.emplace_back(
      "speed: not measured, so that slowdowns are predicted from activities only, until something "
      "reports how fast the program is");
  lesson.changes.emplace_back(
      "carpool.step() in the loop of the program, or --progress PATTERN for lines of its output");
}

// Only its place in the queue depends on it.
void teach_run_time(const LessonFacts& facts, Lesson& lesson) {
  if (facts.job.running() != nullptr || facts.view.runtime_s) {
    return;
  }
  lesson.assumed.emplace_back(
      "run time: as usual for your jobs, until a job of this workload has ended");
  lesson.changes.emplace_back("--runtime TIME at the next submission");
}

}  // namespace

std::optional<Lesson> lesson_of(const LessonFacts& facts) {
  if (facts.job.over()) {
    return std::nullopt;
  }
  Lesson lesson;
  const bool memory = teach_memory(facts, lesson);
  const bool activity = teach_activity(facts, lesson);
  teach_speed(facts, lesson);
  teach_run_time(facts, lesson);
  if (lesson.assumed.empty()) {
    return std::nullopt;
  }
  if (memory || activity) {
    lesson.changes.emplace_back(
        "a second run of the same workload: it starts with what this one teaches");
  }
  if (memory && facts.startable_bytes) {
    lesson.changes.push_back(fmt::format("the command below starts the job now, if {} are enough",
                                         gib_text(*facts.startable_bytes)));
    lesson.command =
        fmt::format("carpool update --mem {}G {}", *facts.startable_bytes >> 30U, facts.job.id);
  } else {
    lesson.command = "carpool knowledge";
  }
  return lesson;
}

}  // namespace carpool::schedule
