// Writes the launches of a job to a file while its program runs, for `carpool run --kernel-log`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::app {

class KernelLogFile {
 public:
  // The file is made anew; the state is that of a GPU on which the job logs its launches.
  [[nodiscard]] static Result<std::unique_ptr<KernelLogFile>> create(
      const std::filesystem::path& path, interpose::StateReader state, std::uint64_t job);

  // To be called every few milliseconds: a program's last 4,096 launches are kept for the reader.
  void collect();

  // Fails if the disk was full.
  [[nodiscard]] Result<void> finish();

  // Launches that were overwritten before they were read.
  [[nodiscard]] std::uint64_t missed() const;

 private:
  struct Closed {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closed> file_;
  interpose::StateReader state_;
  std::uint64_t job_ = 0;
  // By slot and generation of the client.
  std::map<std::pair<std::uint32_t, std::uint16_t>, interpose::LogFollower> followers_;
};

}  // namespace carpool::app
