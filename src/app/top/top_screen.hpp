// The terminal of `carpool top`: draws lines, reads keys. The destructor restores the terminal.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"
#include "app/top/top_view.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Sets the character locale from the environment. True if it is UTF-8.
[[nodiscard]] bool terminal_speaks_utf8();

// For one thread; only one instance at a time.
class TopScreen {
 public:
  // Standard input and output must be a terminal. Fails if its type is unknown.
  [[nodiscard]] static Result<TopScreen> open(bool colour);

  TopScreen(TopScreen&& other) noexcept;
  TopScreen& operator=(TopScreen&&) = delete;
  ~TopScreen();

  [[nodiscard]] TopScreenSize size() const;
  void draw(const std::vector<Line>& lines);

  // The next key; Other after `limit` and when the terminal is resized; Quit when the terminal is
  // gone.
  [[nodiscard]] TopInput wait_for_key(std::chrono::milliseconds limit);

 private:
  struct State;
  explicit TopScreen(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace carpool::app
