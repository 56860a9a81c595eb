// A program that we start, watch and end. Every child that is still alive is ended (its whole
// process group, SIGTERM and then SIGKILL) when its ChildProcess is destroyed: nothing is left
// behind. No shell is involved.
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
  // Killed as soon as we are, or as soon as the thread that started it ends. What it started itself
  // is not.
  bool dies_with_parent = false;
};

// The program of that name on our PATH; a name with a slash is only made absolute. NotFound, with
// the PATH.
[[nodiscard]] Result<std::filesystem::path> find_program(const std::string& name);

// Where a child's output goes. Both may name the same file.
struct ChildOutput {
  std::filesystem::path stdout_file;  // appended to; empty: /dev/null
  std::filesystem::path stderr_file;
};

struct ExitStatus {
  std::optional<int> code;    // as returned
  std::optional<int> signal;  // that ended it
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
// starts and leaves behind lives on, whatever outputs it holds open.
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

  // How it ended; nothing while it runs. What it leaves of its process group is killed then.
  [[nodiscard]] std::optional<ExitStatus> poll();
  [[nodiscard]] std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit);

  // Asks its process group to end, waits up to `grace`, then kills the group.
  ExitStatus end(std::chrono::milliseconds grace);

 private:
  friend Result<CommandResult> run_command(const Command& command,
                                           std::string_view input,
                                           std::chrono::milliseconds limit);
  enum class Rest { Killed, LivesOn };  // what becomes of its group when it ends by itself
  ChildProcess(pid_t pid, Rest rest) : pid_(pid), rest_(rest) {}
  pid_t pid_ = -1;  // -1: moved from
  Rest rest_ = Rest::Killed;
  std::optional<ExitStatus> status_;
};

}  // namespace carpool
