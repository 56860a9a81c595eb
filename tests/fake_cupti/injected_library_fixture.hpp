// Runs a fake CUDA program with the real libcarpool_profile.so over a fake CUPTI.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/process/child_process.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "gpu/cupti/injection.hpp"

namespace carpool {

using gpu::activity_format::NoteKind;
using gpu::activity_format::Order;
using Variables = std::map<std::string, std::string>;

// For a program that forks: the leak sanitizer complains of threads that end while it looks.
inline Variables without_leak_check() {
  return {{"ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0"}};
}

inline constexpr std::chrono::seconds kPatience{60};

class InjectedLibrary : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.cupti_library = FAKE_CUPTI;
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Command command(const std::vector<std::string>& arguments, const Variables& more = {}) {
    Command command;
    command.argv = {FAKE_CUDA_PROGRAM};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = gpu::injection_environment(PROFILE_LIBRARY, folder_, options_);
    for (const auto& [name, value] : more) {
      command.environment[name] = value;
    }
    return command;
  }

  ExitStatus run(const std::vector<std::string>& arguments, const Variables& more = {}) {
    const auto done = run_command(command(arguments, more), "", kPatience);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    if (!done) {
      return {};
    }
    EXPECT_EQ(done->err, "");
    return done->status;
  }

  std::vector<gpu::ActivityTrace> traces() {
    std::vector<gpu::ActivityTrace> all;
    const auto files = gpu::activity_files(folder_);
    EXPECT_TRUE(files.has_value());
    for (const auto& file : files.value_or(std::vector<std::filesystem::path>())) {
      auto trace = gpu::read_activity(file);
      EXPECT_TRUE(trace.has_value()) << trace.error().message;
      if (trace) {
        all.push_back(std::move(*trace));
      }
    }
    return all;
  }

  // The one file of a program that ended with status 0.
  gpu::ActivityTrace recorded(const std::vector<std::string>& arguments,
                              const Variables& more = {}) {
    EXPECT_TRUE(run(arguments, more).ok());
    auto all = traces();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? gpu::ActivityTrace() : std::move(all.front());
  }

  std::filesystem::path folder_;
  gpu::InjectionOptions options_;
};

inline const gpu::ActivityNote* note_of(const gpu::ActivityTrace& trace, NoteKind kind) {
  const auto found = std::find_if(
      trace.notes.begin(), trace.notes.end(), [&](const auto& note) { return note.kind == kind; });
  return found != trace.notes.end() ? &*found : nullptr;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  const Stopwatch watch;
  while (!condition()) {
    if (watch.seconds() > 30) {
      return false;
    }
    pause_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace carpool
