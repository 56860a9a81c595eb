// A program that is being profiled: the only job of a GPU, with the recording library if there is
// one, a step file, and its output in files.
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
  std::filesystem::path scratch;                 // an existing private folder
  std::optional<std::filesystem::path> library;  // that records launches; absent: no recording
  gpu::InjectionOptions injection;
  std::string step_regex;  // empty: steps are not read from the output
};

// Used by one thread. The destructor kills the program and its descendants.
class WatchedProgram {
 public:
  [[nodiscard]] static Result<WatchedProgram> start(const ProgramRequest& request);

  // Reads new output. Returns the exit status once the program has ended.
  [[nodiscard]] std::optional<ExitStatus> look(std::int64_t now_ns);
  // How often to call look().
  static constexpr std::chrono::milliseconds kLookEvery{20};

  // The caller fills in `gpu_utilisation`.
  [[nodiscard]] ProgramSigns signs() const;
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] const StepFile& steps() const { return steps_; }
  [[nodiscard]] std::optional<StepEstimate> steps_printed(const TimeWindow& window) const;

  // The recording so far, one trace per process; empty without the library.
  [[nodiscard]] Result<std::vector<gpu::ActivityTrace>> traces() const;

  // Stops recording and writes the rest.
  void stop_recording();
  void end();

  // How it ended, with the last line of its standard error or else standard output.
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
