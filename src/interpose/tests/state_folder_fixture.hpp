// A state folder of one test, and processes that use it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <gtest/gtest.h>

#include "interpose/guard/memory_guard.hpp"
#include "interpose/state/client.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::interpose {

inline constexpr const char* kTestGpu = "GPU-11111111-2222-3333-4444-555555555555";
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

class StateFolder {
 public:
  StateFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-state-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  ~StateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::filesystem::path file() const {
    return path_ / (std::string(kTestGpu) + ".state");
  }

  [[nodiscard]] StateError join(Client& client, const Membership& membership = {}) const {
    return client.join(path(), kTestGpu, membership);
  }

  // A reader of this user's state, which is made if missing.
  [[nodiscard]] StateReader reader() const {
    StateReader reader;
    EXPECT_EQ(reader.open(path(), kTestGpu, ::geteuid(), StateFile::Missing::Make),
              StateError::None);
    return reader;
  }
  [[nodiscard]] StateReport report() const {
    StateReport report;
    StateReader now = reader();
    EXPECT_EQ(now.read(report), StateError::None);
    return report;
  }

 private:
  std::filesystem::path path_;
};

// A child process that runs `body` and then ends with its result; tests use no exit handlers.
template <class Body>
pid_t start_process(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body());
  }
  return child;
}

inline int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// One byte from a process to another.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void wait() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace carpool::interpose
