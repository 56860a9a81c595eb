#include "serve/access/tokens.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <sys/random.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text/digest.hpp"
#include "serve/access/private_file.hpp"

namespace carpool::serve {
namespace {

constexpr std::string_view kDigestKind = "sha256:";
constexpr std::size_t kDigestLength = 64;
constexpr std::size_t kLongestToken = 1024;

bool is_digest(std::string_view text) {
  return text.size() == kDigestLength && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Takes the same time wherever the first difference is. Both have the same length.
bool same_digest(std::string_view left, std::string_view right) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < kDigestLength; ++i) {
    difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
  }
  return difference == 0U;
}

// Changes with every change of the file, also with its replacement, owner and mode.
std::string identity_of(const std::filesystem::path& file) {
  struct stat status{};
  if (::lstat(file.c_str(), &status) != 0) {
    return "absent";
  }
  return fmt::format("{} {} {} {}.{} {}.{}",
                     status.st_dev,
                     status.st_ino,
                     status.st_size,
                     status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec,
                     status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

}  // namespace

Result<std::string> make_token() {
  std::array<std::uint8_t, kDigestLength / 2> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return fail(ErrorCode::Internal, fmt::format("read random numbers: {}", last_error()));
  }
  std::string token = "carpool_";
  for (const std::uint8_t byte : random) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

TokenEntry entry_of(std::string_view token, std::string user) {
  return {.digest = sha256_hex(token), .user = std::move(user)};
}

Result<TokenTable> parse_tokens(std::string_view text, const std::string& name) {
  TokenTable tokens;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string digest;
    std::string user;
    std::string more;
    if (!(words >> digest) || digest.starts_with('#')) {
      continue;
    }
    const bool marked = digest.starts_with(kDigestKind);
    digest.erase(0, marked ? kDigestKind.size() : 0);
    // The line is not repeated: it may be a token.
    if (!marked || !is_digest(digest) || !(words >> user) || (words >> more)) {
      return invalid_input(
          fmt::format("{}:{}: expected \"sha256:DIGEST user\" with 64 hexadecimal digits; `carpool "
                      "token create USER` writes such a line",
                      name,
                      number));
    }
    tokens.push_back({.digest = digest, .user = user});
  }
  return tokens;
}

std::string token_file_text(const TokenTable& tokens) {
  std::string text = "# Tokens of Carpool; written by `carpool token`.\n";
  for (const TokenEntry& entry : tokens) {
    text += fmt::format("{}{} {}\n", kDigestKind, entry.digest, entry.user);
  }
  return text;
}

Result<TokenTable> read_token_file(const std::filesystem::path& file) {
  return read_private_file(file, "these tokens", Links::Refused)
      .and_then([&](const std::string& text) { return parse_tokens(text, file.string()); });
}

std::optional<std::string> user_of_token(const TokenTable& tokens, std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme) ||
      authorization.size() > kScheme.size() + kLongestToken) {
    return std::nullopt;
  }
  const std::string given = sha256_hex(authorization.substr(kScheme.size()));
  std::optional<std::string> found;
  for (const TokenEntry& entry : tokens) {
    if (same_digest(given, entry.digest)) {
      found = entry.user;
    }
  }
  return found;
}

TokenStore::TokenStore(std::filesystem::path file)
    : file_(std::move(file)), seen_(identity_of(file_)), tokens_(read_token_file(file_)) {}

Result<TokenTable> TokenStore::current() {
  const std::scoped_lock lock(mutex_);
  std::string now = identity_of(file_);
  if (now != seen_) {
    seen_ = std::move(now);
    tokens_ = read_token_file(file_);
    if (!tokens_) {
      log_error(fmt::format("no token is accepted: {}", tokens_.error().message));
    }
  }
  return tokens_;
}

std::optional<std::string> TokenStore::user_of(std::string_view authorization) {
  const Result<TokenTable> tokens = current();
  return tokens ? user_of_token(*tokens, authorization) : std::nullopt;
}

}  // namespace carpool::serve
