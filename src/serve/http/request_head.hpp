// The head of an HTTP request, checked before the HTTP library sees it. The library holds whatever
// a client sends: it decompresses bodies, joins chunks and answers with any number of ranges. It is
// given the request line and the few headers that the API uses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace carpool::serve {

inline constexpr std::size_t kMostHeadBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMostHeaders = 100;
inline constexpr std::size_t kLongestRequestLine = 2048;
inline constexpr std::size_t kMostBodyBytes = std::size_t{4} << 20U;

struct RequestHead {
  std::string text{};           // for the library; it declares no body
  std::string authorization{};  // the value of that header
  std::size_t body_bytes = 0;
  bool expects_continue = false;
};

struct Refusal {
  int status = 400;
  std::string message{};
};

// `head` ends before the empty line.
[[nodiscard]] tl::expected<RequestHead, Refusal> check_head(std::string_view head);

}  // namespace carpool::serve
