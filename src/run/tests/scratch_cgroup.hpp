// A cgroup for a test, removed with whatever is left in it.
#pragma once

#include <chrono>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/process/cgroup.hpp"

namespace carpool::run {

// Divided as that of a server is. Empty where this user may not make one.
class ScratchCgroup {
 public:
  ScratchCgroup() {
    const auto own = cgroup_of(::getpid());
    base_ = own.value_or("/no/cgroup") / fmt::format("carpool-kill-test-{}", ::getpid());
    usable_ = own && make_cgroup(base_) && make_cgroup(base_ / "jobs") &&
              make_cgroup(base_ / "supervisors");
  }
  ScratchCgroup(const ScratchCgroup&) = delete;
  ScratchCgroup& operator=(const ScratchCgroup&) = delete;
  ~ScratchCgroup() {
    if (usable_) {
      EXPECT_TRUE(end_cgroup(base_, std::chrono::seconds(20)));
    }
  }
  [[nodiscard]] std::filesystem::path jobs() const {
    return usable_ ? base_ / "jobs" : std::filesystem::path();
  }

 private:
  std::filesystem::path base_;
  bool usable_ = false;
};

}  // namespace carpool::run
