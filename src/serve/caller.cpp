#include "serve/caller.hpp"

#include <algorithm>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

constexpr std::size_t kEntryBytes = 65536;

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

template <class Key, class Look>
std::optional<Account> look_up(const Key& key, Look look) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  look(key, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return std::nullopt;
  }
  return Account{entry.pw_name, entry.pw_uid, entry.pw_gid};
}

}  // namespace

std::string user_name(std::uint32_t uid) {
  const auto found = look_up(static_cast<uid_t>(uid), ::getpwuid_r);
  return found ? found->name : fmt::format("{}", uid);
}

Result<std::uint32_t> user_id(const std::string& name) {
  if (const auto found = look_up(name.c_str(), ::getpwnam_r)) {
    return found->uid;
  }
  return not_found(fmt::format("there is no user \"{}\"", name));
}

Result<std::uint32_t> group_id(const std::string& name) {
  std::vector<char> buffer(kEntryBytes);
  group entry{};
  group* found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return not_found(
        fmt::format("there is no group \"{}\"; `groupadd --system {}` creates it", name, name));
  }
  return found->gr_gid;
}

bool in_group(std::uint32_t uid, const std::string& group) {
  const auto wanted = group_id(group);
  const auto account = look_up(static_cast<uid_t>(uid), ::getpwuid_r);
  if (!wanted || !account) {
    return false;
  }
  int count = 0;
  ::getgrouplist(account->name.c_str(), account->gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 1)));
  count = static_cast<int>(groups.size());
  if (::getgrouplist(account->name.c_str(), account->gid, groups.data(), &count) < 0) {
    return false;
  }
  return std::ranges::find(groups, *wanted) != groups.end();
}

Caller make_caller(std::uint32_t uid,
                   std::uint32_t server_uid,
                   const std::optional<std::string>& operators) {
  return {.uid = uid,
          .user = user_name(uid),
          .operates = uid == 0 || uid == server_uid || (operators && in_group(uid, *operators))};
}

}  // namespace carpool::serve
