#include "settings.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

namespace fake_nvml {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Settings Settings::current() {
  Settings settings;
  const char* path = std::getenv("CARPOOL_FAKE_NVML");
  if (path == nullptr) {
    return settings;
  }
  std::ifstream file(path);
  if (!file) {
    // A misspelt name must not silently give the defaults.
    std::abort();
  }
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    if (const std::size_t sign = line.find('='); sign != std::string::npos) {
      settings.values_[trimmed(line.substr(0, sign))] = trimmed(line.substr(sign + 1));
    }
  }
  return settings;
}

std::string Settings::machine() {
  const char* path = std::getenv("CARPOOL_FAKE_NVML");
  return std::to_string(std::hash<std::string>()(path == nullptr ? "" : path));
}

std::string Settings::text(const std::string& key, const std::string& fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : found->second;
}

unsigned long long Settings::number(const std::string& key, unsigned long long fallback) const {
  const auto found = values_.find(key);
  return found == values_.end() ? fallback : std::strtoull(found->second.c_str(), nullptr, 0);
}

std::string Settings::text_of(unsigned gpu,
                              const std::string& key,
                              const std::string& fallback) const {
  return text("gpu" + std::to_string(gpu) + "." + key, text(key, fallback));
}

unsigned long long Settings::number_of(unsigned gpu,
                                       const std::string& key,
                                       unsigned long long fallback) const {
  return number("gpu" + std::to_string(gpu) + "." + key, number(key, fallback));
}

std::vector<std::string> Settings::words_of(unsigned gpu, const std::string& key) const {
  std::istringstream in(text_of(gpu, key, ""));
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  return words;
}

}  // namespace fake_nvml
