#include "run/oom_message.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace carpool::run {
namespace {

std::optional<double> unit_bytes(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array kUnits = {Unit{"GiB", 1024.0 * 1024.0 * 1024.0},
                                        Unit{"MiB", 1024.0 * 1024.0},
                                        Unit{"KiB", 1024.0},
                                        Unit{"TiB", 1024.0 * 1024.0 * 1024.0 * 1024.0},
                                        Unit{"bytes", 1.0},
                                        Unit{"byte", 1.0},
                                        Unit{"GB", 1e9},
                                        Unit{"MB", 1e6}};
  for (const Unit& known : kUnits) {
    if (unit.starts_with(known.name)) {
      return known.bytes;
    }
  }
  return std::nullopt;
}

// "20.00 MiB", "4,294,967,296 bytes" at the start of the text.
std::optional<std::uint64_t> size_at(std::string_view text) {
  std::string digits;
  std::size_t used = 0;
  while (used < text.size() && (std::isdigit(static_cast<unsigned char>(text[used])) != 0 ||
                                text[used] == '.' || text[used] == ',')) {
    if (text[used] != ',') {
      digits += text[used];
    }
    ++used;
  }
  double value = 0.0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || problem != std::errc{} || used >= text.size() || text[used] != ' ') {
    return std::nullopt;
  }
  const std::optional<double> unit = unit_bytes(text.substr(used + 1));
  constexpr double kMost = 1e15;
  if (!unit || value * *unit > kMost) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value * *unit);
}

std::optional<std::uint64_t> size_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : size_at(text.substr(at + words.size()));
}

// "37.90 GiB is allocated by PyTorch": the size stands before the words.
std::optional<std::uint64_t> size_before(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos || at < 2) {
    return std::nullopt;
  }
  const std::size_t unit = text.rfind(' ', at - 2);
  const std::size_t number = unit == std::string_view::npos || unit == 0
                                 ? std::string_view::npos
                                 : text.find_last_of(" (;", unit - 1);
  return number == std::string_view::npos ? std::nullopt : size_at(text.substr(number + 1));
}

}  // namespace

std::optional<std::uint64_t> oom_wanted(std::string_view line) {
  for (const std::string_view words :
       {"Tried to allocate ", "while trying to allocate ", "Out of memory allocating "}) {
    if (const auto size = size_after(line, words)) {
      return size;
    }
  }
  // TensorFlow: "failed to allocate 2.00GiB (2147483648 bytes) from device: CUDA_ERROR_…".
  return size_before(line, " from device: CUDA_ERROR");
}

std::optional<std::uint64_t> oom_held(std::string_view line) {
  if (const auto own = size_after(line, "this process has ")) {
    return own;
  }
  const auto allocated = size_before(line, " is allocated by PyTorch");
  if (allocated) {
    return *allocated + size_before(line, " is reserved by PyTorch but unallocated").value_or(0);
  }
  if (const auto reserved = size_before(line, " reserved in total by PyTorch")) {
    return reserved;
  }
  if (const auto so_far = size_after(line, "allocated so far: ")) {
    return so_far;
  }
  return size_before(line, " already allocated");
}

}  // namespace carpool::run
