#include "serve/caller.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool::serve {
namespace {

constexpr std::size_t kEntryBytes = 65536;
constexpr std::size_t kShortestToken = 16;
constexpr off_t kLargestTokenFile = off_t{1} << 20U;

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

// Takes the same time wherever the first difference is.
bool same_secret(const std::string& left, const std::string& right) {
  unsigned difference = left.size() == right.size() ? 0U : 1U;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
  }
  return difference == 0U;
}

// Checked on the opened file: a name could stand for another file in the next moment.
Result<std::string> read_private_file(const std::filesystem::path& file) {
  const Descriptor opened(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!opened.valid()) {
    return errno == ELOOP ? invalid_input(fmt::format("{} is a symbolic link; name the file itself",
                                                      file.string()))
                          : fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Internal,
                                 fmt::format("open {}: {}", file.string(), last_error()));
  }
  struct stat status{};
  if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kLargestTokenFile) {
    return invalid_input(fmt::format(
        "{} is not a regular file of at most {} bytes", file.string(), kLargestTokenFile));
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return invalid_input(fmt::format(
        "{} belongs to user {}, who could change the tokens; run `chown` on it to make it yours",
        file.string(),
        user_name(status.st_uid)));
  }
  if ((status.st_mode & 077U) != 0) {
    return invalid_input(
        fmt::format("{}: other users may read these tokens; run `chmod 600` on it", file.string()));
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(opened.get(), text.data(), text.size(), 0);
  if (got < 0) {
    return fail(ErrorCode::Internal, fmt::format("read {}: {}", file.string(), last_error()));
  }
  text.resize(static_cast<std::size_t>(got));
  return text;
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

Result<TokenTable> read_token_file(const std::filesystem::path& file) {
  const Result<std::string> text = read_private_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  TokenTable tokens;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string token;
    std::string user;
    std::string more;
    if (!(words >> token) || token.starts_with('#')) {
      continue;
    }
    if (!(words >> user) || (words >> more) || token.size() < kShortestToken) {
      return invalid_input(
          fmt::format("{}:{}: expected \"TOKEN user\" with a token of at least {} characters",
                      file.string(),
                      number,
                      kShortestToken));
    }
    if (const Result<std::uint32_t> uid = user_id(user); !uid) {
      return invalid_input(fmt::format("{}:{}: {}", file.string(), number, uid.error().message));
    }
    tokens[token] = user;
  }
  return tokens;
}

std::optional<std::string> user_of_token(const TokenTable& tokens,
                                         const std::string& authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) {
    return std::nullopt;
  }
  const std::string given = authorization.substr(kScheme.size());
  std::optional<std::string> found;
  for (const auto& [token, user] : tokens) {
    if (same_secret(given, token)) {
      found = user;
    }
  }
  return found;
}

}  // namespace carpool::serve
