// Feeds each file of a folder to a fuzz target, whole and truncated at a number of places: the
// corpus as a plain test, with any compiler.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/file.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 64;

void feed(const std::string& content, std::size_t length) {
  // A separate buffer, so that the address sanitizer sees reads past its end.
  const std::vector<std::uint8_t> bytes(content.begin(),
                                        content.begin() + static_cast<std::ptrdiff_t>(length));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay_corpus FOLDER\n", stderr);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], problem)) {
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
    feed(*content, content->size());
    for (std::size_t cut = 0; cut < kCuts; ++cut) {
      feed(*content, content->size() * cut / kCuts);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 1;
  }
  return 0;
}
