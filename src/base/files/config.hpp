// The user's settings: $XDG_CONFIG_HOME/carpool/config.toml, /etc/carpool/config.toml, or --config.
// Options of the command line take precedence.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool {

struct Config {
  std::optional<std::string> data;       // dataset folder
  std::optional<std::string> model;      // name in the table of models
  std::optional<std::string> objective;  // name in the table of objectives
  std::optional<double> floor;           // 0 to 1
  std::optional<double> memory_gib;      // memory of one GPU
  std::optional<std::string> colour;     // key `color`: auto, always, never
};

// Unknown keys and wrong types are errors that name file, line and the known keys.
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view name);

// An explicitly named file must exist; of the two usual places the first that exists is read, and
// none gives an empty Config.
[[nodiscard]] Result<Config> load_config(const std::optional<std::filesystem::path>& named);

}  // namespace carpool
