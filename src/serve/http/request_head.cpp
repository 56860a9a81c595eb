#include "serve/http/request_head.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

constexpr std::array<std::string_view, 3> kHeadersForLibrary = {
    "connection", "last-event-id", "host"};
constexpr std::array<std::string_view, 3> kMethodsWithBody = {"POST", "PUT", "PATCH"};

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(
      small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, last - first + 1);
}

bool is_token(std::string_view name) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kSigns.find(c) != std::string_view::npos;
  });
}

tl::unexpected<Refusal> refuse(int status, std::string message) {
  return tl::unexpected(Refusal{status, std::move(message)});
}

// Takes the first line off; the line break is CR LF only, so that no program reads the head
// differently.
std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
  const bool clean = std::ranges::none_of(
      line, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 127; });
  return clean ? std::optional(line) : std::nullopt;
}

// What the headers say about the body.
struct BodyHeaders {
  std::optional<std::size_t> length{};
  bool chunked = false;
  bool encoded = false;
};

// Null: accepted.
std::optional<Refusal> read_header(std::string_view name,
                                   std::string_view value,
                                   RequestHead& head,
                                   BodyHeaders& body) {
  const std::string key = lower(name);
  if (key == "content-length") {
    std::size_t length = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (problem == std::errc::result_out_of_range) {
      return Refusal{413, fmt::format("the body has more than {} bytes", kMostBodyBytes)};
    }
    if (problem != std::errc{} || end != value.data() + value.size() || body.length) {
      return Refusal{400, "Content-Length: expected one number"};
    }
    body.length = length;
  } else if (key == "transfer-encoding") {
    body.chunked = true;
  } else if (key == "content-encoding") {
    body.encoded = lower(value) != "identity";
  } else if (key == "authorization") {
    head.authorization = value;
  } else if (key == "expect") {
    if (lower(value) != "100-continue") {
      return Refusal{417, "Expect: only 100-continue is known"};
    }
    head.expects_continue = true;
  } else if (std::ranges::find(kHeadersForLibrary, key) != kHeadersForLibrary.end()) {
    head.text += fmt::format("{}: {}\r\n", key, value);
  }
  return std::nullopt;
}

std::optional<Refusal> check_body(std::string_view method, const BodyHeaders& body) {
  if (body.chunked && body.length) {
    return Refusal{400, "Content-Length and Transfer-Encoding exclude each other"};
  }
  if (body.encoded) {
    return Refusal{415, "Content-Encoding is not supported; send the body as it is"};
  }
  if (body.chunked ||
      (!body.length && std::ranges::find(kMethodsWithBody, method) != kMethodsWithBody.end())) {
    return Refusal{411, "send Content-Length with the length of the body, 0 without a body"};
  }
  if (body.length.value_or(0) > kMostBodyBytes) {
    return Refusal{
        413,
        fmt::format(
            "the body has {} bytes; at most {} are accepted", *body.length, kMostBodyBytes)};
  }
  return std::nullopt;
}

}  // namespace

tl::expected<RequestHead, Refusal> check_head(std::string_view head) {
  std::string_view rest = head;
  const auto line = next_line(rest);
  if (!line || line->empty()) {
    return refuse(400, "the request line is malformed");
  }
  if (line->size() > kLongestRequestLine) {
    return refuse(414,
                  fmt::format("the request line has {} bytes; at most {} are accepted",
                              line->size(),
                              kLongestRequestLine));
  }
  RequestHead checked{.text = fmt::format("{}\r\n", *line)};
  BodyHeaders body;
  for (std::size_t count = 0; !rest.empty(); ++count) {
    const auto header = next_line(rest);
    const std::size_t colon = header ? header->find(':') : std::string_view::npos;
    if (colon == std::string_view::npos || !is_token(header->substr(0, colon))) {
      return refuse(400, "a header is malformed");
    }
    if (count == kMostHeaders) {
      return refuse(431, fmt::format("more than {} headers", kMostHeaders));
    }
    const auto problem =
        read_header(header->substr(0, colon), trimmed(header->substr(colon + 1)), checked, body);
    if (problem) {
      return tl::unexpected(*problem);
    }
  }
  const std::string_view method = line->substr(0, line->find(' '));
  if (const auto problem = check_body(method, body)) {
    return tl::unexpected(*problem);
  }
  checked.body_bytes = body.length.value_or(0);
  checked.text += "Content-Length: 0\r\n\r\n";
  return checked;
}

}  // namespace carpool::serve
