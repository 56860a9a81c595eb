#include "app/top/top_view.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/output/text_table.hpp"
#include "app/top/top_clients.hpp"
#include "app/top/top_detail.hpp"
#include "app/top/top_gpus.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kLeastProcesses = 3;
// Below this height, clients would leave too little for the rest.
constexpr std::size_t kRowsForClients = 16;

// "     7  ", a column that is there where the server has jobs.
std::string job_cell(bool jobs, const std::string& text) {
  return jobs ? fmt::format("{:>6}  ", text) : "";
}

std::string sm_cell(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}", *share * 100.0) : "-";
}

// "no   ", a column that is there where programs run with the library in front of the driver.
std::string library_cell(bool library, const std::string& text) {
  return library ? fmt::format("{:<3}  ", text) : "";
}

Line process_line(const TopProcess& process, bool jobs, bool library, Tone tone) {
  const GpuProcess& gpu = process.entry.process;
  const ProcessName& name = process.entry.name;
  const std::optional<bool> has = process.entry.library;
  return {{fmt::format("{:>8}  {:<12.12}  {:>3}  {}{:>6}  {:>10}  {:<3}  {}{}",
                       gpu.pid == 0 ? "-" : std::to_string(gpu.pid),
                       name.user.empty() ? "-" : name.user,
                       process.gpu,
                       job_cell(jobs, process.job ? std::to_string(process.job->id) : "-"),
                       sm_cell(process.entry.sm_active),
                       gpu.memory_bytes ? gib_number(*gpu.memory_bytes) : "-",
                       gpu.mps_client ? "yes" : "no",
                       library_cell(library,
                                    !has   ? "-"
                                    : *has ? "yes"
                                           : "no"),
                       name.command.empty() ? "-" : name.command),
           tone}};
}

// As many processes as fit, scrolled to show the selected one. Returns their number.
std::size_t add_processes(std::vector<Line>& lines,
                          const TopModel& model,
                          std::size_t room,
                          bool print_out) {
  const bool jobs = std::ranges::any_of(
      model.gpus, [](const GpuReading& gpu) { return gpu.jobs && !gpu.jobs->empty(); });
  const bool library =
      std::ranges::any_of(model.gpus, [](const GpuReading& gpu) { return !gpu.clients.empty(); });
  lines.push_back({{fmt::format("{:>8}  {:<12}  {:>3}  {}{:>6}  {:>10}  {:<3}  {}{}",
                                "PID",
                                "USER",
                                "GPU",
                                job_cell(jobs, "JOB"),
                                "SM [%]",
                                "MEM [GiB]",
                                "MPS",
                                library_cell(library, "LIB"),
                                "COMMAND"),
                    Tone::Strong}});
  const std::vector<TopProcess> processes = sorted_processes(model);
  if (processes.empty()) {
    lines.push_back({{model.filter.empty() ? "          no process uses GPU memory"
                                           : "          nothing matches the filter",
                      Tone::Faint}});
    return 0;
  }
  const std::size_t shown = print_out ? processes.size() : std::min(room, processes.size());
  const std::size_t first = model.selected < shown ? 0 : model.selected + 1 - shown;
  for (std::size_t i = first; i < std::min(first + shown, processes.size()); ++i) {
    const bool chosen = !print_out && i == model.selected;
    lines.push_back(process_line(processes[i], jobs, library, chosen ? Tone::Chosen : Tone::Plain));
  }
  return shown;
}

Line heading_line(const TopModel& model) {
  const std::size_t count = model.gpus.size();
  std::string text = fmt::format("carpool top  {} GPU{}", count, count == 1 ? "" : "s");
  if (count > 0 && !model.gpus.front().info.driver.empty()) {
    text += fmt::format("  driver {}", model.gpus.front().info.driver);
  }
  Line line{{text, Tone::Strong}};
  if (!model.source.empty()) {
    line.push_back({fmt::format("  replay of {}", model.source), Tone::Warning});
  }
  if (!model.filter.empty() && !model.typing) {
    line.push_back({fmt::format("  filter /{}", model.filter), Tone::Warning});
  }
  return line;
}

std::size_t most_clients(const TopScreenSize& size) {
  return size.rows == 0                ? std::numeric_limits<std::size_t>::max()
         : size.rows < kRowsForClients ? 0
                                       : size.rows / 4;
}

Line keys_line(TopSort sort, const Glyphs& glyphs) {
  const auto tone = [&](TopSort key) { return sort == key ? Tone::Strong : Tone::Faint; };
  return {{fmt::format(" q quit   {} move   sort:", glyphs.arrows), Tone::Faint},
          {" m memory", tone(TopSort::Memory)},
          {" s SM", tone(TopSort::Sm)},
          {" p pid", tone(TopSort::Pid)},
          {" j job", tone(TopSort::Job)},
          {"   / filter   Enter detail   k cancel", Tone::Faint}};
}

// A question, the filter as it is typed, a message, or the keys.
Line last_line(const TopModel& model, const Glyphs& glyphs) {
  if (model.asking) {
    const GpuJob& job = *model.asking;
    return {{fmt::format(" Cancel job {}{}{} of {}? y: yes, any other key: no",
                         job.id,
                         job.name.empty() ? "" : " ",
                         job.name,
                         job.user),
             Tone::Alarm}};
  }
  if (model.typing) {
    return {{fmt::format(" /{}_   Enter: keep, Escape: show all", model.filter), Tone::Strong}};
  }
  return model.notice.empty() ? keys_line(model.sort, glyphs)
                              : Line{{" " + model.notice, Tone::Warning}};
}

// Bars, clients and processes. Returns how many processes are shown.
std::size_t add_overview(std::vector<Line>& lines,
                         const TopModel& model,
                         const TopScreenSize& size,
                         const Glyphs& glyphs) {
  const bool print_out = size.rows == 0;
  // Heading, blank line, heading of the table, keys.
  constexpr std::size_t kOthers = 4;
  const std::vector<Line> clients = client_lines(model, most_clients(size), glyphs);
  const std::size_t needed = kOthers + kLeastProcesses + clients.size();
  const std::size_t room = print_out ? std::numeric_limits<std::size_t>::max()
                                     : std::max(size.rows, needed + 1) - needed;
  for (Line& line : gpu_lines(model, size.columns, room, glyphs)) {
    lines.push_back(std::move(line));
  }
  lines.insert(lines.end(), clients.begin(), clients.end());
  const std::size_t used = lines.size() + 2;
  return add_processes(lines, model, size.rows > used ? size.rows - used : 0, print_out);
}

}  // namespace

TopView top_view(const TopModel& model, const TopScreenSize& size, const Glyphs& glyphs) {
  TopView view;
  view.lines.push_back(heading_line(model));
  view.lines.push_back({});
  if (model.detail) {
    for (Line& line : detail_lines(model, size.columns, size.rows, glyphs)) {
      view.lines.push_back(std::move(line));
    }
  } else {
    view.page = add_overview(view.lines, model, size, glyphs);
  }
  if (size.rows != 0) {
    view.lines.resize(size.rows - 1);
    view.lines.push_back(last_line(model, glyphs));
  }
  if (!size.whole_lines) {
    for (Line& line : view.lines) {
      line = fitted(line, size.columns);
    }
  }
  return view;
}

}  // namespace carpool::app
