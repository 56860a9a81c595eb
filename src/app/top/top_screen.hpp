// The terminal under `carpool top`: draws lines, reads keys. Whatever ends its life gives the
// terminal back as it was.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"
#include "app/top/top_view.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Takes the locale of the environment for characters; whether it is UTF-8.
[[nodiscard]] bool terminal_speaks_utf8();

// Used by one thread; one at a time.
class TopScreen {
 public:
  // Standard input and output must be a terminal. Unsupported when nothing is known of its kind.
  [[nodiscard]] static Result<TopScreen> open(bool colour);

  TopScreen(TopScreen&& other) noexcept;
  TopScreen& operator=(TopScreen&&) = delete;
  ~TopScreen();

  [[nodiscard]] TopScreenSize size() const;
  void draw(const std::vector<Line>& lines);

  // The next key, or Other after `limit` and when the terminal changes its size. Quit when there is
  // no terminal any more.
  [[nodiscard]] TopKey wait_for_key(std::chrono::milliseconds limit);

 private:
  struct State;
  explicit TopScreen(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
