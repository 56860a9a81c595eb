#include "core/identity/varying_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/text/digest.hpp"

namespace carpool::identity {
namespace {

constexpr std::size_t kHexId = 8;        // hexadecimal digits from which on a word is an id
constexpr std::size_t kLongNumber = 10;  // decimal digits of seconds since 1970

constexpr std::array<std::string_view, 4> kTemporary = {"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"};

// Folders that are made for each run, when a number follows: "exp3", "run_17".
constexpr std::array<std::string_view, 8> kRunFolders = {
    "run", "exp", "experiment", "trial", "job", "attempt", "sweep", "seed"};

// Names that say little without the folder above them.
constexpr std::array<std::string_view, 19> kPlainNames = {"train",
                                                          "val",
                                                          "valid",
                                                          "test",
                                                          "data",
                                                          "dataset",
                                                          "images",
                                                          "input",
                                                          "inputs",
                                                          "model",
                                                          "config",
                                                          "config.yaml",
                                                          "config.yml",
                                                          "config.json",
                                                          "config.toml",
                                                          "config.py",
                                                          "train.yaml",
                                                          "train.json",
                                                          "params.yaml"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, text) != names.end();
}

// Length of a UUID at the start of the text; 0: none.
std::size_t uuid_length(std::string_view text) {
  constexpr std::array<std::size_t, 5> kParts = {8, 4, 4, 4, 12};
  std::size_t at = 0;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    if (part > 0) {
      if (at >= text.size() || text[at] != '-') {
        return 0;
      }
      ++at;
    }
    const std::string_view digits = text.substr(std::min(at, text.size()), kParts[part]);
    if (digits.size() < kParts[part] || !std::ranges::all_of(digits, is_hex)) {
      return 0;
    }
    at += digits.size();
  }
  return at;
}

// Two digits between least and most, after an optional separator; moves `at` behind them.
bool take_two(std::string_view text, std::size_t& at, int least, int most) {
  std::size_t next = at;
  if (next < text.size() && !is_word(text[next]) && text[next] != '/') {
    ++next;
  }
  if (next + 2 > text.size() || !is_digit(text[next]) || !is_digit(text[next + 1])) {
    return false;
  }
  const int value = 10 * (text[next] - '0') + (text[next + 1] - '0');
  if (value < least || value > most) {
    return false;
  }
  at = next + 2;
  return true;
}

// Length of a date, with the time of day where one follows; 0: none.
std::size_t date_length(std::string_view text) {
  if (text.size() < 8 || !all_digits(text.substr(0, 4)) ||
      (!text.starts_with("19") && !text.starts_with("20"))) {
    return 0;
  }
  std::size_t at = 4;
  if (!take_two(text, at, 1, 12) || !take_two(text, at, 1, 31)) {
    return 0;
  }
  std::size_t time = at + (at < text.size() && (text[at] == 'T' || text[at] == 't') ? 1 : 0);
  if (take_two(text, time, 0, 23) && take_two(text, time, 0, 59)) {
    at = time;
    (void)take_two(text, at, 0, 60);
  }
  return at < text.size() && is_digit(text[at]) ? 0 : at;
}

bool is_id(std::string_view word) {
  if (all_digits(word)) {
    return word.size() >= kLongNumber;
  }
  return word.size() >= kHexId && std::ranges::all_of(word, is_hex) &&
         std::ranges::any_of(word, is_digit);
}

// As Python's tempfile and mktemp(1) make them.
bool is_temporary_name(std::string_view name) {
  constexpr std::size_t kPython = 11;
  constexpr std::size_t kMktemp = 14;
  return name.starts_with("tmp") &&
         (name.starts_with("tmp.") ? name.size() == kMktemp : name.size() == kPython);
}

bool is_run_folder(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == name.size()) {
    return false;
  }
  std::string_view word = name.substr(0, digits + 1);
  if (word.ends_with('-') || word.ends_with('_')) {
    word.remove_suffix(1);
  }
  return is_one_of(word, kRunFolders);
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::string steady_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view stem = dot == std::string_view::npos ? name : name.substr(0, dot);
  if (is_temporary_name(name)) {
    return std::string(kVaries);
  }
  if (is_temporary_name(stem)) {
    return std::string(kVaries) + std::string(name.substr(stem.size()));
  }
  return mask_varying(name);
}

}  // namespace

std::string mask_varying(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    const std::string_view rest = text.substr(at);
    const auto word_end = std::ranges::find_if_not(rest, is_word);
    const auto length = static_cast<std::size_t>(word_end - rest.begin());
    std::size_t masked = std::max(uuid_length(rest), date_length(rest));
    if (masked < length) {
      masked = is_id(rest.substr(0, length)) ? length : 0;
    }
    out += masked > 0 ? kVaries : rest.substr(0, length);
    at += masked > 0 ? masked : length;
  }
  return out;
}

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string steady_value(std::string_view value) {
  if (value.find('/') == std::string_view::npos) {
    return steady_name(value);
  }
  const std::vector<std::string_view> parts = path_parts(value);
  if (parts.empty()) {
    return std::string(value.substr(0, 1));
  }
  std::string name = steady_name(parts.back());
  if (parts.size() > 1 && is_one_of(parts.back(), kPlainNames)) {
    name = steady_name(parts[parts.size() - 2]) + "/" + name;
  }
  return name;
}

std::vector<std::string> steady_folder(std::string_view path) {
  const bool temporary = std::ranges::any_of(
      kTemporary, [&](std::string_view folder) { return path.starts_with(folder); });
  std::vector<std::string> steady;
  for (const std::string_view part : path_parts(path)) {
    const bool varies =
        is_run_folder(part) || is_temporary_name(part) || mask_varying(part) != part ||
        (temporary && std::ranges::any_of(part, is_digit)) || (part.size() > 2 && all_digits(part));
    steady.emplace_back(varies ? kVaries : part);
  }
  return steady;
}

std::string short_digest(std::string_view text, std::size_t digits) {
  return sha256_hex(text).substr(0, digits);
}

}  // namespace carpool::identity
