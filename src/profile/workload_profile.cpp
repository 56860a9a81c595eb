#include "profile/workload_profile.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/files/packed_file.hpp"

namespace carpool::profile {
namespace {

constexpr std::size_t kLongestName = 100;

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

}  // namespace

bool is_profile_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_name_letter);
}

Result<WorkloadProfile> load_profile(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_profile(*text, path.string());
}

Result<std::filesystem::path> save_profile(const WorkloadProfile& profile,
                                           std::string_view kernels_csv,
                                           const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    return invalid_input(fmt::format("folder {}: {}", folder.string(), problem.message()));
  }
  const auto kernels = folder / fmt::format("{}{}", profile.workload, kKernelsSuffix);
  auto file = folder / fmt::format("{}{}", profile.workload, kProfileSuffix);
  if (!kernels_csv.empty()) {
    const auto packed = gzip(kernels_csv);
    if (!packed) {
      return tl::unexpected(packed.error());
    }
    if (auto written = write_file(kernels, *packed); !written) {
      return tl::unexpected(written.error());
    }
  } else {
    std::filesystem::remove(kernels, problem);  // of an earlier profile of that name
  }
  if (auto written = write_file(file, profile_json(profile)); !written) {
    std::filesystem::remove(kernels, problem);
    return tl::unexpected(written.error());
  }
  return file;
}

}  // namespace carpool::profile
