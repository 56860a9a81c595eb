// Runs a program with the real libcarpool_cuda.so over the fake driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/process/child_process.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::shim_test {

using Environment = std::map<std::string, std::string>;
using Values = std::map<std::string, std::uint64_t>;

inline constexpr std::chrono::seconds kPatience{60};

// What the tests run: what was built with them, or for another processor (scripts/shim-aarch64.sh).
inline std::string tested_file(const char* variable, const char* built) {
  const char* const other = std::getenv(variable);
  return other != nullptr ? other : built;
}
inline std::string shim_library() {
  return tested_file("CARPOOL_TESTED_SHIM", SHIM_LIBRARY);
}
inline std::string fake_driver() {
  return tested_file("CARPOOL_TESTED_DRIVER", FAKE_CUDA);
}
inline std::string driver_before_12() {
  return tested_file("CARPOOL_TESTED_DRIVER_BEFORE_12", FAKE_CUDA_BEFORE_12);
}

class Shim : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    settings("");
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Of the fake driver, see tests/fake_cuda/settings.hpp.
  void settings(const std::string& text) { std::ofstream(folder_ / "cuda") << text << "\n"; }

  [[nodiscard]] Environment environment() const {
    return {
        {"LD_PRELOAD", shim_library()},
        {"CARPOOL_REAL_LIBCUDA", fake_driver()},
        {"CARPOOL_FAKE_CUDA", (folder_ / "cuda").string()},
        {"CARPOOL_STATE_DIR", (folder_ / "state").string()},
        {"ASAN_OPTIONS", "verify_asan_link_order=0"},
    };
  }

  // What the program printed. It says nothing on standard error and ends with status 0.
  Values run(const std::vector<std::string>& arguments, const Environment& more = {}) {
    Command command;
    command.argv = {program_};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = environment();
    for (const auto& [name, value] : more) {
      command.environment[name] = value;
    }
    const auto done = run_command(command, "", kPatience);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    if (!done) {
      return {};
    }
    EXPECT_TRUE(done->status.ok()) << done->out;
    EXPECT_EQ(done->err, "");
    Values values;
    std::istringstream lines(done->out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t sign = line.find('=');
      EXPECT_NE(sign, std::string::npos) << line;
      if (sign != std::string::npos) {
        values[line.substr(0, sign)] = std::stoull(line.substr(sign + 1));
      }
    }
    return values;
  }

  // Clients that start from now on write their launches to the log.
  void want_log() {
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "state")) {
      interpose::StateReader reader;
      ASSERT_EQ(reader.open((folder_ / "state").string(), file.path().stem().string(), ::geteuid()),
                interpose::StateError::None);
      ASSERT_EQ(reader.want(interpose::kWantLog), interpose::StateError::None);
    }
  }

  std::filesystem::path folder_;
  std::string program_ = tested_file("CARPOOL_TESTED_PROGRAM", SHIM_PROGRAM);
};

}  // namespace carpool::shim_test
