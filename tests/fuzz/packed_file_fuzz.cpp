// Any bytes as a file that may be compressed: its content, which is the same when packed and read
// again, or an error that names the file.
#include <string_view>

#include "base/files/file.hpp"
#include "base/files/packed_file.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_packed_file(std::string_view bytes) {
  const auto content = read_packed_file(scratch_file("table.gz", bytes));
  if (!content) {
    require(content.error().message.find("table.gz") != std::string::npos);
    return;
  }
  require(content->size() <= kMaxFileBytes);
  constexpr std::size_t kQuicklyPacked = 1000;
  if (content->size() <= kQuicklyPacked) {
    const auto packed = gzip(*content);
    require(packed.has_value());
    const auto again = read_packed_file(scratch_file("again.gz", *packed));
    require(again.has_value() && *again == *content);
  }
}

}  // namespace carpool::fuzz
