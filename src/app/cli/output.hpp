// Output of a command: results on standard output, everything else on standard error. Text of jobs
// and users passes through here to a terminal, so whatever is not Carpool's own style, a line feed
// or a tab is shown as an escape (base/text/printable.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/output/text_table.hpp"
#include "base/progress/progress.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  std::string_view colour = "auto";  // auto, always, never
};

class Output {
 public:
  explicit Output(const OutputOptions& options);

  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool colour() const { return colour_; }
  [[nodiscard]] Progress::Show progress() const {
    return quiet_ ? Progress::Show::Never : Progress::Show::OnTerminal;
  }

  void print(std::string_view text) const;    // results
  void heading(std::string_view text) const;  // a line above a table; bold on a terminal
  void remark(std::string_view text) const;   // explanation on standard output; not with --quiet
  void clear_screen() const;                  // of a terminal
  void redraw(std::string_view text) const;   // the screen of a terminal from its top
  void print_json(const nlohmann::json& value) const;
  // With --json, what was found of `asked` things: the value of one, else an array. Nothing where
  // only `problems` were found.
  void print_json_of(const nlohmann::json& values, std::size_t asked, bool problems) const;
  void print_json_line(const nlohmann::json& value) const;  // one line of JSON lines

  // Writes what was printed so far; an error on a full disk.
  [[nodiscard]] Result<void> flush() const;

 private:
  bool json_;
  bool quiet_;
  bool colour_;
};

// A message on standard error: "carpool: ...".
void print_message(std::string_view message);

// "97.9" from 0.979; "-" when absent.
[[nodiscard]] std::string percent(std::optional<double> ratio, int decimals = 1);
// Three significant digits, without an exponent below 1e9: "4.27", "98.3", "1204".
[[nodiscard]] std::string number(double value);

// The columns of the terminal that standard output is; empty: it is none.
[[nodiscard]] std::optional<std::size_t> terminal_columns();

// A number, or null where there is none.
[[nodiscard]] nlohmann::json or_null(std::optional<double> value);

}  // namespace carpool::app
