// Any bytes as the head of an HTTP request: refused with words, or passed on within the limits.
#include <string_view>

#include "serve/http/request_head.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_request_head(std::string_view bytes) {
  const auto head = serve::check_head(bytes);
  if (!head) {
    require(head.error().status >= 400 && head.error().status < 600);
    require(!head.error().message.empty());
    return;
  }
  require(bytes.size() <= serve::kMostHeadBytes);
  require(head->body_bytes <= serve::kMostBodyBytes);
  require(head->text.size() <= bytes.size() + 256);
}

}  // namespace carpool::fuzz
