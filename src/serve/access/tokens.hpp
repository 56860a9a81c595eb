// Tokens of callers over TCP. A file holds the SHA-256 digest of each token and its user, so that
// the file reveals no token. A token has 256 random bits: it needs no salt.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::serve {

// In the place of a user: a token that may read /metrics and nothing else.
inline constexpr std::string_view kScrapeUser = "@metrics";

struct TokenEntry {
  std::string digest{};  // 64 hexadecimal digits
  std::string user{};

  [[nodiscard]] bool operator==(const TokenEntry&) const = default;
  // Names the token in lists; does not help to guess it.
  [[nodiscard]] std::string id() const { return digest.substr(0, 8); }
};
using TokenTable = std::vector<TokenEntry>;

// From the random numbers of the kernel: "carpool_" and 64 hexadecimal digits.
[[nodiscard]] Result<std::string> make_token();
[[nodiscard]] TokenEntry entry_of(std::string_view token, std::string user);

// One "sha256:DIGEST user" per line; # begins a comment.
[[nodiscard]] Result<TokenTable> parse_tokens(std::string_view text, const std::string& name);
[[nodiscard]] std::string token_file_text(const TokenTable& tokens);
// The file belongs to root or the user of this process, no other user may read it, and it is not a
// link.
[[nodiscard]] Result<TokenTable> read_token_file(const std::filesystem::path& file);

// The user of an Authorization header "Bearer TOKEN"; empty: an unknown token, or none. Takes the
// same time for every unknown token.
[[nodiscard]] std::optional<std::string> user_of_token(const TokenTable& tokens,
                                                       std::string_view authorization);

// The tokens of a file, read anew when the file has changed: a token that is removed is refused
// from the next request on. While the file cannot be used, every token is refused.
class TokenStore {
 public:
  explicit TokenStore(std::filesystem::path file);

  // An error where the file cannot be used now.
  [[nodiscard]] Result<TokenTable> current();
  [[nodiscard]] std::optional<std::string> user_of(std::string_view authorization);

 private:
  const std::filesystem::path file_;
  std::mutex mutex_;
  std::string seen_;  // identity of the file that was read last
  Result<TokenTable> tokens_;
};

}  // namespace carpool::serve
