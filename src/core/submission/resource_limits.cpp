#include "core/submission/resource_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sys/resource.h>

#include <fmt/format.h>

#include "base/files/proc_file.hpp"
#include "base/text/names.hpp"

namespace carpool {
namespace {

constexpr std::string_view kUnlimitedText = "unlimited";
constexpr unsigned kWidestMask = 0777;

constexpr std::array<ResourceName, 9> kResources = {{{"as", RLIMIT_AS},
                                                     {"core", RLIMIT_CORE},
                                                     {"cpu", RLIMIT_CPU},
                                                     {"data", RLIMIT_DATA},
                                                     {"fsize", RLIMIT_FSIZE},
                                                     {"memlock", RLIMIT_MEMLOCK},
                                                     {"nofile", RLIMIT_NOFILE},
                                                     {"nproc", RLIMIT_NPROC},
                                                     {"stack", RLIMIT_STACK}}};

static_assert(RLIM_INFINITY == ResourceLimit::kUnlimited);

std::optional<std::uint64_t> parse_value(std::string_view text) {
  if (text == kUnlimitedText) {
    return ResourceLimit::kUnlimited;
  }
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::string value_text(std::uint64_t value) {
  return value == ResourceLimit::kUnlimited ? std::string(kUnlimitedText)
                                            : fmt::format("{}", value);
}

}  // namespace

std::span<const ResourceName> resource_names() {
  return kResources;
}

Result<ResourceLimit> parse_resource_limit(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto soft = parse_value(text.substr(0, colon));
  const auto hard = parse_value(text.substr(std::min(colon + 1, text.size())));
  if (!soft || !hard || *soft > *hard) {
    return invalid_input(fmt::format(
        "\"{}\" is not SOFT:HARD, for example 1024:4096 or 0:unlimited, SOFT not above HARD",
        text));
  }
  return ResourceLimit{.soft = *soft, .hard = *hard};
}

std::string resource_limit_text(const ResourceLimit& limit) {
  return fmt::format("{}:{}", value_text(limit.soft), value_text(limit.hard));
}

Result<unsigned> parse_umask(std::string_view text) {
  constexpr int kOctal = 8;
  unsigned mask = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), mask, kOctal);
  if (problem != std::errc{} || end != text.data() + text.size() || mask > kWidestMask) {
    return invalid_input(fmt::format("\"{}\" is not an octal mask from 000 to 777", text));
  }
  return mask;
}

std::string umask_text(unsigned mask) {
  return fmt::format("{:04o}", mask);
}

std::map<std::string, std::string> limit_texts(const std::map<std::string, ResourceLimit>& limits) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, limit] : limits) {
    texts.emplace(name, resource_limit_text(limit));
  }
  return texts;
}

Result<std::map<std::string, ResourceLimit>> parse_limits(
    const std::map<std::string, std::string>& texts) {
  std::map<std::string, ResourceLimit> limits;
  for (const auto& [name, text] : texts) {
    const auto known = find_named(resource_names(), "limit", name);
    if (!known) {
      return tl::unexpected(known.error());
    }
    const Result<ResourceLimit> limit = parse_resource_limit(text);
    if (!limit) {
      return invalid_input(fmt::format("{}: {}", name, limit.error().message));
    }
    limits.emplace(name, *limit);
  }
  return limits;
}

std::map<std::string, ResourceLimit> own_limits() {
  std::map<std::string, ResourceLimit> limits;
  for (const ResourceName& known : kResources) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(known.resource), &limit) == 0) {
      limits.emplace(known.name, ResourceLimit{.soft = limit.rlim_cur, .hard = limit.rlim_max});
    }
  }
  return limits;
}

std::optional<unsigned> own_umask() {
  // umask() would have to change it.
  constexpr std::string_view kKey = "\nUmask:\t";
  const std::string status = read_proc_file("/proc/self/status");
  const std::size_t at = status.find(kKey);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(status).substr(at + kKey.size());
  const Result<unsigned> mask = parse_umask(rest.substr(0, rest.find('\n')));
  return mask ? std::optional(*mask) : std::nullopt;
}

}  // namespace carpool
