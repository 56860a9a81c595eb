// A program under the profiler's eyes: started alone on a GPU, with the recording library where
// there is one, a step file, and its output in files.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/process/child_process.hpp"
#include "base/result.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "gpu/cupti/control_file.hpp"
#include "gpu/cupti/injection.hpp"
#include "profile/steps/output_steps.hpp"
#include "profile/steps/step_file.hpp"
#include "profile/watch/startup.hpp"

namespace carpool::profile {

struct ProgramRequest {
  std::vector<std::string> command;
  std::string gpu_uuid;
  std::filesystem::path scratch;                 // exists, and is ours
  std::optional<std::filesystem::path> library;  // that records launches; absent: none are
  gpu::InjectionOptions injection;
  std::string step_regex;  // empty: its output tells nothing
};

// Used by one thread. Its end kills the program and all that it started.
class WatchedProgram {
 public:
  [[nodiscard]] static Result<WatchedProgram> start(const ProgramRequest& request);

  // Takes in what it printed meanwhile; how it ended, once it has.
  [[nodiscard]] std::optional<ExitStatus> look(std::int64_t now_ns);
  // How often to look.
  static constexpr std::chrono::milliseconds kLookEvery{20};

  // `gpu_utilisation` is for the caller to fill in.
  [[nodiscard]] ProgramSigns signs() const;
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] const StepFile& steps() const { return steps_; }
  [[nodiscard]] std::optional<StepEstimate> steps_printed(const TimeWindow& window) const;

  // What was recorded so far, a trace a process; empty without the library.
  [[nodiscard]] Result<std::vector<gpu::ActivityTrace>> traces() const;

  // Recording stops, and what is left of it is written.
  void stop_recording();
  void end();

  // How it ended, with the last line that it printed: standard error before standard output.
  [[nodiscard]] std::string ending(const ExitStatus& status) const;

 private:
  WatchedProgram(std::filesystem::path folder,
                 ChildProcess child,
                 StepFile steps,
                 std::optional<gpu::ProfileControl> control,
                 std::optional<OutputSteps> printed);

  std::filesystem::path folder_;
  ChildProcess child_;
  StepFile steps_;
  std::optional<gpu::ProfileControl> control_;
  std::optional<OutputSteps> printed_;
  FileTail out_;
  FileTail err_;
};

}  // namespace carpool::profile
