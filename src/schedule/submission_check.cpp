#include "schedule/submission_check.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "base/text/utf8.hpp"
#include "base/text/web_address.hpp"
#include "core/latency.hpp"
#include "schedule/queue_order.hpp"

namespace carpool::schedule {
namespace {

constexpr std::size_t kLongestName = 256;
// The kernel's limit for one argument, and a quarter of its limit for all.
constexpr std::size_t kLongestWord = std::size_t{128} << 10U;
constexpr std::size_t kLongestCommand = std::size_t{512} << 10U;
constexpr std::size_t kLongestNotify = 4096;
constexpr double kMostSeconds = 10.0 * 365.0 * 86400.0;
constexpr double kLastTimeS = 253'402'300'799.0;  // the end of the year 9999
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
                                  std::pair("progress", &spec.progress),
                                  std::pair("gpu_type", &spec.gpu_filter.type)}) {
    if (text->size() > kLongestName || has_control(*text) || !is_utf8(*text)) {
      return invalid_input(fmt::format(
          "{}: at most {} bytes of UTF-8 without control characters", key, kLongestName));
    }
  }
  if (spec.notify.size() > kLongestNotify || has_nul(spec.notify) || !is_utf8(spec.notify)) {
    return invalid_input(fmt::format(
        "notify: at most {} bytes of UTF-8; put a longer command into a script", kLongestNotify));
  }
  if (const auto address =
          has_scheme(spec.notify) ? parse_web_address(spec.notify) : Result<WebAddress>();
      !address) {
    return invalid_input(fmt::format("notify: {}, or a shell command", address.error().message));
  }
  if (!is_utf8(spec.output) || !is_utf8(spec.error)) {
    return invalid_input("output and error: not UTF-8");
  }
  return {};
}

bool positive(const std::optional<double>& value) {
  return !value || (std::isfinite(*value) && *value > 0.0);
}

Result<void> check_latency(const JobSpec& spec) {
  if ((spec.slo_ms || spec.quantile) && spec.job_class != JobClass::Slo) {
    return invalid_input(
        "slo_ms and quantile are for the requests of a job of class slo: set the class to slo, or "
        "leave them out");
  }
  if (spec.quantile && !spec.slo_ms) {
    return invalid_input("quantile is the share of the requests that keep slo_ms: set slo_ms, too");
  }
  if (spec.slo_ms && !(*spec.slo_ms >= kLeastSloMs && *spec.slo_ms <= kMostSloMs)) {
    return invalid_input(fmt::format(
        "slo_ms: {} is not between {} and {:.0f}", *spec.slo_ms, kLeastSloMs, kMostSloMs));
  }
  if (spec.quantile && !can_be_promised(*spec.quantile)) {
    return invalid_input(
        fmt::format("quantile: {:g} is not a number from 0.6 to 0.999 with at most three digits",
                    *spec.quantile));
  }
  return {};
}

Result<void> check_numbers(const JobSpec& spec) {
  for (const auto& [key, value] :
       {std::pair("time_s", &spec.time_s), std::pair("runtime_s", &spec.runtime_s)}) {
    if (!positive(*value)) {
      return invalid_input(fmt::format("{}: {} is not above 0", key, **value));
    }
    if (*value > kMostSeconds) {
      return invalid_input(fmt::format("{}: {} is more than ten years", key, **value));
    }
  }
  if (spec.begin_s && !(*spec.begin_s >= 0.0 && *spec.begin_s <= kLastTimeS)) {
    return invalid_input(fmt::format(
        "begin_s: {} is not a number of seconds since 1970 before the year 10000", *spec.begin_s));
  }
  if (spec.array_limit && (*spec.array_limit == 0 || !spec.array_index)) {
    return invalid_input(
        "array_limit: at least 1, and only with an array; write the array as \"0-99%4\"");
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

// "GPU 0 (NVIDIA H200), GPU 1 (NVIDIA H200)"
std::string gpu_list(std::span<const GpuView> gpus) {
  constexpr std::size_t kMostListed = 16;
  std::string list;
  for (const GpuView& gpu : gpus.first(std::min(gpus.size(), kMostListed))) {
    list += fmt::format("{}GPU {}{}",
                        list.empty() ? "" : ", ",
                        gpu.index,
                        gpu.name.empty() ? "" : fmt::format(" ({})", gpu.name));
  }
  return gpus.size() > kMostListed ? fmt::format("{} and {} more", list, gpus.size() - kMostListed)
                                   : list;
}

Result<void> check_gpu_filter(const GpuFilter& filter, std::span<const GpuView> gpus) {
  for (const unsigned index : filter.indices) {
    if (std::ranges::find(gpus, index, &GpuView::index) == gpus.end()) {
      return invalid_input(
          fmt::format("gpu: there is no GPU {}; this server has {}", index, gpu_list(gpus)));
    }
  }
  if (std::ranges::none_of(gpus, [&](const GpuView& gpu) { return passes(filter, gpu); })) {
    return invalid_input(fmt::format(
        "gpu_type: there are no {}; this server has {}", filter_words(filter), gpu_list(gpus)));
  }
  return {};
}

// As many GPUs, of that size, as the job needs.
Result<void> check_gpus(const JobSpec& spec, std::span<const GpuView> gpus) {
  if (spec.gpus == 0) {
    return invalid_input("gpus: a job needs at least one");
  }
  if (spec.gpus > gpus.size()) {
    return invalid_input(
        fmt::format("gpus: {} requested; this server has {}", spec.gpus, gpus.size()));
  }
  if (const auto exist = check_gpu_filter(spec.gpu_filter, gpus); !exist) {
    return exist;
  }
  const std::uint64_t memory = spec.mem_bytes.value_or(0);
  std::size_t wanted = 0;
  std::size_t large = 0;
  std::uint64_t largest = 0;
  for (const GpuView& gpu : gpus) {
    const bool passed = passes(spec.gpu_filter, gpu);
    wanted += passed ? 1 : 0;
    large += passed && gpu.memory_bytes >= memory ? 1 : 0;
    largest = passed ? std::max(largest, gpu.memory_bytes) : largest;
  }
  if (spec.gpus > wanted) {
    return invalid_input(fmt::format("gpus: {} requested on {} only; this server has {}",
                                     spec.gpus,
                                     filter_words(spec.gpu_filter),
                                     gpu_list(gpus)));
  }
  if (large == 0) {
    return invalid_input(
        fmt::format("mem: {} requested; the largest GPU that the job may use has {}",
                    gib_text(memory),
                    gib_text(largest)));
  }
  if (spec.gpus > large) {
    return invalid_input(
        fmt::format("mem: {} requested on each of {} GPUs; only {} of {} have as much",
                    gib_text(memory),
                    spec.gpus,
                    large,
                    wanted));
  }
  return {};
}

}  // namespace

Result<void> check_submission(const JobSpec& spec,
                              std::span<const GpuView> gpus,
                              const JobTable& jobs) {
  for (const auto& checked :
       {check_command(spec), check_words(spec), check_numbers(spec), check_latency(spec)}) {
    if (!checked) {
      return checked;
    }
  }
  if (auto checked = check_gpus(spec, gpus); !checked) {
    return checked;
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
