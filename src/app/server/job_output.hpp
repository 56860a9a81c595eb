// Reads the output of an attempt from the server as it comes, and writes it where the caller wants.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "app/output/terminal_filter.hpp"
#include "app/server/server_client.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Where one stream of a job goes.
struct OutputTarget {
  std::FILE* to = nullptr;
  std::string* into = nullptr;  // collects the output instead
  bool filtered = false;        // without the sequences that change a terminal
};

class JobOutput {
 public:
  // `attempt` 0: the last one. `tail`: only this many lines of what there is at first.
  JobOutput(std::int64_t job,
            unsigned attempt,
            OutputTarget out,
            OutputTarget err,
            std::optional<std::uint64_t> tail = std::nullopt);

  // Writes what came since the last call. Waits up to `wait_s` for standard output. True: there was
  // some.
  [[nodiscard]] Result<bool> read(ServerClient& server, double wait_s);
  // The attempt has ended and all its output was written.
  [[nodiscard]] bool over() const { return out_.over && err_.over; }
  // Writes what a filter has kept back.
  void finish();

 private:
  struct Reading {
    const char* stream = "";
    OutputTarget target{};
    std::optional<std::uint64_t> offset{};  // empty: nothing was read
    bool over = false;
    TerminalFilter filter{};
  };
  [[nodiscard]] Result<bool> read_on(ServerClient& server, Reading& reading, double wait_s) const;
  static void write(const Reading& reading, const std::string& text);

  std::int64_t job_;
  unsigned attempt_;
  std::optional<std::uint64_t> tail_;
  Reading out_;
  Reading err_;
};

}  // namespace carpool::app
