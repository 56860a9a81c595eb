// The output of a job on the terminal of someone else. Colours, tabs, line feeds, carriage returns
// and the erasing of a line pass, as progress bars need them. Everything else that a terminal acts
// upon is shown as an escape (base/text/printable.hpp).
#pragma once

#include <string>
#include <string_view>

namespace carpool::app {

class TerminalFilter {
 public:
  // The next bytes, filtered. A character or sequence that is not complete waits for its rest.
  [[nodiscard]] std::string pass(std::string_view bytes);
  // What still waits, after the last bytes.
  [[nodiscard]] std::string finish();

 private:
  std::string kept_;
};

}  // namespace carpool::app
