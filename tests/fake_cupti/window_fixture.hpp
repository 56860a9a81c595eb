// Runs a fake CUDA program as a job of a server: the real libcarpool_profile.so follows a window
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/process/child_process.hpp"
#include "gpu/cupti/injection.hpp"
#include "gpu/cupti/window_file.hpp"
#include "injected_library_fixture.hpp"

namespace carpool {

class WindowedProgram : public InjectedLibrary {
 protected:
  void SetUp() override {
    InjectedLibrary::SetUp();
    auto made = gpu::WindowFile::create(path(), std::nullopt);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    file_.emplace(std::move(*made));
  }

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "window"; }

  Command watched(const std::vector<std::string>& arguments, const Variables& more = {}) {
    Command command;
    command.argv = {FAKE_CUDA_PROGRAM};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = gpu::window_environment(PROFILE_LIBRARY, path(), {});
    command.environment["CARPOOL_CUPTI_LIBRARY"] = FAKE_CUPTI;
    for (const auto& [name, value] : more) {
      command.environment[name] = value;
    }
    return command;
  }

  ChildProcess begin(const std::vector<std::string>& arguments, const Variables& more = {}) {
    auto child = ChildProcess::start(watched(arguments, more), {});
    EXPECT_TRUE(child.has_value());
    // The library is there: windows that are ordered from now on are its own.
    EXPECT_TRUE(comes_true([&] {
      return maps_of(child->pid()).find("carpool_profile") != kNpos &&
             threads_of(child->pid()) == 2;
    }));
    return std::move(*child);
  }

  static constexpr auto kNpos = std::string::npos;

  static std::string maps_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static std::size_t threads_of(pid_t pid) {
    std::size_t count = 0;
    std::error_code ignored;
    for ([[maybe_unused]] const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
      ++count;
    }
    return count;
  }

  std::uint32_t order(unsigned length_ms,
                      gpu::window_format::Kind kind = gpu::window_format::Kind::Launches) {
    return file_->order(length_ms, monotonic_ns(), kind).value_or(0);
  }

  gpu::WindowAnswers answers(std::uint32_t window) {
    return file_->answers(window).value_or(gpu::WindowAnswers{});
  }

  // Waits until the only process has answered.
  gpu::WindowAnswers answered(unsigned length_ms,
                              gpu::window_format::Kind kind = gpu::window_format::Kind::Launches) {
    const std::uint32_t window = order(length_ms, kind);
    EXPECT_TRUE(comes_true([&] {
      const gpu::WindowAnswers now = answers(window);
      return now.done + now.spoiled != 0 || now.refusal.has_value();
    }));
    return answers(window);
  }

  std::optional<gpu::WindowFile> file_;
};

}  // namespace carpool
