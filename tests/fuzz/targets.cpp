#include "targets.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace carpool::fuzz {

const std::vector<Target>& targets() {
#define CARPOOL_ROW(NAME) Target{#NAME, feed_##NAME},
  static const std::vector<Target> table = {CARPOOL_FUZZ_TARGETS(CARPOOL_ROW)};
#undef CARPOOL_ROW
  return table;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

namespace {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

const std::filesystem::path& scratch_folder() {
  static const ScratchFolder folder;
  return folder.path();
}

std::filesystem::path scratch_file(std::string_view name, std::string_view content) {
  std::filesystem::path path = scratch_folder() / name;
  ::unlink(
      path.c_str());  // a new file: to truncate the old one makes file systems write it to disk
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(file >= 0);
  require(::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  ::close(file);
  return path;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace carpool::fuzz
