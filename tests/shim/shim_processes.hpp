// Programs with libcarpool_cuda.so that run beside the test and each other.
#pragma once

#include "base/clock.hpp"
#include "shim_fixture.hpp"

namespace carpool::shim_test {

class ShimProcesses : public Shim {
 protected:
  static constexpr std::array kFiles{"READY", "GO", "STOP", "DONE", "BROKEN"};

  // Files by which the programs tell each other where they are.
  [[nodiscard]] Environment with_files(Environment more) const {
    for (const char* name : kFiles) {
      more[std::string("SHIM_TEST_") + name] = (folder_ / name).string();
    }
    return more;
  }
  void clear_files() {
    for (const char* name : kFiles) {
      std::filesystem::remove(folder_ / name);
    }
  }
  void touch(const char* name) { std::ofstream(folder_ / name) << "\n"; }
  [[nodiscard]] bool wait_for(const char* name) {
    return eventually([&] { return std::filesystem::exists(folder_ / name); });
  }

  template <typename Condition>
  [[nodiscard]] static bool eventually(const Condition& condition,
                                       std::chrono::seconds patience = kPatience) {
    const Stopwatch watch;
    while (!condition()) {
      if (watch.seconds() > std::chrono::duration<double>(patience).count()) {
        return false;
      }
      pause_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  [[nodiscard]] ChildProcess start(const std::vector<std::string>& arguments,
                                   const Environment& more) {
    Command command;
    command.argv = {program_};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = environment();
    command.dies_with_parent = true;
    for (const auto& [name, value] : with_files(more)) {
      command.environment[name] = value;
    }
    auto child = ChildProcess::start(command, {});
    EXPECT_TRUE(child.has_value());
    return std::move(child.value());
  }
};

}  // namespace carpool::shim_test
