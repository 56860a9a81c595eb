#include "gpu/cupti/activity_parser.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace carpool::gpu {
namespace {

namespace format = activity_format;

// Beyond any real time; the sum of two stays in range.
constexpr std::int64_t kLatest = std::int64_t{1} << 61U;

bool is_time(std::int64_t at) {
  return at >= 0 && at <= kLatest;
}

std::string uuid_text(const std::array<std::uint8_t, 16>& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", dash ? "-" : "", bytes[i]);
  }
  return text;
}

// Reads the fixed part; the rest of the payload, if text is allowed, goes to `text`.
template <class T>
[[nodiscard]] bool read_fixed(std::string_view payload, T& out, std::string_view* text) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (payload.size() < sizeof(T) || (text == nullptr && payload.size() != sizeof(T))) {
    return false;
  }
  (void)payload.copy(reinterpret_cast<char*>(&out), sizeof(T));
  if (text != nullptr) {
    *text = payload.substr(sizeof(T));
  }
  return true;
}

template <class T, class Accept>
[[nodiscard]] std::string read_array(std::string_view payload,
                                     std::vector<T>& into,
                                     const Accept& accept) {
  if (payload.empty() || payload.size() % sizeof(T) != 0) {
    return "has a list of the wrong length";
  }
  for (; !payload.empty(); payload.remove_prefix(sizeof(T))) {
    T entry;
    (void)payload.copy(reinterpret_cast<char*>(&entry), sizeof(T));
    if (!accept(entry)) {
      return "has an entry with a time, a number or a reference that cannot be";
    }
    into.push_back(entry);
  }
  return {};
}

}  // namespace

std::string ActivityParser::take(format::RecordType type, std::string_view payload) {
  if (first_ != (type == format::RecordType::FileStart)) {
    return first_ ? "does not begin as an activity file does" : "begins a second time";
  }
  first_ = false;
  if (trace_.end.has_value()) {
    return "goes on after its end";
  }
  return dispatch(type, payload);
}

void ActivityParser::finish() {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::sort(trace_.launches.begin(), trace_.launches.end(), by_start);
  std::sort(trace_.memory_operations.begin(), trace_.memory_operations.end(), by_start);
  std::sort(trace_.ranges.begin(), trace_.ranges.end(), by_start);
  std::sort(trace_.counter_samples.begin(), trace_.counter_samples.end(), by_start);
  if (recording_) {
    trace_.windows.back().end_ns = std::max(latest_, trace_.windows.back().start_ns);
  }
  trace_.complete = trace_.end.has_value();
}

std::string ActivityParser::dispatch(format::RecordType type, std::string_view payload) {
  switch (type) {
    case format::RecordType::FileStart:
      return file_start(payload);
    case format::RecordType::Device:
      return device(payload);
    case format::RecordType::Kernel:
      return kernel(payload);
    case format::RecordType::Launches:
      return read_array(payload, trace_.launches, [this](const format::Launch& launch) {
        return launch.kernel < trace_.kernels.size() && spans(launch.start_ns, launch.duration_ns);
      });
    case format::RecordType::MemoryOperations:
      return read_array(
          payload, trace_.memory_operations, [this](const format::MemoryOperation& done) {
            return done.kind <= static_cast<std::uint16_t>(format::MemoryKind::Set) &&
                   spans(done.start_ns, done.duration_ns);
          });
    case format::RecordType::Range:
      return range(payload);
    case format::RecordType::CounterSet:
      return counter_set(payload);
    case format::RecordType::CounterSamples:
      return read_array(
          payload, trace_.counter_samples, [this](const format::CounterSample& sample) {
            return sample.set < trace_.counter_sets.size() &&
                   sample.metric < trace_.counter_sets[sample.set].metrics.size() &&
                   sample.start_ns <= sample.end_ns && is_time(sample.start_ns) &&
                   is_time(sample.end_ns) && std::isfinite(sample.value);
          });
    case format::RecordType::Note:
      return note(payload);
    case format::RecordType::Window:
      return window(payload);
    case format::RecordType::End:
      return end(payload);
  }
  return fmt::format("has a record of the unknown type {}", static_cast<unsigned>(type));
}

bool ActivityParser::spans(std::int64_t start, std::int64_t duration) {
  if (!is_time(start) || !is_time(duration)) {
    return false;
  }
  latest_ = std::max(latest_, start + duration);
  return true;
}

std::string ActivityParser::file_start(std::string_view payload) {
  std::string_view text;
  if (!read_fixed(payload, trace_.start, &text) || trace_.start.magic != format::kMagic) {
    return "does not begin as an activity file does";
  }
  if (trace_.start.version != format::kVersion) {
    return fmt::format(
        "has the version {}; this program reads version {}: use the program and "
        "the library of one release",
        trace_.start.version,
        format::kVersion);
  }
  trace_.program = text;
  return is_time(trace_.start.start_ns) ? "" : "has an impossible time";
}

std::string ActivityParser::device(std::string_view payload) {
  ActivityDevice record;
  std::string_view text;
  if (!read_fixed(payload, record.facts, &text)) {
    return "has a device of the wrong length";
  }
  record.uuid = uuid_text(record.facts.uuid);
  record.name = text;
  trace_.devices.push_back(std::move(record));
  return {};
}

std::string ActivityParser::kernel(std::string_view payload) {
  ActivityKernel record;
  std::string_view text;
  if (!read_fixed(payload, record.facts, &text) || record.facts.id != trace_.kernels.size()) {
    return "has a kernel of the wrong length or number";
  }
  record.name = text;
  trace_.kernels.push_back(std::move(record));
  return {};
}

std::string ActivityParser::range(std::string_view payload) {
  format::Range record;
  std::string_view text;
  if (!read_fixed(payload, record, &text) || !is_time(record.start_ns) || !is_time(record.end_ns) ||
      record.end_ns < record.start_ns) {
    return "has a range of the wrong length or times";
  }
  latest_ = std::max(latest_, record.end_ns);
  trace_.ranges.push_back({std::string(text), record.start_ns, record.end_ns, record.thread});
  return {};
}

std::string ActivityParser::counter_set(std::string_view payload) {
  format::CounterSet record;
  std::string_view text;
  if (!read_fixed(payload, record, &text) || record.id != trace_.counter_sets.size()) {
    return "has a counter set of the wrong length or number";
  }
  ActivityCounterSet set{record.device, record.passes, {}};
  while (!text.empty()) {
    const std::size_t line = text.find('\n');
    set.metrics.emplace_back(text.substr(0, line));
    text = line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
  }
  if (set.metrics.size() != record.metrics) {
    return "has a counter set with a wrong number of names";
  }
  trace_.counter_sets.push_back(std::move(set));
  return {};
}

std::string ActivityParser::note(std::string_view payload) {
  format::Note record;
  std::string_view text;
  if (!read_fixed(payload, record, &text) || !is_time(record.at_ns) ||
      record.kind > static_cast<std::uint32_t>(format::NoteKind::Failed)) {
    return "has a note of the wrong length, time or kind";
  }
  const auto kind = static_cast<format::NoteKind>(record.kind);
  trace_.notes.push_back({kind, record.code, record.at_ns, std::string(text)});
  return {};
}

std::string ActivityParser::window(std::string_view payload) {
  format::Window record;
  if (!read_fixed(payload, record, nullptr) || !is_time(record.at_ns) ||
      (record.recording != 0) == recording_) {
    return "has an impossible window";
  }
  recording_ = record.recording != 0;
  if (recording_) {
    trace_.windows.push_back({record.at_ns, record.at_ns});
  } else {
    trace_.windows.back().end_ns = std::max(record.at_ns, trace_.windows.back().start_ns);
  }
  return {};
}

std::string ActivityParser::end(std::string_view payload) {
  format::End record;
  if (!read_fixed(payload, record, nullptr) || !is_time(record.at_ns)) {
    return "has an end of the wrong length or time";
  }
  latest_ = std::max(latest_, record.at_ns);
  trace_.end = record;
  return {};
}

}  // namespace carpool::gpu
