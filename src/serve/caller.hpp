// The user behind a request: known from the socket or a token, never from the request itself.
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
  bool operates = false;  // an operator may see and change all jobs

  [[nodiscard]] bool may_touch(const JobOwner& owner) const { return operates || owner.uid == uid; }
};

// The name of a user; the number as text where no user has it.
[[nodiscard]] std::string user_name(std::uint32_t uid);
[[nodiscard]] Result<std::uint32_t> user_id(const std::string& name);
[[nodiscard]] Result<std::uint32_t> group_id(const std::string& name);
[[nodiscard]] bool in_group(std::uint32_t uid, const std::string& group);

// Operators are root, the user of the server process, and members of the group `operators`.
[[nodiscard]] Caller make_caller(std::uint32_t uid,
                                 std::uint32_t server_uid,
                                 const std::optional<std::string>& operators);

}  // namespace carpool::serve
