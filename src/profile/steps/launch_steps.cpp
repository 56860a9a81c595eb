#include "profile/steps/launch_steps.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace carpool::profile {
namespace {

// From this confidence on no other method is tried.
constexpr double kConfident = 0.6;

using Launch = gpu::activity_format::Launch;
using MemoryOperation = gpu::activity_format::MemoryOperation;

double busy_ns(const gpu::ActivityTrace& trace, const TimeWindow& window) {
  double sum = 0.0;
  for (const Launch& launch : trace.launches) {
    sum += window.holds(launch.start_ns) ? static_cast<double>(launch.duration_ns) : 0.0;
  }
  return sum;
}

std::uint32_t busiest_stream(const gpu::ActivityTrace& trace, const TimeWindow& window) {
  std::map<std::uint32_t, double> busy;
  for (const Launch& launch : trace.launches) {
    if (window.holds(launch.start_ns)) {
      busy[launch.stream] += static_cast<double>(launch.duration_ns);
    }
  }
  const auto most = std::max_element(
      busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == busy.end() ? 0 : most->first;
}

// Kernel → id for find_periods().
std::vector<std::uint32_t> each_by_itself(const gpu::ActivityTrace& trace) {
  std::vector<std::uint32_t> ids(trace.kernels.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

std::vector<std::uint32_t> by_name(const gpu::ActivityTrace& trace) {
  std::map<std::string_view, std::uint32_t> known;
  std::vector<std::uint32_t> ids;
  ids.reserve(trace.kernels.size());
  for (const gpu::ActivityKernel& kernel : trace.kernels) {
    const auto next = static_cast<std::uint32_t>(known.size());
    ids.push_back(known.emplace(kernel.name, next).first->second);
  }
  return ids;
}

// Copies of the same kind and size are the same: a batch to the GPU, a loss from it.
class Sequence {
 public:
  Sequence(std::vector<std::uint32_t> kernel_ids, const TimeWindow& window)
      : kernel_ids_(std::move(kernel_ids)), window_(window) {
    for (const std::uint32_t id : kernel_ids_) {
      next_id_ = std::max(next_id_, id + 1);
    }
  }

  void add(const Launch& launch) {
    if (window_.holds(launch.start_ns)) {
      events_.push_back({kernel_ids_[launch.kernel], launch.start_ns, launch.duration_ns});
    }
  }
  void add(const MemoryOperation& operation) {
    if (window_.holds(operation.start_ns)) {
      const auto [known, added] =
          copies_.try_emplace(std::pair(operation.kind, operation.bytes), next_id_);
      next_id_ += added ? 1 : 0;
      events_.push_back({known->second, operation.start_ns, operation.duration_ns});
    }
  }
  [[nodiscard]] std::vector<StepEvent> sorted() && {
    std::sort(events_.begin(), events_.end(), [](const StepEvent& a, const StepEvent& b) {
      return std::pair(a.start_ns, a.id) < std::pair(b.start_ns, b.id);
    });
    return std::move(events_);
  }

 private:
  std::vector<std::uint32_t> kernel_ids_;
  TimeWindow window_;
  std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint32_t> copies_;
  std::uint32_t next_id_ = 0;
  std::vector<StepEvent> events_;
};

std::vector<Period> periods(const gpu::ActivityTrace& trace,
                            const TimeWindow& window,
                            std::vector<std::uint32_t> kernel_ids,
                            const std::uint32_t* stream) {
  Sequence sequence(std::move(kernel_ids), window);
  const auto add_all = [&](const auto& records) {
    for (const auto& record : records) {
      if (stream == nullptr || record.stream == *stream) {
        sequence.add(record);
      }
    }
  };
  add_all(trace.launches);
  add_all(trace.memory_operations);
  return find_periods(std::move(sequence).sorted());
}

double confidence_of(const std::vector<Period>& found) {
  return found.empty() ? 0.0 : found.front().confidence;
}

}  // namespace

std::vector<Period> find_launch_steps(std::span<const gpu::ActivityTrace> traces,
                                      const TimeWindow& window) {
  const gpu::ActivityTrace* busiest = nullptr;
  double most = 0.0;
  for (const gpu::ActivityTrace& trace : traces) {
    if (const double busy = busy_ns(trace, window); busy > most) {
      most = busy;
      busiest = &trace;
    }
  }
  if (busiest == nullptr) {
    return {};
  }
  std::vector<Period> best = periods(*busiest, window, each_by_itself(*busiest), nullptr);
  const std::uint32_t stream = busiest_stream(*busiest, window);
  for (const std::uint32_t* only : {static_cast<const std::uint32_t*>(nullptr), &stream}) {
    if (confidence_of(best) >= kConfident) {
      break;
    }
    std::vector<Period> other = periods(
        *busiest, window, only == nullptr ? by_name(*busiest) : each_by_itself(*busiest), only);
    if (confidence_of(other) > confidence_of(best)) {
      best = std::move(other);
    }
  }
  return best;
}

}  // namespace carpool::profile
