// Who asks: known from the socket or from a token, never from what is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool::serve {

struct Caller {
  std::uint32_t uid = 0;
  std::string user{};
  bool operates = false;  // may see and change everybody's jobs

  [[nodiscard]] bool may_touch(const JobOwner& owner) const { return operates || owner.uid == uid; }
};

// Name of a user; the number as text where nobody has it.
[[nodiscard]] std::string user_name(std::uint32_t uid);
[[nodiscard]] Result<std::uint32_t> user_id(const std::string& name);
[[nodiscard]] Result<std::uint32_t> group_id(const std::string& name);
[[nodiscard]] bool in_group(std::uint32_t uid, const std::string& group);

// Everything about a caller from its number. Operators: root, whoever runs the server, members of
// the group where one is named.
[[nodiscard]] Caller make_caller(std::uint32_t uid,
                                 std::uint32_t server_uid,
                                 const std::optional<std::string>& operators);

}  // namespace carpool::serve
