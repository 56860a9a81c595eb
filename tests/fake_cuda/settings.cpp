#include "settings.hpp"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fake_cuda {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "spin_500us" and "product@500us" are 500,000; -1 if the name does not end in a length.
std::int64_t length_in_name(const std::string& name) {
  const std::size_t bar = name.find_last_of("_@");
  if (bar == std::string::npos || bar + 1 >= name.size() ||
      std::isdigit(static_cast<unsigned char>(name[bar + 1])) == 0) {
    return -1;
  }
  char* unit = nullptr;
  const auto value = static_cast<std::int64_t>(std::strtoull(&name[bar + 1], &unit, 10));
  const std::string_view rest = unit;
  if (rest == "ns") {
    return value;
  }
  if (rest == "us") {
    return value * 1000;
  }
  return rest == "ms" ? value * 1'000'000 : -1;
}

}  // namespace

Settings::Settings(std::string_view text) {
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find('#'));
    if (const std::size_t sign = line.find('='); sign != std::string::npos) {
      const std::string key = trimmed(line.substr(0, sign));
      values_[key] = trimmed(line.substr(sign + 1));
      has_failures_ = has_failures_ || key.starts_with("fail.");
    }
  }
}

Settings Settings::of_environment() {
  const char* path = std::getenv("CARPOOL_FAKE_CUDA");
  if (path == nullptr) {
    return {};
  }
  std::ifstream file(path);
  if (!file) {
    // A misspelt name must not silently give the defaults.
    std::abort();
  }
  std::ostringstream text;
  text << file.rdbuf();
  Settings settings(text.str());
  settings.values_.try_emplace("device", std::string(path) + ".device");
  return settings;
}

std::string Settings::text(const std::string& key, const std::string& fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : found->second;
}

std::uint64_t Settings::number(const std::string& key, std::uint64_t fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : std::strtoull(found->second.c_str(), nullptr, 0);
}

bool Settings::has_word(const std::string& key, std::string_view word) const {
  std::istringstream in(text(key, ""));
  for (std::string each; in >> each;) {
    if (each == word) {
      return true;
    }
  }
  return false;
}

std::int64_t Settings::kernel_ns(const std::string& name) const {
  if (values_.contains("kernel." + name)) {
    return static_cast<std::int64_t>(number("kernel." + name, 0)) * 1000;
  }
  const std::int64_t named = length_in_name(name);
  return named >= 0 ? named : static_cast<std::int64_t>(number("kernel_us", 0)) * 1000;
}

}  // namespace fake_cuda
