// The umask and the resource limits of the process that submits a job, as text and as values.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool {

struct ResourceName {
  std::string_view name;  // as in limits.conf(5)
  int resource = 0;       // RLIMIT_…
};

// The limits that a job takes over.
[[nodiscard]] std::span<const ResourceName> resource_names();

// "1024:524288", "unlimited" for either; the soft limit first, not above the hard one.
[[nodiscard]] Result<ResourceLimit> parse_resource_limit(std::string_view text);
[[nodiscard]] std::string resource_limit_text(const ResourceLimit& limit);

// Three octal digits, with or without a leading 0.
[[nodiscard]] Result<unsigned> parse_umask(std::string_view text);
[[nodiscard]] std::string umask_text(unsigned mask);

// By name, as text.
[[nodiscard]] std::map<std::string, std::string> limit_texts(
    const std::map<std::string, ResourceLimit>& limits);
[[nodiscard]] Result<std::map<std::string, ResourceLimit>> parse_limits(
    const std::map<std::string, std::string>& texts);

// Of this process.
[[nodiscard]] std::map<std::string, ResourceLimit> own_limits();
[[nodiscard]] std::optional<unsigned> own_umask();

}  // namespace carpool
