// Helpers of the tests of app/.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

#include "app/cli/output.hpp"

namespace carpool::app {

// An empty folder, removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path write(const char* name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// What `print` writes to standard output, without colours.
inline std::string printed(const std::function<void(const Output&)>& print,
                           const OutputOptions& options = {.colour = "never"}) {
  testing::internal::CaptureStdout();
  print(Output(options));
  return testing::internal::GetCapturedStdout();
}

// A wide table with " | " between its cells, which must not be empty.
inline std::string with_bars(std::string_view table) {
  std::string out;
  std::size_t blanks = 0;
  for (const char c : table) {
    if (c == ' ') {
      ++blanks;
      continue;
    }
    const bool line_start = out.empty() || out.back() == '\n';
    if (c != '\n' && !line_start && blanks > 0) {
      out += blanks > 1 ? " | " : " ";
    }
    blanks = 0;
    out += c;
  }
  return out;
}

}  // namespace carpool::app
