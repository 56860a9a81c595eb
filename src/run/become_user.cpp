#include "run/become_user.hpp"

#include <cerrno>
#include <grp.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace carpool::run {

Result<void> become_user(std::uint32_t uid, std::uint32_t gid, const std::string& user) {
  const bool changed = ::initgroups(user.c_str(), gid) == 0 && ::setresgid(gid, gid, gid) == 0 &&
                       ::setresuid(uid, uid, uid) == 0;
  if (!changed || (uid != 0 && ::setuid(0) == 0)) {
    return fail(
        ErrorCode::Internal,
        fmt::format("become user {} ({}): {}", user, uid, std::generic_category().message(errno)));
  }
  return {};
}

}  // namespace carpool::run
