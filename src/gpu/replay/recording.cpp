#include "gpu/replay/recording.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "gpu/replay/gpu_json.hpp"
#include "gpu/replay/object_reader.hpp"

namespace carpool::gpu {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "carpool-telemetry";
constexpr std::uint64_t kVersion = 1;

tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorCode::Corrupt, std::move(message));
}

tl::unexpected<Error> no_recording() {
  return invalid_input(
      "not a recording: it does not start with the header that `carpool record` writes");
}

Result<void> check_format(const json& header) {
  if (!header.is_object() || header.value("format", json()) != kFormat) {
    return no_recording();
  }
  if (const json version = header.value("version", json()); version != kVersion) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("the recording has version {}, but this program reads version {}: record "
                    "again with `carpool record`",
                    version.dump(),
                    kVersion));
  }
  return {};
}

Result<void> read_header(const json& line, TelemetryRecording& recording) {
  if (auto known = check_format(line); !known) {
    return known;
  }
  ObjectReader reader(line, "header");
  (void)reader.text("format");
  (void)reader.count("version");
  recording.recorded = reader.text("recorded");
  const json* gpus = reader.array("gpus");
  for (const json& item : gpus != nullptr ? *gpus : json::array()) {
    auto info = gpu_info_from_json(item);
    if (!info) {
      return tl::unexpected(std::move(info.error()));
    }
    if (info->index != recording.gpus.size()) {
      return corrupt(
          fmt::format("expected GPU {}, found GPU {}", recording.gpus.size(), info->index));
    }
    recording.gpus.push_back(std::move(*info));
  }
  return reader.finish();
}

Result<std::vector<GpuProcess>> read_process_list(const json* list) {
  std::vector<GpuProcess> processes;
  for (const json& item : list != nullptr ? *list : json::array()) {
    auto process = gpu_process_from_json(item);
    if (!process) {
      return tl::unexpected(std::move(process.error()));
    }
    processes.push_back(*process);
  }
  return processes;
}

Result<TelemetryReading> read_reading(const json& line, std::size_t gpus) {
  ObjectReader reader(line, "reading");
  TelemetryReading reading;
  const std::uint64_t gpu = reader.count("gpu");
  if (gpu >= gpus) {
    reader.problem("gpu", fmt::format("{} is not below {}, the number of GPUs", gpu, gpus));
  }
  const json* sample = reader.object("sample");
  const json* activity = reader.maybe("activity");
  const json* processes = reader.array("processes");
  if (auto read = reader.finish(); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  auto read_sample = gpu_sample_from_json(*sample);
  if (!read_sample) {
    return tl::unexpected(std::move(read_sample.error()));
  }
  reading.gpu = static_cast<unsigned>(gpu);
  reading.sample = std::move(*read_sample);
  if (activity != nullptr) {
    auto read_activity = gpu_activity_from_json(*activity);
    if (!read_activity) {
      return tl::unexpected(std::move(read_activity.error()));
    }
    reading.activity = std::move(*read_activity);
  }
  return read_process_list(processes).map([&](std::vector<GpuProcess>&& list) {
    reading.processes = std::move(list);
    return std::move(reading);
  });
}

// Reads the lines of a recording in order.
class LineReader {
 public:
  [[nodiscard]] Result<void> read(std::string_view text) {
    const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded()) {
      return header_read_ ? corrupt("not JSON") : no_recording();
    }
    if (!header_read_) {
      header_read_ = true;
      auto read = read_header(line, recording);
      last_ns_.assign(recording.gpus.size(), -1);
      return read;
    }
    auto reading = read_reading(line, recording.gpus.size());
    if (!reading) {
      return tl::unexpected(std::move(reading.error()));
    }
    std::int64_t& last_ns = last_ns_[reading->gpu];
    if (reading->sample.at_ns <= last_ns) {
      return corrupt("the time does not increase; a recording covers one boot of one machine");
    }
    last_ns = reading->sample.at_ns;
    recording.readings.push_back(std::move(*reading));
    return {};
  }

  TelemetryRecording recording;

 private:
  bool header_read_ = false;
  std::vector<std::int64_t> last_ns_;
};

}  // namespace

std::string recording_header(const std::string& recorded, const std::vector<GpuInfo>& gpus) {
  json header = {
      {"format", kFormat}, {"version", kVersion}, {"recorded", recorded}, {"gpus", json::array()}};
  for (const GpuInfo& gpu : gpus) {
    header["gpus"].push_back(to_json(gpu));
  }
  // A name may hold bytes that are not UTF-8.
  return header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string recording_line(const TelemetryReading& reading) {
  json line = {
      {"gpu", reading.gpu}, {"sample", to_json(reading.sample)}, {"processes", json::array()}};
  if (reading.activity) {
    line["activity"] = to_json(*reading.activity);
  }
  for (const GpuProcess& process : reading.processes) {
    line["processes"].push_back(to_json(process));
  }
  return line.dump() + "\n";
}

Result<TelemetryRecording> parse_recording(std::string_view text, std::string_view name) {
  LineReader reader;
  std::size_t number = 0;
  const auto where = [&](Error error) {
    error.message = fmt::format("{}:{}: {}", name, number, error.message);
    return error;
  };
  if (text.empty()) {
    return invalid_input(fmt::format("{} is empty, not a recording", name));
  }
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    // The header is written as a whole.
    if (end == std::string_view::npos && number > 1) {
      return corrupt(
          fmt::format("{}:{}: the last line is incomplete because the recording was interrupted; "
                      "remove that line or record again",
                      name,
                      number));
    }
    if (auto read = reader.read(text.substr(0, end)); !read) {
      return tl::unexpected(where(std::move(read.error())));
    }
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  return std::move(reader.recording);
}

Result<TelemetryRecording> load_recording(const std::filesystem::path& path) {
  return read_file(path).and_then(
      [&](const std::string& text) { return parse_recording(text, path.string()); });
}

}  // namespace carpool::gpu
