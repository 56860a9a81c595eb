#include "app/top/top_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace carpool::app {
namespace {

// Wider than any screen.
constexpr std::size_t kMaxHistory = 1024;

std::size_t count_processes(const TopModel& model) {
  std::size_t count = 0;
  for (const GpuReading& gpu : model.gpus) {
    count += gpu.processes.size();
  }
  return count;
}

void select(TopModel& model, std::size_t place) {
  const std::size_t count = count_processes(model);
  model.selected = std::min(place, count == 0 ? 0 : count - 1);
}

std::size_t less(std::size_t from, std::size_t steps) {
  return from > steps ? from - steps : 0;
}

// Ascending in all parts.
using Rank = std::tuple<double, double, std::int64_t, unsigned>;

Rank rank(const TopProcess& process, TopSort sort) {
  const double memory =
      -static_cast<double>(process.entry.process.memory_bytes.value_or(std::uint64_t{0}));
  const std::int64_t pid = process.entry.process.pid;
  switch (sort) {
    case TopSort::Memory:
      return {memory, 0.0, pid, process.gpu};
    case TopSort::Sm:
      return {-process.gpu_busy, memory, pid, process.gpu};
    case TopSort::Pid:
      break;
  }
  return {0.0, 0.0, pid, process.gpu};
}

}  // namespace

Busy how_busy(const GpuReading& gpu) {
  if (gpu.activity && gpu.activity->sm_active) {
    return {.share = gpu.activity->sm_active, .fine = true};
  }
  return {.share = gpu.sample ? gpu.sample->gpu_utilisation : std::nullopt, .fine = false};
}

TopSort sort_named(std::string_view name) {
  return name == "sm" ? TopSort::Sm : name == "pid" ? TopSort::Pid : TopSort::Memory;
}

void show_reading(TopModel& model, std::vector<GpuReading> gpus) {
  model.gpus = std::move(gpus);
  model.history.resize(model.gpus.size());
  for (std::size_t i = 0; i < model.gpus.size(); ++i) {
    std::vector<double>& history = model.history[i];
    if (history.size() == kMaxHistory) {
      history.erase(history.begin());
    }
    history.push_back(how_busy(model.gpus[i]).share.value_or(0.0));
  }
  select(model, model.selected);
}

bool press(TopModel& model, TopKey key, std::size_t page) {
  switch (key) {
    case TopKey::Quit:
      return false;
    case TopKey::Up:
      select(model, less(model.selected, 1));
      break;
    case TopKey::Down:
      select(model, model.selected + 1);
      break;
    case TopKey::PageUp:
      select(model, less(model.selected, page));
      break;
    case TopKey::PageDown:
      select(model, model.selected + page);
      break;
    case TopKey::First:
      select(model, 0);
      break;
    case TopKey::Last:
      select(model, count_processes(model));
      break;
    case TopKey::ByMemory:
      model.sort = TopSort::Memory;
      break;
    case TopKey::BySm:
      model.sort = TopSort::Sm;
      break;
    case TopKey::ByPid:
      model.sort = TopSort::Pid;
      break;
    case TopKey::Other:
      break;
  }
  return true;
}

std::vector<TopProcess> sorted_processes(const TopModel& model) {
  std::vector<TopProcess> processes;
  for (const GpuReading& gpu : model.gpus) {
    for (const NamedProcess& entry : gpu.processes) {
      processes.push_back({gpu.info.index, entry, how_busy(gpu).share.value_or(0.0)});
    }
  }
  std::sort(processes.begin(), processes.end(), [&](const TopProcess& a, const TopProcess& b) {
    return rank(a, model.sort) < rank(b, model.sort);
  });
  return processes;
}

}  // namespace carpool::app
