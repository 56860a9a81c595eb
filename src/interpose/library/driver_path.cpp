#include "interpose/library/driver_path.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carpool::interpose {

namespace {

constexpr std::string_view kDriverName = "libcuda.so.1";

// The format of glibc's cache since 2.2; files of both formats start with the older one.
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kCacheHeader = 48;
constexpr std::size_t kCacheEntry = 24;
#if defined(__x86_64__)
constexpr std::int32_t kCacheFlags = 0x303;  // an ELF library for x86-64
#define MULTIARCH "x86_64-linux-gnu"
#else
constexpr std::int32_t kCacheFlags = 0xa03;  // for AArch64
#define MULTIARCH "aarch64-linux-gnu"
#endif

// Without the exception of substr(), which would need the C++ runtime.
std::string_view first(std::string_view text, std::size_t count) {
  return {text.data(), count < text.size() ? count : text.size()};
}

struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool found = false;
};

FileId identify(const char* path) {
  struct stat status{};
  if (::stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  return {.device = status.st_dev, .number = status.st_ino, .found = true};
}

bool is_this_library(const FileId& file) {
  Dl_info info{};
  static const char mark = 0;
  if (::dladdr(&mark, &info) == 0 || info.dli_fname == nullptr) {
    return false;
  }
  const FileId own = identify(info.dli_fname);
  return own.found && own.device == file.device && own.number == file.number;
}

bool is_driver(const char* path) {
  const FileId file = identify(path);
  return file.found && !is_this_library(file);
}

bool set_path(PathText& path, std::string_view folder, std::string_view name) {
  const std::size_t slash = folder.empty() || folder.ends_with('/') ? 0 : 1;
  if (folder.size() + slash + name.size() >= path.size()) {
    return false;
  }
  std::memcpy(path.data(), folder.data(), folder.size());
  path[folder.size()] = '/';
  std::memcpy(path.data() + folder.size() + slash, name.data(), name.size());
  path[folder.size() + slash + name.size()] = '\0';
  return is_driver(path.data());
}

// Folders separated by colons or semicolons.
bool search_folders(PathText& path, std::string_view folders) {
  while (!folders.empty()) {
    const std::size_t end = folders.find_first_of(":;");
    const std::string_view folder = first(folders, end);
    if (!folder.empty() && set_path(path, folder, kDriverName)) {
      return true;
    }
    folders.remove_prefix(end < folders.size() ? end + 1 : folders.size());
  }
  return false;
}

bool search_cache(PathText& path) {
  const int file = ::open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const off_t size = ::lseek(file, 0, SEEK_END);
  const auto bytes = static_cast<std::size_t>(size > 0 ? size : 0);
  void* const content =
      bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (content == MAP_FAILED) {
    return false;
  }
  const std::string_view found =
      driver_in_cache(std::string_view(static_cast<const char*>(content), bytes));
  const bool usable = !found.empty() && set_path(path, "", found);
  ::munmap(content, bytes);
  return usable;
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number = 0;
  if (offset + sizeof number <= bytes.size()) {
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  }
  return number;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) {
    return {};
  }
  bytes.remove_prefix(offset);
  const std::size_t end = bytes.find('\0');
  return end == std::string_view::npos ? std::string_view() : first(bytes, end);
}

}  // namespace

std::string_view driver_in_cache(std::string_view cache) {
  const std::size_t start = cache.find(kCacheMagic);
  if (start == std::string_view::npos) {
    return {};
  }
  cache.remove_prefix(start);  // offsets of texts count from here
  const auto entries = number_at<std::uint32_t>(cache, kCacheMagic.size());
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = kCacheHeader + i * kCacheEntry;
    if (entry + kCacheEntry > cache.size()) {
      break;
    }
    const auto flags = number_at<std::int32_t>(cache, entry);
    const auto hardware = number_at<std::uint64_t>(cache, entry + 16);
    if (flags == kCacheFlags && hardware == 0 &&
        text_at(cache, number_at<std::uint32_t>(cache, entry + 4)) == kDriverName) {
      return text_at(cache, number_at<std::uint32_t>(cache, entry + 8));
    }
  }
  return {};
}

bool find_driver_path(PathText& path) {
  const char* const told = ::secure_getenv("CARPOOL_REAL_LIBCUDA");
  if (told != nullptr && *told == '/' && set_path(path, "", told)) {
    return true;
  }
  const char* const folders = ::secure_getenv("LD_LIBRARY_PATH");
  return (folders != nullptr && search_folders(path, folders)) || search_cache(path) ||
         search_folders(
             path, "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib");
}

}  // namespace carpool::interpose
