#include "gpu/cupti/activity_reader.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "gpu/cupti/activity_parser.hpp"

namespace carpool::gpu {

Result<ActivityTrace> parse_activity(std::string_view bytes, std::string_view name) {
  ActivityTrace trace;
  ActivityParser parser(trace);
  std::size_t offset = 0;
  const auto damaged = [&](std::string_view what) {
    return fail(
        ErrorCode::Corrupt,
        fmt::format("activity file {} {} (at byte {}); record it again", name, what, offset));
  };
  while (bytes.size() - offset >= sizeof(activity_format::RecordHeader)) {
    activity_format::RecordHeader header;
    std::memcpy(&header, bytes.data() + offset, sizeof(header));
    if (header.size > activity_format::kMaxRecordBytes || header.reserved != 0) {
      return damaged("has an invalid record header");
    }
    const std::size_t begin = offset + sizeof(header);
    if (bytes.size() - begin < header.size) {
      break;
    }
    const std::string wrong = parser.take(static_cast<activity_format::RecordType>(header.type),
                                          bytes.substr(begin, header.size));
    if (!wrong.empty()) {
      return damaged(wrong);
    }
    offset = begin + header.size;
  }
  if (offset == 0) {
    return damaged("has no whole record");
  }
  parser.finish();
  return trace;
}

Result<ActivityTrace> read_activity(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  return parse_activity(*bytes, path.string());
}

Result<std::vector<std::filesystem::path>> activity_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  std::filesystem::directory_iterator entries(folder, problem);
  for (; !problem && entries != std::filesystem::directory_iterator(); entries.increment(problem)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(activity_format::kFilePrefix) &&
        name.ends_with(activity_format::kFileSuffix)) {
      files.push_back(entries->path());
    }
  }
  if (problem) {
    return fail(
        ErrorCode::Internal,
        fmt::format(
            "cannot look for activity files in {}: {}", folder.string(), problem.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace carpool::gpu
