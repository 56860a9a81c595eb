// carpool_fuzz_replay NAME FOLDER: feeds each file of a folder to a fuzz target, whole and
// truncated at a number of places: the corpus as a plain test, with any compiler.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/file.hpp"
#include "targets.hpp"

namespace {

constexpr std::size_t kCuts = 64;

void feed(const carpool::fuzz::Target& target, const std::string& content, std::size_t length) {
  // A separate buffer, so that the address sanitizer sees reads past its end.
  const std::vector<char> bytes(content.begin(),
                                content.begin() + static_cast<std::ptrdiff_t>(length));
  target.feed({bytes.data(), bytes.size()});
}

}  // namespace

int main(int argc, char** argv) {
  const auto* target = argc == 3 ? carpool::fuzz::find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fputs("usage: carpool_fuzz_replay NAME FOLDER\n", stderr);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2], problem)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const auto content = carpool::read_file(file);
    if (!content) {
      std::fprintf(stderr, "%s\n", content.error().message.c_str());
      return 1;
    }
    std::printf("%s\n", file.filename().c_str());
    std::fflush(stdout);
    feed(*target, *content, content->size());
    for (std::size_t cut = 0; cut < kCuts; ++cut) {
      feed(*target, *content, content->size() * cut / kCuts);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[2]);
    return 1;
  }
  return 0;
}
