// Helpers of the tests of app/.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "app/cli/output.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool::app {

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
