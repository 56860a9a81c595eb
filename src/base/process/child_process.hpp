// Child processes: started, watched and ended, without a shell. Destroying a ChildProcess ends the
// child and its whole process group (SIGTERM, then SIGKILL), so that nothing is left behind.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"

namespace carpool {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up on PATH unless it holds a slash
  std::map<std::string, std::string> environment;  // added to ours; an empty value removes the name
  std::filesystem::path working_folder;            // empty: ours
  // Killed when this process ends, or the thread that started it. Processes that it started itself
  // are not.
  bool dies_with_parent = false;
};

// The program of that name on PATH; a name with a slash is only made absolute. NotFound names the
// PATH.
[[nodiscard]] Result<std::filesystem::path> find_program(const std::string& name);

// Where a child's output goes. Both may name the same file.
struct ChildOutput {
  std::filesystem::path stdout_file;  // appended to; empty: /dev/null
  std::filesystem::path stderr_file;
};

struct ExitStatus {
  std::optional<int> code;    // returned by the program
  std::optional<int> signal;  // that killed it
  [[nodiscard]] bool ok() const { return code == 0; }
  [[nodiscard]] std::string text() const;  // "exit status 3", "killed by SIGKILL (9)"
};

struct CommandResult {
  ExitStatus status;
  std::string out;
  std::string err;
};

// Runs a short program to its end with `input` on its standard input; Internal when it does not end
// within `limit` (its process group is killed then). Each output is cut at 1 MiB. A daemon that it
// leaves behind keeps running, even if it holds the outputs open.
[[nodiscard]] Result<CommandResult> run_command(const Command& command,
                                                std::string_view input,
                                                std::chrono::milliseconds limit);

// Used by one thread at a time.
class ChildProcess {
 public:
  // In a process group of its own, standard input from /dev/null; NotFound when there is no such
  // program.
  [[nodiscard]] static Result<ChildProcess> start(const Command& command,
                                                  const ChildOutput& output);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }

  // How it ended; nothing while it runs. The rest of its process group is killed then.
  [[nodiscard]] std::optional<ExitStatus> poll();
  [[nodiscard]] std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit);

  // Asks its process group to end, waits up to `grace`, then kills the group.
  ExitStatus end(std::chrono::milliseconds grace);

 private:
  friend Result<CommandResult> run_command(const Command& command,
                                           std::string_view input,
                                           std::chrono::milliseconds limit);
  enum class Rest { Killed, LivesOn };  // the rest of the group when the child ends by itself
  ChildProcess(pid_t pid, Rest rest) : pid_(pid), rest_(rest) {}
  pid_t pid_ = -1;  // -1: moved from
  Rest rest_ = Rest::Killed;
  std::optional<ExitStatus> status_;
};

}  // namespace carpool
