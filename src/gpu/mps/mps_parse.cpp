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

// "[2026-11-16 14:01:02.345 Server  1400] text"
std::string_view without_stamp(std::string_view line) {
  const std::size_t end = line.starts_with('[') ? line.find(']') : line.npos;
  return end == line.npos ? line : trimmed(line.substr(end + 1));
}

// The digits after `key`; empty: none.
std::string_view number_after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == text.npos) {
    return {};
  }
  text = trimmed(text.substr(found + key.size()));
  return text.substr(0, text.find_first_not_of("0123456789"));
}

// Of a text that anybody may have written: as many as MPS can serve, several times.
void add_pid(std::set<pid_t>& pids, std::string_view number) {
  constexpr std::size_t kMost = 1024;
  if (const auto pid = pid_of(number); pid && pids.size() < kMost) {
    pids.insert(*pid);
  }
}

void add_pids(std::set<pid_t>& pids, std::string_view numbers) {
  while (!numbers.empty()) {
    const std::size_t end = numbers.find_first_of(", ");
    add_pid(pids, numbers.substr(0, end));
    numbers.remove_prefix(end == numbers.npos ? numbers.size() : end + 1);
  }
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

MpsFatalErrors parse_mps_fatal_errors(std::string_view log) {
  MpsFatalErrors found;
  bool listing = false;
  for (const std::string_view line : lines_of(log)) {
    const std::string_view text = without_stamp(line);
    const bool list_begins = text.find("have a sticky error set") != text.npos;
    const bool fatal = text.find("fatal GPU error") != text.npos;
    const bool torn_down = text.find("will be torn down") != text.npos;
    // The list of process numbers follows, one per line.
    const bool listed = listing && text.find_first_not_of("0123456789, ") == text.npos;
    listing = list_begins || listed;
    found.any = found.any || fatal || list_begins;
    if (fatal) {
      add_pid(found.clients, number_after(text, "PID:"));
    }
    if (torn_down) {
      add_pid(found.clients, number_after(text, " process "));
    }
    if (list_begins) {
      add_pids(found.clients, text.substr(text.rfind(':') + 1));  // npos + 1 is 0: no numbers
    }
    if (listed) {
      add_pids(found.clients, text);
    }
  }
  return found;
}

std::optional<pid_t> parse_mps_pid_file(std::string_view content) {
  return pid_of(trimmed(content));
}

}  // namespace carpool::gpu
