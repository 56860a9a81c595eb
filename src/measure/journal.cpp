#include "measure/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "measure/measurement_json.hpp"

namespace carpool::measure {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "carpool-measurements";
constexpr int kVersion = 1;

json header_of(const JournalOrigin& origin) {
  return {{"format", kFormat},
          {"version", kVersion},
          {"plan", origin.plan},
          {"gpu", origin.gpu},
          {"driver", origin.driver},
          {"throughput_unit", origin.throughput_unit}};
}

JournalOrigin origin_from(const json& header) {
  return {.plan = header.at("plan").get<std::string>(),
          .gpu = header.at("gpu").get<std::string>(),
          .driver = header.at("driver").get<std::string>(),
          .throughput_unit = header.at("throughput_unit").get<std::string>()};
}

tl::unexpected<Error> corrupt(const std::string& file, std::size_t line, std::string_view what) {
  return fail(ErrorCode::Corrupt, fmt::format("{}:{}: {}", file, line, what));
}

tl::unexpected<Error> system_error(const std::filesystem::path& path, std::string_view what) {
  return fail(
      ErrorCode::Internal,
      fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(errno)));
}

bool usable(const Measurement& measurement) {
  const auto progresses = [&](const MemberResult& member) {
    return measurement.failure || (std::isfinite(member.throughput) && member.throughput > 0.0);
  };
  return !measurement.members.empty() && std::ranges::all_of(measurement.members, progresses);
}

Result<void> same_origin(const JournalOrigin& there,
                         const JournalOrigin& now,
                         const std::string& file) {
  if (there.gpu != now.gpu || there.driver != now.driver ||
      there.throughput_unit != now.throughput_unit) {
    return invalid_input(
        fmt::format("{} holds measurements of {} (driver {}, {}), but this GPU is {} (driver {}, "
                    "{}): measure into another folder",
                    file,
                    there.gpu,
                    there.driver,
                    there.throughput_unit,
                    now.gpu,
                    now.driver,
                    now.throughput_unit));
  }
  return {};
}

}  // namespace

Result<JournalContent> parse_journal(std::string_view text, const std::string& file) {
  JournalContent content;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      break;  // an unfinished line: see Journal::open
    }
    const std::string_view words = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++line;
    try {
      const json object = json::parse(words);
      if (line > 1) {
        content.measurements.push_back(measurement_from(object));
        if (!usable(content.measurements.back())) {
          return corrupt(file, line, "a throughput is not above 0, or there are no members");
        }
        continue;
      }
      if (object.at("format") != kFormat || object.at("version") != kVersion) {
        return corrupt(file, line, "not a measurement journal of version 1");
      }
      content.origin = origin_from(object);
    } catch (const std::exception& problem) {
      return corrupt(file, line, problem.what());
    }
  }
  if (line == 0) {
    return corrupt(file, 1, "the file is empty, not a measurement journal");
  }
  return content;
}

Result<Journal> Journal::open(const std::filesystem::path& path, const JournalOrigin& origin) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) {
    return system_error(path, "cannot open");
  }
  Journal journal(file, path);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return fail(
        ErrorCode::Internal,
        fmt::format("{}: another `carpool measure` is writing to this folder", path.string()));
  }
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const std::size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  if (whole < text->size() && ftruncate(file, static_cast<off_t>(whole)) != 0) {
    return system_error(path, "cannot remove the unfinished last line");
  }
  if (whole == 0) {
    journal.content_.origin = origin;
    if (auto written = journal.write_line(header_of(origin).dump()); !written) {
      return tl::unexpected(written.error());
    }
    return journal;
  }
  auto content = parse_journal(std::string_view(*text).substr(0, whole), path.string());
  if (!content) {
    return tl::unexpected(content.error());
  }
  if (auto same = same_origin(content->origin, origin, path.string()); !same) {
    return tl::unexpected(same.error());
  }
  journal.content_ = std::move(*content);
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      content_(std::move(other.content_)) {}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  std::swap(content_, other.content_);
  return *this;
}

Journal::~Journal() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

Result<void> Journal::write_line(std::string line) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      return system_error(path_, "cannot write");
    }
    left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return fdatasync(file_) == 0 ? Result<void>() : system_error(path_, "cannot sync");
}

Result<void> Journal::append(Measurement measurement) {
  // The output of a workload may not be UTF-8.
  auto written =
      write_line(to_json_object(measurement).dump(-1, ' ', false, json::error_handler_t::replace));
  content_.measurements.push_back(std::move(measurement));
  return written;
}

}  // namespace carpool::measure
