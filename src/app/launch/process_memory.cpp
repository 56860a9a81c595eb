#include "app/launch/process_memory.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "app/top/process_names.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::app {

interpose::ProcessMemory memory_of(const GpuProcess& process) {
  return {.pid = static_cast<pid_t>(process.pid), .bytes = process.memory_bytes};
}

std::vector<interpose::ProcessMemory> memory_of(const std::vector<GpuProcess>& processes) {
  std::vector<interpose::ProcessMemory> memory;
  memory.reserve(processes.size());
  for (const GpuProcess& process : processes) {
    memory.push_back(memory_of(process));
  }
  return memory;
}

bool holds_memory(const interpose::ProcessMemory& process) {
  constexpr std::uint64_t kLeast = 64ULL << 20U;
  return process.bytes.value_or(kLeast) >= kLeast;
}

std::string process_text(const interpose::ProcessMemory& process) {
  constexpr std::size_t kMostCommand = 60;
  std::string command = name_process(process.pid).command;
  if (command.size() > kMostCommand) {
    command = command.substr(0, kMostCommand) + "…";
  }
  return fmt::format("process {} ({}, {})",
                     process.pid,
                     command.empty() ? "name unknown" : command,
                     process.bytes ? gib_text(*process.bytes) : "memory unknown");
}

}  // namespace carpool::app
