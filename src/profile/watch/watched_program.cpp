#include "profile/watch/watched_program.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "gpu/mps/mps_environment.hpp"

namespace carpool::profile {
namespace {

constexpr const char* kOut = "out";
constexpr const char* kErr = "err";
constexpr const char* kActivityFolder = "activity";

constexpr std::chrono::milliseconds kEndGrace{5'000};
// Time for all processes to write their records after the order to stop.
constexpr std::chrono::milliseconds kFlushTime{3'000};
constexpr std::chrono::milliseconds kFlushPoll{5};

constexpr std::size_t kLongestWords = 300;

std::string last_line_of(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) {
    return {};
  }
  const std::size_t last = text->find_last_not_of(" \t\r\n");
  if (last == std::string::npos) {
    return {};
  }
  const std::size_t start = text->find_last_of("\r\n", last);
  return text->substr(start == std::string::npos ? 0 : start + 1).substr(0, kLongestWords);
}

}  // namespace

WatchedProgram::WatchedProgram(std::filesystem::path folder,
                               ChildProcess child,
                               StepFile steps,
                               std::optional<gpu::ProfileControl> control,
                               std::optional<OutputSteps> printed)
    : folder_(std::move(folder)),
      child_(std::move(child)),
      steps_(std::move(steps)),
      control_(std::move(control)),
      printed_(std::move(printed)),
      out_(folder_ / kOut),
      err_(folder_ / kErr) {}

Result<WatchedProgram> WatchedProgram::start(const ProgramRequest& request) {
  auto steps = StepFile::create(request.scratch / "steps");
  if (!steps) {
    return tl::unexpected(steps.error());
  }
  // No other job runs: it need not wait.
  steps->give(StepOrder::Run);
  Command command;
  command.argv = request.command;
  command.environment = gpu::environment_without_mps(request.gpu_uuid, request.scratch / "no-mps");
  command.environment["CARPOOL_STEP_FILE"] = steps->path().string();
  command.dies_with_parent = true;
  std::optional<OutputSteps> printed;
  if (!request.step_regex.empty()) {
    auto made = OutputSteps::make(request.step_regex);
    if (!made) {
      return tl::unexpected(made.error());
    }
    printed = std::move(*made);
    command.environment.insert_or_assign("PYTHONUNBUFFERED",
                                         std::string(1, '1'));  // lines are written when printed
  }
  std::optional<gpu::ProfileControl> control;
  if (request.library) {
    const auto activity = request.scratch / kActivityFolder;
    std::error_code problem;
    std::filesystem::create_directory(activity, problem);
    auto made = gpu::ProfileControl::create(activity, gpu::activity_format::Order::Record);
    if (!made) {
      return tl::unexpected(made.error());
    }
    control = std::move(*made);
    command.environment.merge(
        gpu::injection_environment(*request.library, activity, request.injection));
  }
  auto child = ChildProcess::start(
      command, {.stdout_file = request.scratch / kOut, .stderr_file = request.scratch / kErr});
  if (!child) {
    return tl::unexpected(child.error());
  }
  return WatchedProgram(request.scratch,
                        std::move(*child),
                        std::move(*steps),
                        std::move(control),
                        std::move(printed));
}

std::optional<ExitStatus> WatchedProgram::look(std::int64_t now_ns) {
  if (printed_) {
    printed_->add(OutputSteps::Stream::Output, out_.more(), now_ns);
    printed_->add(OutputSteps::Stream::Error, err_.more(), now_ns);
  }
  return child_.poll();
}

ProgramSigns WatchedProgram::signs() const {
  return {.launches = control_ ? control_->state().launches : 0,
          .steps = steps_.steps(),
          .reports_steps = steps_.pid().has_value()};
}

std::optional<StepEstimate> WatchedProgram::steps_printed(const TimeWindow& window) const {
  return printed_ ? printed_->within(window) : std::nullopt;
}

Result<std::vector<gpu::ActivityTrace>> WatchedProgram::traces() const {
  std::vector<gpu::ActivityTrace> out;
  if (!control_) {
    return out;
  }
  const auto files = gpu::activity_files(folder_ / kActivityFolder);
  if (!files) {
    return tl::unexpected(files.error());
  }
  for (const auto& file : *files) {
    auto trace = gpu::read_activity(file);
    if (!trace) {
      return tl::unexpected(trace.error());
    }
    out.push_back(std::move(*trace));
  }
  return out;
}

void WatchedProgram::stop_recording() {
  if (!control_) {
    return;
  }
  control_->order(gpu::activity_format::Order::Stop);
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(kFlushTime).count();
  while (control_->state().ended < control_->state().attached && !child_.poll() &&
         monotonic_ns() < deadline) {
    pause_for(kFlushPoll);
  }
}

void WatchedProgram::end() {
  child_.end(kEndGrace);
}

std::string WatchedProgram::ending(const ExitStatus& status) const {
  const std::string complaint = last_line_of(folder_ / kErr);
  const std::string last_words = complaint.empty() ? last_line_of(folder_ / kOut) : complaint;
  return last_words.empty() ? status.text() : fmt::format("{}: {}", status.text(), last_words);
}

}  // namespace carpool::profile
