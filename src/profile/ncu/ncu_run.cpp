#include "profile/ncu/ncu_run.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <set>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "profile/steps/output_steps.hpp"

namespace carpool::profile {
namespace {

constexpr std::string_view kMetricNames =
    "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
    "dram__throughput.avg.pct_of_peak_sustained_elapsed,"
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed,"
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread,"
    "launch__shared_mem_per_block_static";

// The kernel limits one argument to 128 KiB.
constexpr std::size_t kLongestFilter = 100'000;

constexpr std::string_view kConnected = "==PROF== Connected to process ";
constexpr std::string_view kProfiling = "==PROF== Profiling ";

constexpr std::chrono::milliseconds kLookEvery{100};
// Time for ncu to write its report after the program has ended.
constexpr std::chrono::milliseconds kWritingTime{30'000};
constexpr std::chrono::milliseconds kNcuEndGrace{2'000};

// Escapes '.' and '$', which occur in symbols, for a regular expression.
std::string escaped(std::string_view symbol) {
  std::string out;
  for (const char letter : symbol) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '_';
    out += plain ? "" : "\\";
    out += letter;
  }
  return out;
}

std::string name_filter(const std::vector<std::string>& symbols) {
  std::string out;
  for (const std::string& symbol : symbols) {
    out += fmt::format("{}{}", out.empty() ? "regex:^(" : "|", escaped(symbol));
  }
  return out.empty() || out.size() > kLongestFilter ? std::string() : out + ")$";
}

// The progress messages of ncu.
struct Log {
  FileTail tail;
  std::string unfinished{};
  std::size_t profiled = 0;
  std::set<pid_t> processes{};
  std::string last_error{};

  void read() {
    unfinished += tail.more();
    for (std::size_t end = unfinished.find('\n'); end != std::string::npos;
         end = unfinished.find('\n')) {
      take(std::string_view(unfinished).substr(0, end));
      unfinished.erase(0, end + 1);
    }
  }
  void take(std::string_view line) {
    profiled += line.starts_with(kProfiling) ? 1 : 0;
    if (line.starts_with("==ERROR==")) {
      last_error = line;
    }
    if (line.starts_with(kConnected)) {
      pid_t pid = 0;
      std::from_chars(line.data() + kConnected.size(), line.data() + line.size(), pid);
      processes.insert(pid);
    }
  }
};

bool enough(const Log& log,
            std::int64_t since_start,
            std::int64_t since_news,
            const NcuLimits& limits) {
  const auto ns = [](std::chrono::milliseconds span) {
    return std::chrono::nanoseconds(span).count();
  };
  return (limits.kernels > 0 && log.profiled >= limits.kernels) ||
         since_start > ns(limits.longest) || (log.profiled > 0 && since_news > ns(limits.quiet));
}

// Ends the program, but not ncu, which still has to write its report.
void end_target(const Log& log, pid_t ncu) {
  for (const pid_t pid : log.processes) {
    if (pid > 1 && pid != ncu && ::getpgid(pid) == ncu) {
      ::kill(pid, SIGTERM);
      pause_for(kNcuEndGrace);
      if (::getpgid(pid) == ncu) {
        ::kill(pid, SIGKILL);
      }
    }
  }
}

std::filesystem::path log_of(const NcuRequest& request) {
  return request.folder / "ncu.log";
}

std::filesystem::path report_of(const NcuRequest& request) {
  return request.folder / "kernels.ncu-rep";
}

tl::unexpected<Error> refused(const NcuRequest& request, const std::string& why) {
  return fail(
      ErrorCode::Unsupported,
      fmt::format("{} profiled no kernel: {}. `ncu --query-metrics` shows whether it can use "
                  "the GPU's counters (docs/profiling.md)",
                  request.program.string(),
                  why));
}

Result<std::vector<NcuLaunch>> import_report(const NcuRequest& request) {
  const std::filesystem::path table = request.folder / "kernels.csv";
  const Command command{.argv = ncu_import_command(request),
                        .environment = {},
                        .working_folder = {},
                        .dies_with_parent = true};
  auto child = ChildProcess::start(command, {.stdout_file = table, .stderr_file = {}});
  if (!child) {
    return tl::unexpected(child.error());
  }
  static_cast<void>(child->wait_for(kWritingTime));
  if (const ExitStatus status = child->end(kNcuEndGrace); !status.ok()) {
    return refused(request, fmt::format("its report cannot be read, {}", status.text()));
  }
  return read_file(table).and_then(
      [&](const std::string& text) { return parse_ncu_csv(text, table.filename().string()); });
}

}  // namespace

std::vector<std::string> ncu_command(const NcuRequest& request) {
  std::vector<std::string> words = {request.program.string(),
                                    "--export",
                                    report_of(request).string(),
                                    "--force-overwrite",
                                    "--log-file",
                                    log_of(request).string(),
                                    "--target-processes",
                                    "all",
                                    "--cache-control",
                                    "none",
                                    "--clock-control",
                                    "none",
                                    "--filter-mode",
                                    "per-launch-config",
                                    "--launch-skip",
                                    std::to_string(request.skip),
                                    "--launch-count",
                                    "1",
                                    "--metrics",
                                    std::string(kMetricNames)};
  if (const std::string filter = name_filter(request.symbols); !filter.empty()) {
    words.insert(words.end(), {"--kernel-name-base", "mangled", "--kernel-name", filter});
  }
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

std::vector<std::string> ncu_import_command(const NcuRequest& request) {
  return {request.program.string(),
          "--import",
          report_of(request).string(),
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--print-kernel-base",
          "mangled"};
}

std::vector<std::string> symbols_of(const KernelTable& table, double share) {
  std::vector<std::string> out;
  double sum = 0.0;
  for (const KernelRow& row : table.rows) {
    if (sum >= share) {
      break;
    }
    sum += row.share;
    if (std::find(out.begin(), out.end(), row.symbol) == out.end()) {
      out.push_back(row.symbol);
    }
  }
  return out;
}

Result<std::vector<NcuLaunch>> run_ncu(const NcuRequest& request,
                                       const std::map<std::string, std::string>& environment,
                                       const NcuLimits& limits) {
  const Command command{.argv = ncu_command(request),
                        .environment = environment,
                        .working_folder = {},
                        .dies_with_parent = true};
  auto child = ChildProcess::start(command, {});
  if (!child) {
    return fail(ErrorCode::Unsupported,
                fmt::format("cannot run Nsight Compute: {}", child.error().message));
  }
  Log log{.tail = FileTail(log_of(request))};
  const std::int64_t started = monotonic_ns();
  std::int64_t news = started;
  bool cut_short = false;
  while (!child->wait_for(kLookEvery)) {
    const std::size_t before = log.profiled;
    log.read();
    if (log.profiled != before) {
      news = monotonic_ns();
      limits.profiled(log.profiled);
    }
    if (limits.stop()) {
      return fail(ErrorCode::Internal, "stopped while Nsight Compute ran");
    }
    if (enough(log, monotonic_ns() - started, monotonic_ns() - news, limits)) {
      cut_short = true;
      end_target(log, child->pid());
      static_cast<void>(child->wait_for(kWritingTime));
      break;
    }
  }
  const ExitStatus status = child->end(kNcuEndGrace);
  log.read();
  std::error_code ignored;
  if (std::filesystem::exists(report_of(request), ignored)) {
    return import_report(request);
  }
  if (cut_short) {
    return fail(
        ErrorCode::Internal,
        fmt::format("no kernel was seen under {0} within {1} s; programs start more slowly under "
                    "{0}: raise the limit with --ncu-limit",
                    request.program.string(),
                    std::chrono::duration_cast<std::chrono::seconds>(limits.longest).count()));
  }
  return refused(request, log.last_error.empty() ? status.text() : log.last_error);
}

}  // namespace carpool::profile
