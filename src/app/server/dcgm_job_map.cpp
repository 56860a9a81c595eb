#include "app/server/dcgm_job_map.hpp"

#include <cerrno>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.hpp"
#include "base/log.hpp"

namespace carpool::app {
namespace {

// Names the files of the server that wrote it. dcgm-exporter reads only files named by a number.
constexpr const char* kListName = ".carpool";

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

void remove_map(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::istringstream list(read_file(folder / kListName).value_or(""));
  for (std::string name; std::getline(list, name);) {
    if (is_number(name)) {
      std::filesystem::remove(folder / name, ignored);
    }
  }
  std::filesystem::remove(folder / kListName, ignored);
}

// A folder in which others may write could send the server's files elsewhere by links.
Result<void> make_map_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  struct stat status{};
  if (problem || ::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return invalid_input(fmt::format("--dcgm-job-map: cannot create the folder {}: {}",
                                     folder.string(),
                                     problem ? problem.message() : "it is not a folder"));
  }
  if ((status.st_uid != 0 && status.st_uid != ::geteuid()) ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return invalid_input(
        fmt::format("--dcgm-job-map: other users may write in {}; name a folder of the user of the "
                    "server with mode 0755",
                    folder.string()));
  }
  return {};
}

}  // namespace

DcgmJobMap::DcgmJobMap(std::filesystem::path folder, std::span<const GpuInfo> gpus)
    : folder_(std::move(folder)), written_(gpus.size()) {
  for (const GpuInfo& gpu : gpus) {
    names_.push_back(fmt::format("{}", gpu.index));
  }
}

Result<std::unique_ptr<DcgmJobMap>> DcgmJobMap::open(std::filesystem::path folder,
                                                     std::span<const GpuInfo> gpus) {
  if (const Result<void> made = make_map_folder(folder); !made) {
    return tl::unexpected(made.error());
  }
  remove_map(folder);
  std::unique_ptr<DcgmJobMap> map(new DcgmJobMap(std::move(folder), gpus));
  Result<void> written =
      write_file(map->folder_ / kListName, fmt::format("{}\n", fmt::join(map->names_, "\n")));
  for (std::size_t place = 0; written && place < map->names_.size(); ++place) {
    written = map->write(place, "");
  }
  if (!written) {
    return invalid_input(fmt::format("--dcgm-job-map: {}", written.error().message));
  }
  return map;
}

DcgmJobMap::~DcgmJobMap() {
  remove_map(folder_);
}

Result<void> DcgmJobMap::write(std::size_t place, const std::string& jobs) {
  if (written_[place] == jobs) {
    return {};
  }
  using std::filesystem::perms;
  const std::filesystem::path file = folder_ / names_[place];
  return write_file(file, jobs).map([&] {
    std::error_code ignored;  // the umask of the server may keep dcgm-exporter from reading it
    std::filesystem::permissions(
        file,
        perms::owner_read | perms::owner_write | perms::group_read | perms::others_read,
        ignored);
    written_[place] = jobs;
  });
}

void DcgmJobMap::follow(const std::map<unsigned, std::vector<JobId>>& residents) {
  std::string failure;
  for (std::size_t place = 0; place < names_.size(); ++place) {
    const auto found = residents.find(static_cast<unsigned>(place));
    std::string jobs;
    if (found != residents.end()) {
      for (const JobId job : found->second) {
        jobs += fmt::format("{}\n", job);
      }
    }
    if (const Result<void> written = write(place, jobs); !written) {
      failure = written.error().message;
    }
  }
  if (!failure.empty() && !complained_) {
    log_warning(fmt::format("--dcgm-job-map: {}", failure));
  }
  complained_ = !failure.empty();
}

Result<std::unique_ptr<DcgmJobMap>> open_job_map(const std::optional<std::string>& folder,
                                                 std::span<const GpuInfo> gpus) {
  return folder ? DcgmJobMap::open(*folder, gpus) : std::unique_ptr<DcgmJobMap>();
}

}  // namespace carpool::app
