#include "interpose/tests/gate/simulated_device.hpp"

#include <algorithm>
#include <tuple>

#include "interpose/gate/policy.hpp"

namespace carpool::interpose::gate {
void SimulatedDevice::launch(const SimulatedLaunch& launch, Nanoseconds now) {
  queues_[launch.client].push_back({.launch = launch, .order = ++order_, .left = launch.true_ns});
  last_ = now;
  mps_ ? start_kernels(now) : choose_client(now);
}

void SimulatedDevice::pop(std::uint32_t client) {
  const auto queue = queues_.find(client);
  free_sms_ += queue->second.front().granted;
  queue->second.pop_front();
  if (queue->second.empty()) {
    queues_.erase(queue);
  }
}

void SimulatedDevice::remove(std::uint32_t client, Nanoseconds now) {
  while (queues_.contains(client)) {
    pop(client);
  }
  last_ = now;
  mps_ ? start_kernels(now) : choose_client(now);
}

// The first kernel of each client takes the SMs that it needs, or those that are free; SLO clients
// first.
void SimulatedDevice::start_kernels(Nanoseconds now) {
  std::vector<Entry*> ready;
  for (auto& [client, queue] : queues_) {
    if (queue.front().granted == 0) {
      ready.push_back(&queue.front());
    }
  }
  std::sort(ready.begin(), ready.end(), [](const Entry* a, const Entry* b) {
    return std::tuple(!a->launch.slo, a->order) < std::tuple(!b->launch.slo, b->order);
  });
  for (Entry* entry : ready) {
    const SimulatedLaunch& launch = entry->launch;
    const std::uint32_t most =
        launch.sms_limit == 0 ? launch.sms : std::min(launch.sms, launch.sms_limit);
    entry->granted = std::min(most, free_sms_);
    if (entry->granted > 0) {
      free_sms_ -= entry->granted;
      entry->started = now;
      entry->ends = now + launch.true_ns * launch.sms / entry->granted;
      if (!launch.slo && launch.sms_limit == 0) {
        longest_overrun_ = std::max(longest_overrun_, entry->ends - now - launch.bound_ns);
      }
    }
  }
}

bool SimulatedDevice::others_wait() const {
  return queues_.size() > 1 || (queues_.size() == 1 && !queues_.contains(current_));
}

void SimulatedDevice::choose_client(Nanoseconds now) {
  if (queues_.empty() || (queues_.contains(current_) && (now < slice_ends_ || !others_wait()))) {
    return;
  }
  const auto next = queues_.upper_bound(current_);
  current_ = next == queues_.end() ? queues_.begin()->first : next->first;
  slice_ends_ = now + kSlice;
}

Nanoseconds SimulatedDevice::next_change() const {
  if (queues_.empty()) {
    return kNever;
  }
  if (!mps_) {
    const Nanoseconds ends = last_ + queues_.at(current_).front().left;
    return others_wait() ? std::min(ends, std::max(last_, slice_ends_)) : ends;
  }
  Nanoseconds first = kNever;
  for (const auto& [client, queue] : queues_) {
    first = queue.front().granted > 0 ? std::min(first, queue.front().ends) : first;
  }
  return first;
}

std::vector<SimulatedLaunch> SimulatedDevice::advance(Nanoseconds to) {
  std::vector<SimulatedLaunch> ended;
  if (mps_) {
    for (const auto& [client, queue] : queues_) {
      if (queue.front().granted > 0 && queue.front().ends <= to) {
        ended.push_back(queue.front().launch);
      }
    }
  } else if (!queues_.empty()) {
    Entry& running = queues_.at(current_).front();
    running.left -= to - last_;
    if (running.left <= 0) {
      ended.push_back(running.launch);
    }
  }
  last_ = to;
  for (const SimulatedLaunch& launch : ended) {
    pop(launch.client);
  }
  mps_ ? start_kernels(to) : choose_client(to);
  return ended;
}

Nanoseconds SimulatedDevice::best_effort_left(Nanoseconds now) const {
  Nanoseconds sum = 0;
  for (const auto& [client, queue] : queues_) {
    for (const Entry& entry : queue) {
      if (entry.launch.slo || entry.launch.sms_limit != 0) {
        continue;
      }
      if (mps_ && entry.granted > 0) {
        const Nanoseconds whole = std::max<Nanoseconds>(1, entry.ends - entry.started);
        sum += entry.launch.true_ns * (entry.ends - now) / whole;
      } else {
        sum += entry.left -
               (!mps_ && client == current_ && &entry == &queue.front() ? now - last_ : 0);
      }
    }
  }
  return sum;
}

}  // namespace carpool::interpose::gate
