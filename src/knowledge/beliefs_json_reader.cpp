#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/strict_object.hpp"
#include "knowledge/beliefs_json.hpp"
#include "knowledge/number_reader.hpp"

namespace carpool::knowledge {
namespace {

using nlohmann::json;

bool in_range(const WorkloadState& workload) {
  const auto positive = [](const std::optional<double>& value) {
    return !value || (*value > 0.0 && std::isfinite(*value));
  };
  const auto share = [](double value) { return value > 0.0 && value <= 1.0; };
  return share(workload.activity.mean) && share(workload.assumed_activity) &&
         workload.measured_s >= 0.0 && std::isfinite(workload.measured_s) &&
         std::isfinite(workload.seen_at_s) && positive(workload.runtime_s) &&
         positive(workload.startup_s) && workload.processes > 0;
}

void read_window(const json& content, NumberReader& numbers, WindowSeen& window) {
  constexpr std::size_t kOver = 3;
  constexpr std::size_t kAlone = 4;
  constexpr std::size_t kLongKernel = 5;  // later than the others
  if (!content.is_array() || (content.size() != kLongKernel && content.size() != kLongKernel + 1) ||
      !content[kOver].is_number() || !content[kAlone].is_boolean()) {
    numbers.problem("kernel_window: not a window");
    return;
  }
  numbers.believed(&content, window.activity, content.size());
  window.over_s = content[kOver].get<double>();
  window.alone = content[kAlone].get<bool>();
  if (content.size() > kLongKernel) {
    if (!content[kLongKernel].is_number()) {
      numbers.problem("kernel_window: not a window");
      return;
    }
    window.long_kernel_ms = content[kLongKernel].get<double>();
  }
  constexpr double kLongest = 3600.0;
  if (!(window.over_s > 0.0 && window.over_s <= kLongest && window.activity.mean > 0.0 &&
        window.activity.mean <= 1.0 && window.long_kernel_ms >= 0.0 &&
        window.long_kernel_ms <= 1000.0 * kLongest)) {
    numbers.problem("kernel_window: a number is out of range");
  }
}

Result<void> read_workload(const json& content,
                           std::uint32_t user,
                           BeliefStore& store,
                           std::vector<std::uint32_t>& slots) {
  StrictObject object(content, "workload");
  std::string name;
  object.require("name");
  object.read("name", name);
  if (name.empty() || store.find_user(name) != user || store.find(name) != kNone) {
    return fail(ErrorCode::Corrupt,
                fmt::format("workload \"{}\": empty, twice or of another user", name));
  }
  slots.push_back(store.find_or_add(name, 0.0));
  WorkloadState& workload = store.workloads()[slots.back()];
  NumberReader numbers(fmt::format("workload \"{}\"", name));
  numbers.believed(object.member("activity"), workload.activity);
  numbers.believed(object.member("sensitivity"), workload.log_sensitivity);
  numbers.believed(object.member("pressure"), workload.log_pressure);
  for (std::size_t source = 0; source < kProgressSources; ++source) {
    if (const json* rate = object.member(kSourceKeys.at(source))) {
      auto& solo = workload.solo.at(source).emplace();
      numbers.believed(rate, solo.log_rate, 4);
      solo.alone = rate->is_array() && rate->size() == 4 && rate->back().is_boolean() &&
                   rate->back().get<bool>();
    }
  }
  if (const json* window = object.member("kernel_window")) {
    read_window(*window, numbers, workload.window.emplace());
  }
  object.read("assumed_activity", workload.assumed_activity);
  object.read("measured_s", workload.measured_s);
  object.read("alone", workload.alone);
  object.read("runtime_s", workload.runtime_s);
  object.read("startup_s", workload.startup_s);
  object.read("peak_bytes", workload.peak_bytes);
  object.read("processes", workload.processes);
  object.read("runs", workload.runs);
  object.read("seen_at_s", workload.seen_at_s);
  if (!in_range(workload)) {
    numbers.problem("a number is out of range");
  }
  if (auto finished = object.finish(); !finished) {
    return finished;
  }
  store.refresh(slots.back());
  return numbers.finish();
}

Result<void> read_pairs(const json& pairs,
                        std::span<const std::uint32_t> slots,
                        BeliefStore& store) {
  NumberReader numbers("pairs");
  for (const json& pair : pairs) {
    Believed factor;
    numbers.believed(&pair, factor, 5, 2);
    if (auto read = numbers.finish(); !read) {
      return read;
    }
    const std::uint32_t slowed = numbers.workload(pair[0], slots);
    const std::uint32_t by = numbers.workload(pair[1], slots);
    if (slowed != kNone && by != kNone) {
      store.add_pair(slowed, by, factor.at_s) = factor;
    }
  }
  return numbers.finish();
}

Result<void> read_group(const json& content,
                        std::span<const std::uint32_t> slots,
                        GroupMemory& groups) {
  StrictObject object(content, "group");
  NumberReader numbers("group");
  GroupMemory::Key key;
  GroupMemory::Entry entry;
  object.read("at_s", entry.at_s);
  const json* members = object.member("members");
  const json* speeds = object.member("speeds");
  if (auto finished = object.finish(); !finished) {
    return finished;
  }
  if (members == nullptr || speeds == nullptr || !members->is_array() || !speeds->is_array()) {
    return fail(ErrorCode::Corrupt, "group: members or speeds: not a list");
  }
  for (const json& member : *members) {
    key.push_back(numbers.workload(member, slots));
  }
  for (const json& speed : *speeds) {
    GroupMemory::Speed read;
    numbers.believed(&speed, read.log_rate, 5, 2);
    if (auto good = numbers.finish(); !good) {
      return good;
    }
    read.workload = numbers.workload(speed[0], slots);
    if (!speed[1].is_number_unsigned() || speed[1].get<std::uint64_t>() >= kProgressSources ||
        std::ranges::count(key, read.workload) == 0) {
      numbers.problem("a speed of an unknown kind or workload");
    } else {
      read.source = static_cast<ProgressSource>(speed[1].get<unsigned>());
    }
    entry.speeds.push_back(read);
  }
  if (key.size() < 2 || !std::ranges::is_sorted(key) || !std::isfinite(entry.at_s)) {
    numbers.problem("members are not in order, or fewer than two");
  }
  if (auto good = numbers.finish(); !good) {
    return good;
  }
  groups.put(std::move(key), std::move(entry));
  return {};
}

bool in_range(const UserBelief& read) {
  const std::array widths = {
      read.law_width, read.measured_width, read.latency_width, read.measured_latency_width};
  return read.coverage.inside <= read.coverage.all &&
         read.latency_coverage.inside <= read.latency_coverage.all &&
         std::ranges::all_of(widths, [](double width) { return width > 0.1 && width < 10.0; });
}

}  // namespace

Result<void> read_user(const json& content, BeliefStore& store) {
  StrictObject object(content, "user");
  NumberReader numbers("user");
  UserBelief read;
  object.require("scope");
  object.read("scope", read.scope);
  numbers.believed(object.member("contention"), read.log_contention);
  numbers.believed(object.member("tilt"), read.tilt);
  object.read("inside", read.coverage.inside);
  object.read("predictions", read.coverage.all);
  object.read("law_width", read.law_width);
  object.read("measured_width", read.measured_width);
  object.read("latency_inside", read.latency_coverage.inside);
  object.read("latency_predictions", read.latency_coverage.all);
  object.read("latency_width", read.latency_width);
  object.read("measured_latency_width", read.measured_latency_width);
  const json* latencies = object.member("latencies");
  const std::array lists = {
      object.member("workloads"), object.member("pairs"), object.member("groups")};
  if (std::ranges::any_of(lists,
                          [](const json* list) { return list == nullptr || !list->is_array(); })) {
    numbers.problem("workloads, pairs or groups: not a list");
  }
  if (latencies != nullptr && !latencies->is_array()) {
    numbers.problem("latencies: not a list");
  }
  if (!in_range(read) || store.find_user(read.scope) != kNone) {
    numbers.problem("listed twice, or a number is out of range");
  }
  if (auto finished = object.finish(); !finished) {
    return finished;
  }
  if (auto good = numbers.finish(); !good) {
    return good;
  }
  const std::uint32_t index = store.add_user(read.scope);
  store.users()[index] = std::move(read);
  std::vector<std::uint32_t> slots;
  for (const json& workload : *lists[0]) {
    if (auto good = read_workload(workload, index, store, slots); !good) {
      return good;
    }
  }
  if (auto good = read_pairs(*lists[1], slots, store); !good) {
    return good;
  }
  for (const json& group : *lists[2]) {
    if (auto good = read_group(group, slots, store.users()[index].groups); !good) {
      return good;
    }
  }
  for (const json& latency : latencies == nullptr ? json::array() : *latencies) {
    if (auto good = read_latency(latency, slots, store.users()[index].latencies); !good) {
      return good;
    }
  }
  return {};
}

}  // namespace carpool::knowledge
