#include "schedule/submission_check.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "base/text/utf8.hpp"
#include "schedule/queue_order.hpp"

namespace carpool::schedule {
namespace {

constexpr std::size_t kLongestName = 256;
// The kernel's limit for one argument, and a quarter of its limit for all.
constexpr std::size_t kLongestWord = std::size_t{128} << 10U;
constexpr std::size_t kLongestCommand = std::size_t{512} << 10U;
constexpr unsigned kMostRetries = 100;
constexpr std::size_t kMostAfter = 1000;

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

Result<void> check_command(const JobSpec& spec) {
  if (spec.argv.empty() || spec.argv.front().empty()) {
    return invalid_input("argv: no command given");
  }
  std::size_t bytes = 0;
  bool readable = true;
  const auto add = [&](std::string_view word) {
    bytes += word.size() + 1;
    readable = readable && is_utf8(word);
    return word.size() < kLongestWord && !has_nul(word);
  };
  bool fits = std::ranges::all_of(spec.argv, add) && add(spec.cwd);
  for (const auto& [name, value] : spec.env) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return invalid_input(fmt::format("env: \"{}\" is not a variable name", name));
    }
    fits = fits && add(name) && add(value);
  }
  if (!readable) {
    return invalid_input("argv, cwd and env: not UTF-8");
  }
  if (!fits || bytes > kLongestCommand) {
    return invalid_input(fmt::format(
        "argv, cwd and env: {} bytes; the limits are {} in all and {} in one, without zero bytes",
        bytes,
        kLongestCommand,
        kLongestWord));
  }
  return {};
}

Result<void> check_words(const JobSpec& spec) {
  for (const auto& [key, text] : {std::pair("name", &spec.name),
                                  std::pair("workload", &spec.workload),
                                  std::pair("progress", &spec.progress)}) {
    if (text->size() > kLongestName || has_control(*text) || !is_utf8(*text)) {
      return invalid_input(fmt::format(
          "{}: at most {} bytes of UTF-8 without control characters", key, kLongestName));
    }
  }
  return {};
}

bool positive(const std::optional<double>& value) {
  return !value || (std::isfinite(*value) && *value > 0.0);
}

Result<void> check_numbers(const JobSpec& spec) {
  for (const auto& [key, value] : {std::pair("time_s", &spec.time_s),
                                   std::pair("runtime_s", &spec.runtime_s),
                                   std::pair("slo_ms", &spec.slo_ms)}) {
    if (!positive(*value)) {
      return invalid_input(fmt::format("{}: {} is not above 0", key, **value));
    }
  }
  if (spec.quantile && !(*spec.quantile > 0.0 && *spec.quantile < 1.0)) {
    return invalid_input(fmt::format("quantile: {} is not between 0 and 1", *spec.quantile));
  }
  if (spec.priority < -kMostPriority || spec.priority > kMostPriority) {
    return invalid_input(fmt::format(
        "priority: {} is not between {} and {}", spec.priority, -kMostPriority, kMostPriority));
  }
  if (spec.retries > kMostRetries) {
    return invalid_input(fmt::format("retries: {} is more than {}", spec.retries, kMostRetries));
  }
  const std::size_t after = spec.after.size() + spec.after_any.size() + spec.after_not_ok.size();
  if (after > kMostAfter) {
    return invalid_input(fmt::format("after: {} jobs are more than {}", after, kMostAfter));
  }
  return {};
}

}  // namespace

Result<void> check_submission(const JobSpec& spec,
                              std::span<const GpuView> gpus,
                              const JobTable& jobs) {
  for (const auto& checked : {check_command(spec), check_words(spec), check_numbers(spec)}) {
    if (!checked) {
      return checked;
    }
  }
  const std::uint64_t memory = spec.mem_bytes.value_or(0);
  const auto large = static_cast<std::size_t>(std::ranges::count_if(
      gpus, [&](const GpuView& view) { return view.memory_bytes >= memory; }));
  if (spec.gpus == 0 || spec.gpus > gpus.size()) {
    return invalid_input(fmt::format(
        "gpus: {} requested; 1 to {} are possible on this server", spec.gpus, gpus.size()));
  }
  if (spec.gpus > large) {
    return invalid_input(
        fmt::format("mem: {} requested on each of {}; {} of {} GPUs are that large",
                    gib_text(memory),
                    spec.gpus,
                    large,
                    gpus.size()));
  }
  for (const std::vector<JobId>* after : {&spec.after, &spec.after_any, &spec.after_not_ok}) {
    for (const JobId other : *after) {
      if (!jobs.knows(other)) {
        return invalid_input(fmt::format("after: there is no job {}", other));
      }
    }
  }
  return {};
}

}  // namespace carpool::schedule
