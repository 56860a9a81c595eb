#include "schedule/runs/timers.hpp"

#include <algorithm>

namespace carpool::schedule {

void Timers::set_limit(JobId job, double due_s) {
  drop(job);
  due_s_.emplace(job, due_s);
  limits_.emplace(due_s, job);
}

void Timers::set_kill(JobId job, double due_s) {
  drop(job);
  due_s_.emplace(job, due_s);
  kills_.emplace(due_s, job);
}

void Timers::drop(JobId job) {
  const auto found = due_s_.find(job);
  if (found != due_s_.end()) {
    limits_.erase({found->second, job});
    kills_.erase({found->second, job});
    due_s_.erase(found);
  }
}

std::optional<JobId> Timers::due(const Queue& queue, double now_s) {
  return queue.empty() || queue.begin()->first > now_s ? std::nullopt
                                                       : std::optional(queue.begin()->second);
}

std::optional<double> Timers::next_s() const {
  std::optional<double> next;
  for (const Queue* queue : {&limits_, &kills_}) {
    if (!queue->empty()) {
      next = std::min(next.value_or(queue->begin()->first), queue->begin()->first);
    }
  }
  return next;
}

}  // namespace carpool::schedule
