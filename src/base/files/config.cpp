#include "base/files/config.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/text/strict_table.hpp"

namespace carpool {
namespace {

std::filesystem::path personal_config() {
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg != nullptr && *xdg != '\0') {
    return std::filesystem::path(xdg) / "carpool" / "config.toml";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    return {};  // never a file of the current folder
  }
  return std::filesystem::path(home) / ".config" / "carpool" / "config.toml";
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view name) {
  Config config;
  const Result<void> done = read_toml(text, std::string(name), [&](StrictTable& table) {
    table.read("data", config.data);
    table.read("model", config.model);
    table.read("objective", config.objective);
    table.read("floor", config.floor);
    table.read("memory_gib", config.memory_gib);
    table.read("color", config.colour);
    if (const auto& colour = config.colour;
        colour && *colour != "auto" && *colour != "always" && *colour != "never") {
      table.problem("color", fmt::format("\"{}\" is not auto, always or never", *colour));
    }
    if (const auto& floor = config.floor; floor && !(*floor >= 0.0 && *floor <= 1.0)) {
      table.problem("floor", fmt::format("{} is not from 0 to 1", *floor));
    }
    if (const auto& memory = config.memory_gib; memory && !(*memory > 0.0)) {
      table.problem("memory_gib", fmt::format("{} is not above 0", *memory));
    }
  });
  if (!done) {
    return tl::unexpected(done.error());
  }
  return config;
}

Result<Config> load_config(const std::optional<std::filesystem::path>& named) {
  std::filesystem::path path;
  if (named) {
    path = *named;
  } else {
    std::error_code ignored;
    for (const auto& usual :
         {personal_config(), std::filesystem::path("/etc/carpool/config.toml")}) {
      if (path.empty() && std::filesystem::exists(usual, ignored)) {
        path = usual;
      }
    }
    if (path.empty()) {
      return Config{};
    }
  }
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_config(*text, path.string());
}

}  // namespace carpool
