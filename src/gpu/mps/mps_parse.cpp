#include "gpu/mps/mps_parse.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace carpool::gpu {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The lines that are not blank, trimmed.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (const std::string_view line = trimmed(text.substr(0, end)); !line.empty()) {
      lines.push_back(line);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// kill() would address a process group for 0 and negative numbers.
std::optional<pid_t> pid_of(std::string_view text) {
  const std::optional<pid_t> pid = number_of<pid_t>(text);
  return pid && *pid > 1 ? pid : std::nullopt;
}

// An answer for a message: its first line, shortened, without control characters.
std::string quoted(std::string_view answer) {
  constexpr std::size_t kMost = 120;
  const std::vector<std::string_view> lines = lines_of(answer);
  std::string text(lines.empty() ? std::string_view{} : lines.front().substr(0, kMost));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("\"{}\"", text);
}

// "Binary version: 13000" is CUDA 13.0.
std::string cuda_version(std::string_view text) {
  constexpr std::string_view kBefore = "Binary version:";
  const std::size_t found = text.find(kBefore);
  if (found == std::string_view::npos) {
    return {};
  }
  text = trimmed(text.substr(found + kBefore.size()));
  const auto number = number_of<unsigned>(text.substr(0, text.find_first_of(kBlanks)));
  return number ? fmt::format("{}.{}", *number / 1000, *number % 1000 / 10) : std::string{};
}

}  // namespace

MpsAbilities parse_mps_abilities(std::string_view help, std::string_view version) {
  MpsAbilities abilities;
  for (const std::string_view line : lines_of(help)) {
    const std::string_view word = line.substr(0, line.find_first_of(" \t,[<"));
    abilities.terminate_client |= word == "terminate_client";
    // Drivers with these commands also support the corresponding variables of clients.
    abilities.client_priority |= word == "set_default_client_priority";
    abilities.pinned_memory_limit |= word == "set_default_device_pinned_mem_limit";
    abilities.sm_partitions |= word == "sm_partition" || word == "-S" ||
                               line.find("--static-partitioning") != std::string_view::npos;
  }
  abilities.version = cuda_version(version);
  return abilities;
}

Result<std::vector<pid_t>> parse_mps_pids(std::string_view answer) {
  std::vector<pid_t> pids;
  for (const std::string_view line : lines_of(answer)) {
    const std::optional<pid_t> pid = pid_of(line);
    if (!pid) {
      const bool gone = line.starts_with("Server") && line.find("not found") != line.npos;
      return fail(gone ? ErrorCode::NotFound : ErrorCode::Internal,
                  fmt::format("the MPS control program answered {} instead of process numbers",
                              quoted(line)));
    }
    pids.push_back(*pid);
  }
  return pids;
}

bool parse_mps_fault(std::string_view answer) {
  const std::vector<std::string_view> lines = lines_of(answer);
  return !lines.empty() && lines.front().starts_with("FAULT");
}

Result<void> parse_mps_termination(std::string_view answer) {
  const std::vector<std::string_view> lines = lines_of(answer);
  if (!lines.empty() && lines.back() == "0") {
    return {};
  }
  return fail(ErrorCode::Internal,
              fmt::format("the MPS control program answered {}", quoted(answer)));
}

std::optional<pid_t> parse_mps_pid_file(std::string_view content) {
  return pid_of(trimmed(content));
}

}  // namespace carpool::gpu
