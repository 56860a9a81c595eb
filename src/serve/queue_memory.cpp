#include "serve/queue_memory.hpp"

#include <set>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

constexpr std::size_t kJobBytes = 1024;  // what the scheduler keeps of any job
constexpr std::size_t kWordBytes = 64;   // of a string in a container, besides its text

// An environment is counted once for all jobs that share it.
class Counting {
 public:
  void add(const JobSpec& spec) {
    bytes_ += command_bytes(spec);
    if (!spec.env.empty() && seen_.insert(&spec.env.map()).second) {
      bytes_ += environment_bytes(spec);
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::set<const Environment::Map*> seen_;
  std::size_t bytes_ = 0;
};

std::size_t bytes_of_user(const schedule::Scheduler& scheduler, std::uint32_t uid) {
  Counting counting;
  for (const JobId id : scheduler.jobs()) {
    const JobRecord* job = scheduler.find(id);
    if (job != nullptr && !job->over() && job->owner.uid == uid) {
      counting.add(job->spec);
    }
  }
  return counting.bytes();
}

}  // namespace

std::size_t command_bytes(const JobSpec& spec) {
  std::size_t bytes = kJobBytes + spec.name.size() + spec.cwd.size() + spec.workload.size() +
                      spec.progress.size() + spec.output.size() + spec.error.size() +
                      spec.notify.size() + spec.after.size() * sizeof(JobId);
  for (const auto& [name, value] : spec.params) {
    bytes += 2 * kWordBytes + name.size() + value.size();
  }
  for (const std::string& word : spec.argv) {
    bytes += kWordBytes + word.size();
  }
  return bytes;
}

std::size_t environment_bytes(const JobSpec& spec) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : spec.env) {
    bytes += 2 * kWordBytes + name.size() + value.size();
  }
  return bytes;
}

QueueMemory::Count QueueMemory::count(const schedule::Scheduler& scheduler,
                                      std::uint32_t uid,
                                      std::span<const JobSpec> jobs) const {
  Counting submitted;
  for (const JobSpec& spec : jobs) {
    submitted.add(spec);
  }
  const auto known = held_.find(uid);
  const std::size_t held = known == held_.end() ? most_ : known->second;
  return {.held = held + submitted.bytes() > most_ ? bytes_of_user(scheduler, uid) : held,
          .submitted = submitted.bytes()};
}

Result<void> QueueMemory::check(const Count& count) const {
  if (count.held + count.submitted <= most_) {
    return {};
  }
  return fail(ErrorCode::LimitReached,
              fmt::format("the jobs of this user that have not ended hold {} MiB of commands and "
                          "environments, and {} MiB are the limit; submit more when some have "
                          "ended, or as an array, whose jobs share one environment",
                          count.held >> 20U,
                          most_ >> 20U));
}

Result<void> QueueMemory::check(const schedule::Scheduler& scheduler,
                                std::uint32_t uid,
                                std::span<const JobSpec> jobs) const {
  return check(count(scheduler, uid, jobs));
}

Result<void> QueueMemory::add(const schedule::Scheduler& scheduler,
                              std::uint32_t uid,
                              std::span<const JobSpec> jobs) {
  const Count counted = count(scheduler, uid, jobs);
  Result<void> fits = check(counted);
  held_[uid] = counted.held + (fits ? counted.submitted : 0);
  return fits;
}

}  // namespace carpool::serve
