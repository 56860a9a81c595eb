#include "core/workload_identity.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/text/digest.hpp"

namespace carpool {
namespace {

constexpr std::string_view kScope = "uid:";

}  // namespace

std::string workload_key(const JobSpec& spec) {
  if (!spec.workload.empty()) {
    return spec.workload;
  }
  std::string joined;
  for (const std::string& word : spec.argv) {
    joined += fmt::format("{}:{}", word.size(), word);  // different lists give different texts
  }
  constexpr std::size_t kDigits = 16;
  return fmt::format("argv:{}", sha256_hex(joined).substr(0, kDigits));
}

std::string scoped_workload(std::uint32_t uid, std::string_view workload) {
  return fmt::format("{}{}/{}", kScope, uid, workload);
}

std::optional<std::uint32_t> workload_uid(std::string_view scoped) {
  std::uint32_t uid = 0;
  const std::string_view rest = scoped.starts_with(kScope) ? scoped.substr(kScope.size()) : "";
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), uid);
  return problem == std::errc{} && end != rest.data() + rest.size() && *end == '/'
             ? std::optional(uid)
             : std::nullopt;
}

std::string_view workload_name(std::string_view scoped) {
  const std::size_t slash = scoped.starts_with(kScope) ? scoped.find('/') : std::string_view::npos;
  return slash == std::string_view::npos ? scoped : scoped.substr(slash + 1);
}

}  // namespace carpool
