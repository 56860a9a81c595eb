#include "gpu/cupti/inject/settings.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "gpu/cupti/window_format.hpp"

namespace carpool::gpu::inject {
namespace {

std::string_view variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread writes to the environment
  const char* value = std::getenv(name);
  return value != nullptr ? std::string_view(value) : std::string_view();
}

// The number in the variable; `otherwise` if there is none.
std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string_view text = variable(name);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

}  // namespace

std::optional<Settings> settings_from_environment() {
  const std::string_view folder = variable("CARPOOL_PROFILE_DIR");
  if (folder.empty()) {
    return std::nullopt;
  }
  Settings settings;
  settings.folder = folder;
  settings.activity = number("CARPOOL_PROFILE_ACTIVITY", 1) != 0;
  settings.counters = number("CARPOOL_PROFILE_COUNTERS", 0) != 0;
  settings.probe = number("CARPOOL_PROFILE_PROBE", 0) != 0;
  constexpr std::uint64_t kSlowestFlush = 60'000;
  const std::uint64_t flush = number("CARPOOL_PROFILE_FLUSH_MS", settings.flush_ms);
  settings.flush_ms = static_cast<unsigned>(flush < kSlowestFlush ? flush : kSlowestFlush);
  settings.max_launches = number("CARPOOL_PROFILE_MAX_LAUNCHES", settings.max_launches);
  settings.cupti_library = variable("CARPOOL_CUPTI_LIBRARY");
  return settings;
}

std::optional<Watched> watched_from_environment() {
  const std::string_view file = variable(window_format::kVariable);
  if (file.empty() || !variable("CARPOOL_PROFILE_DIR").empty()) {
    return std::nullopt;
  }
  return Watched{.file = std::string(file),
                 .cupti_library = std::string(variable("CARPOOL_CUPTI_LIBRARY")),
                 .detach = number("CARPOOL_WINDOW_DETACH", 1) != 0};
}

std::string nvtx_range_from_environment() {
  return std::string(variable("CARPOOL_PROFILE_NVTX"));
}

}  // namespace carpool::gpu::inject
