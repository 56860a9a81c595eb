#include "base/files/config.hpp"

#include <array>
#include <cstdlib>
#include <functional>
#include <system_error>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/files/file.hpp"

namespace carpool {
namespace {

// One row a setting: its key and where it goes. Takes a string or a number, as the field does.
struct Setting {
  std::string_view key;
  std::optional<std::string> Config::* text = nullptr;
  std::optional<double> Config::* number = nullptr;
};

constexpr std::array kSettings = {
    Setting{.key = "data", .text = &Config::data},
    Setting{.key = "model", .text = &Config::model},
    Setting{.key = "objective", .text = &Config::objective},
    Setting{.key = "floor", .number = &Config::floor},
    Setting{.key = "memory_gib", .number = &Config::memory_gib},
    Setting{.key = "color", .text = &Config::colour},
};

std::string known_keys() {
  std::string keys;
  for (const Setting& setting : kSettings) {
    keys += keys.empty() ? "" : ", ";
    keys += setting.key;
  }
  return keys;
}

Result<void> apply(const Setting& setting,
                   const toml::node& value,
                   std::string_view name,
                   Config& config) {
  if (setting.text != nullptr) {
    if (const auto text = value.value_exact<std::string>()) {
      config.*setting.text = *text;
      return {};
    }
  } else if (value.is_number()) {
    config.*setting.number = value.value<double>();
    return {};
  }
  return invalid_input(fmt::format("{}:{}: {} must be a {}",
                                   name,
                                   value.source().begin.line,
                                   setting.key,
                                   setting.text != nullptr ? "string" : "number"));
}

Result<Config> from_table(const toml::table& table, std::string_view name) {
  Config config;
  for (const auto& [key, value] : table) {
    const Setting* found = nullptr;
    for (const Setting& setting : kSettings) {
      found = setting.key == key.str() ? &setting : found;
    }
    if (found == nullptr) {
      return invalid_input(fmt::format("{}:{}: unknown key \"{}\"; known: {}",
                                       name,
                                       key.source().begin.line,
                                       key.str(),
                                       known_keys()));
    }
    if (auto applied = apply(*found, value, name, config); !applied) {
      return tl::unexpected(applied.error());
    }
  }
  if (const auto& colour = config.colour;
      colour && *colour != "auto" && *colour != "always" && *colour != "never") {
    return invalid_input(
        fmt::format("{}: color \"{}\": expected auto, always or never", name, *colour));
  }
  return config;
}

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
  try {
    return from_table(toml::parse(text, name), name);
  } catch (const toml::parse_error& problem) {
    return invalid_input(fmt::format(
        "{}:{}: {}", name, problem.source().begin.line, std::string(problem.description())));
  }
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
