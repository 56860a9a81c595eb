#include "app/top/top_model.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace carpool::app {
namespace {

// Wider than any screen.
constexpr std::size_t kMaxHistory = 1024;

// Values that a history may have; the oldest one leaves.
void extend(std::vector<double>& history, double value) {
  if (history.size() == kMaxHistory) {
    history.erase(history.begin());
  }
  history.push_back(value);
}

std::size_t count_processes(const TopModel& model) {
  return sorted_processes(model).size();
}

// A job of which no process is seen: simulated, hidden, or not on the GPU yet.
TopProcess row_of(const GpuReading& gpu, const GpuJob& job) {
  TopProcess row{.gpu = gpu.info.index, .entry = {}, .gpu_busy = 0.0, .job = job};
  row.entry.process.memory_bytes = job.used_bytes;
  row.entry.process.mps_client = job.mechanism == "mps";
  row.entry.name = {.user = job.user, .command = job.name};
  row.entry.job = job.id;
  row.entry.sm_active = job.sm_active;
  return row;
}

bool holds(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return !std::ranges::search(text, part, same).empty() || part.empty();
}

// Memory and SM activity of every row; rows that are gone are forgotten.
void remember_rows(TopModel& model) {
  std::map<TopRowKey, TopRowHistory> kept;
  for (const GpuReading& gpu : model.gpus) {
    for (const TopProcess& row : rows_of(gpu)) {
      const auto known = model.rows.find(key_of(row));
      TopRowHistory& history = kept[key_of(row)];
      if (known != model.rows.end()) {
        history = std::move(known->second);
      }
      const auto bytes = static_cast<double>(row.entry.process.memory_bytes.value_or(0));
      const auto all = static_cast<double>(gpu.info.memory_bytes);
      extend(history.memory, all > 0.0 ? bytes / all : 0.0);
      if (row.entry.sm_active) {
        extend(history.sm_active, *row.entry.sm_active);
      }
    }
  }
  model.rows = std::move(kept);
}

void select(TopModel& model, std::size_t place) {
  const std::size_t count = count_processes(model);
  model.selected = std::min(place, count == 0 ? 0 : count - 1);
}

std::size_t less(std::size_t from, std::size_t steps) {
  return from > steps ? from - steps : 0;
}

// Ascending in all parts.
using Rank = std::tuple<double, double, double, std::int64_t, unsigned>;

Rank rank(const TopProcess& process, TopSort sort) {
  constexpr double kNotTold = -1.0;  // after those that are known not to compute
  const double memory =
      -static_cast<double>(process.entry.process.memory_bytes.value_or(std::uint64_t{0}));
  const std::int64_t pid = process.entry.process.pid;
  switch (sort) {
    case TopSort::Memory:
      return {memory, 0.0, 0.0, pid, process.gpu};
    case TopSort::Sm:
      return {
          -process.entry.sm_active.value_or(kNotTold), -process.gpu_busy, memory, pid, process.gpu};
    case TopSort::Job:  // rows without a job last
      return {process.job ? static_cast<double>(process.job->id)
                          : std::numeric_limits<double>::infinity(),
              memory,
              0.0,
              pid,
              process.gpu};
    case TopSort::Pid:
      break;
  }
  return {0.0, 0.0, 0.0, pid, process.gpu};
}

const TopProcess* chosen(const std::vector<TopProcess>& rows, const TopModel& model) {
  return model.selected < rows.size() ? &rows[model.selected] : nullptr;
}

void ask_to_cancel(TopModel& model) {
  const std::vector<TopProcess> rows = sorted_processes(model);
  const TopProcess* row = chosen(rows, model);
  if (row == nullptr || !row->job) {
    model.notice = "No job of the server is selected";
    return;
  }
  model.asking = row->job;
}

void answer_question(TopModel& model, const TopInput& input) {
  if (input.character == 'y' || input.character == 'Y') {
    model.to_cancel = model.asking->id;
  }
  model.asking.reset();
}

void type_into_filter(TopModel& model, const TopInput& input) {
  if (input.character != '\0') {
    model.filter += input.character;
  } else if (input.key == TopKey::Erase && !model.filter.empty()) {
    model.filter.pop_back();
  } else if (input.key == TopKey::Enter || input.key == TopKey::Escape) {
    model.typing = false;
    model.filter = input.key == TopKey::Escape ? "" : model.filter;
  }
}

void toggle_detail(TopModel& model) {
  const std::vector<TopProcess> rows = sorted_processes(model);
  const TopProcess* row = chosen(rows, model);
  model.detail = model.detail || row == nullptr ? std::nullopt : std::optional(key_of(*row));
}

// Leaves what was entered last.
void escape(TopModel& model) {
  if (model.detail) {
    model.detail.reset();
  } else {
    model.filter.clear();
  }
}

void move(TopModel& model, TopKey key, std::size_t page) {
  switch (key) {
    case TopKey::Up:
      return select(model, less(model.selected, 1));
    case TopKey::Down:
      return select(model, model.selected + 1);
    case TopKey::PageUp:
      return select(model, less(model.selected, page));
    case TopKey::PageDown:
      return select(model, model.selected + page);
    case TopKey::First:
      return select(model, 0);
    default:
      return select(model, count_processes(model));
  }
}

}  // namespace

TopRowKey key_of(const TopProcess& process) {
  return {process.gpu, process.entry.process.pid, process.job ? process.job->id : 0};
}

bool matches(const TopProcess& process, std::string_view text) {
  return holds(process.entry.name.user, text) || holds(process.entry.name.command, text) ||
         holds(std::to_string(process.entry.process.pid), text) ||
         (process.job && (holds(std::to_string(process.job->id), text) ||
                          holds(process.job->name, text) || holds(process.job->user, text)));
}

std::vector<TopProcess> rows_of(const GpuReading& gpu) {
  const double busy = how_busy(gpu).share.value_or(0.0);
  std::vector<TopProcess> rows;
  std::vector<GpuJob> unseen = gpu.jobs.value_or(std::vector<GpuJob>());
  rows.reserve(gpu.processes.size());
  for (const NamedProcess& entry : gpu.processes) {
    rows.push_back({.gpu = gpu.info.index, .entry = entry, .gpu_busy = busy});
  }
  for (TopProcess& row : rows) {
    for (const GpuJob& job : gpu.jobs.value_or(std::vector<GpuJob>())) {
      if (row.entry.job == job.id) {
        row.job = job;
        std::erase_if(unseen, [&](const GpuJob& other) { return other.id == job.id; });
      }
    }
  }
  for (const GpuJob& job : unseen) {
    rows.push_back(row_of(gpu, job));
    rows.back().gpu_busy = busy;
  }
  return rows;
}

Busy how_busy(const GpuReading& gpu) {
  if (gpu.activity && gpu.activity->sm_active) {
    return {.share = gpu.activity->sm_active, .fine = true};
  }
  return {.share = gpu.sample ? gpu.sample->gpu_utilisation : std::nullopt, .fine = false};
}

TopSort sort_named(std::string_view name) {
  return name == "sm"    ? TopSort::Sm
         : name == "pid" ? TopSort::Pid
         : name == "job" ? TopSort::Job
                         : TopSort::Memory;
}

void show_reading(TopModel& model, std::vector<GpuReading> gpus) {
  model.gpus = std::move(gpus);
  model.history.resize(model.gpus.size());
  for (std::size_t i = 0; i < model.gpus.size(); ++i) {
    extend(model.history[i], how_busy(model.gpus[i]).share.value_or(0.0));
  }
  remember_rows(model);
  if (model.detail && !model.rows.contains(*model.detail)) {
    model.detail.reset();
    model.notice = "The process or job that was shown has ended";
  }
  select(model, model.selected);
}

bool press(TopModel& model, const TopInput& input, std::size_t page) {
  const bool pressed = input.key != TopKey::Other || input.character != '\0';
  // A terminal that is gone has no character.
  if (!pressed || (input.key == TopKey::Quit && input.character == '\0')) {
    return !pressed;
  }
  model.notice.clear();
  if (model.asking) {
    answer_question(model, input);
    return true;
  }
  if (model.typing) {
    type_into_filter(model, input);
    select(model, model.selected);
    return true;
  }
  switch (input.key) {
    case TopKey::Quit:
      return false;
    case TopKey::ByMemory:
      model.sort = TopSort::Memory;
      break;
    case TopKey::BySm:
      model.sort = TopSort::Sm;
      break;
    case TopKey::ByPid:
      model.sort = TopSort::Pid;
      break;
    case TopKey::ByJob:
      model.sort = TopSort::Job;
      break;
    case TopKey::Filter:
      model.typing = true;
      break;
    case TopKey::Cancel:
      ask_to_cancel(model);
      break;
    case TopKey::Enter:
      toggle_detail(model);
      break;
    case TopKey::Escape:
      escape(model);
      break;
    case TopKey::Erase:
    case TopKey::Other:
      break;
    default:
      move(model, input.key, page);
  }
  return true;
}

std::vector<TopProcess> sorted_processes(const TopModel& model) {
  std::vector<TopProcess> processes;
  for (const GpuReading& gpu : model.gpus) {
    for (TopProcess& row : rows_of(gpu)) {
      if (matches(row, model.filter)) {
        processes.push_back(std::move(row));
      }
    }
  }
  std::sort(processes.begin(), processes.end(), [&](const TopProcess& a, const TopProcess& b) {
    return rank(a, model.sort) < rank(b, model.sort);
  });
  return processes;
}

}  // namespace carpool::app
