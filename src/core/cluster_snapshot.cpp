#include "core/cluster_snapshot.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace carpool {

// Each subtraction stops at zero: claims may add up to more than the memory.
std::uint64_t GpuView::free_bytes() const {
  std::uint64_t free = memory_bytes - std::min(memory_bytes, foreign_bytes);
  for (const Resident& resident : residents) {
    free -= std::min(free, std::max(resident.reserved_bytes, resident.used_bytes));
  }
  // Memory in use that belongs to no known job is not free either.
  return std::min(free, memory_bytes - std::min(memory_bytes, used_bytes));
}

double GpuView::empty_after_s() const {
  double after = 0.0;
  for (const Resident& resident : residents) {
    after = std::max(after, resident.remaining_s.value_or(kNoTime));
  }
  return after;
}

bool passes(const GpuFilter& filter, const GpuView& gpu) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  const bool listed = filter.indices.empty() ||
                      std::ranges::find(filter.indices, gpu.index) != filter.indices.end();
  return listed &&
         (filter.type.empty() || !std::ranges::search(gpu.name, filter.type, same).empty());
}

std::string filter_words(const GpuFilter& filter) {
  const std::string indices = fmt::format("{}", fmt::join(filter.indices, " or "));
  if (filter.type.empty()) {
    return fmt::format("GPU {}", indices);
  }
  return indices.empty() ? fmt::format("{} GPUs", filter.type)
                         : fmt::format("{} GPUs with index {}", filter.type, indices);
}

std::optional<SoonestFree> soonest_free(std::vector<std::pair<double, std::size_t>> gpus,
                                        std::size_t count) {
  if (count == 0 || gpus.size() < count) {
    return std::nullopt;
  }
  std::ranges::partial_sort(gpus, gpus.begin() + static_cast<std::ptrdiff_t>(count));
  SoonestFree soonest{.after_s = gpus[count - 1].first};
  for (std::size_t i = 0; i < count; ++i) {
    soonest.gpus.push_back(gpus[i].second);
  }
  return soonest;
}

}  // namespace carpool
